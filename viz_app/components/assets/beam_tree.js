// Beam search as a tree: a column a step, a box a prefix that was weighed.
export default function ({ data, parentElement, setTriggerValue }) {
  const view = mounted(parentElement, beamTree);
  view.update(data, setTriggerValue);
  return view.close;
}

function beamTree(root) {
  const boxWidth = 128, boxHeight = 26, columnWidth = 156, rowHeight = 34, top = 26;
  const words = { kept: "kept", ended: "ended", cut: "stopped at the length limit", pruned: "pruned" };
  let data, report, picked = null; // the depth of the box that was chosen last

  function places() {
    const ranks = new Map();
    return data.nodes.map(({ depth }) => {
      const rank = ranks.get(depth) ?? 0;
      ranks.set(depth, rank + 1);
      return { x: 4 + (depth - 1) * columnWidth, y: top + rank * rowHeight };
    });
  }

  function edge({ parent, best, fate }, i, place) {
    const from = place[parent], to = place[i], x1 = from.x + boxWidth, y1 = from.y + boxHeight / 2, y2 = to.y + boxHeight / 2;
    const middle = (x1 + to.x) / 2;
    return el("path", { d: `M${x1},${y1} C${middle},${y1} ${middle},${y2} ${to.x},${y2}`, class: `edge ${fate}${best ? " best" : ""}` });
  }

  function box({ token, depth, log_prob, score, fate, best }, i, { x, y }) {
    const word = shortened(token, 9), number = log_prob.toFixed(2);
    const pick = () => {
      picked = depth;
      report("pick", i);
    };
    return el("g", {
      class: `node ${fate}${best ? " best" : ""}`, tabindex: -1, role: "button", "data-node": i, transform: `translate(${x} ${y})`,
      "aria-label": `${word} ${number}, log p of the prefix, ${words[fate]}; go on from here`, onclick: pick,
      onkeydown: (event) => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault(); // of scrolling
        pick();
      },
    }, [
      el("rect", { width: boxWidth, height: boxHeight, rx: 5 }),
      el("text", { x: 7, y: 18, lang: data.lang || false }, word),
      el("text", { x: boxWidth - 6, y: 18, "text-anchor": "end" }, number),
      el("title", {}, `${token} · ${words[fate]} · log p of the whole prefix ${log_prob.toFixed(4)} · per token ${score.toFixed(4)}`),
    ]);
  }

  function redraw() {
    const place = places(), depths = Math.max(...data.nodes.map(({ depth }) => depth));
    const height = Math.max(...place.map(({ y }) => y)) + rowHeight;
    const steps = Array.from({ length: depths }, (_, i) => el("text", { x: 4 + i * columnWidth, y: 16 }, `step ${i + 1}`));
    const edges = data.nodes.flatMap((node, i) => (node.parent < 0 ? [] : [edge(node, i, place)]));
    draw(root, [el("div", { class: "scroll tall" }, [
      el("svg", { width: depths * columnWidth, height, role: "group", "aria-label": data.alt }, [
        el("g", {}, steps), el("g", {}, edges), el("g", {}, data.nodes.map((node, i) => box(node, i, place[i]))),
      ]),
    ])]);
    oneTabStop(root, ".node");
  }

  function update(next, setTriggerValue) {
    [data, report] = [next, setTriggerValue];
    redraw();
    // The tree now goes on from the box that was chosen, and so does who chose it.
    const chosen = data.nodes.findIndex(({ depth, best }) => best && depth === picked);
    if (picked !== null) root.querySelector(`[data-node="${chosen}"]`)?.focus();
    picked = null;
  }

  return { update, redraw, picture: () => root.querySelector("svg") };
}
