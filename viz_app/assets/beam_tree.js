// Beam search as a tree: a column a step, a box a prefix that was weighed.
export default function ({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".root");
  const boxWidth = 104, boxHeight = 22, columnWidth = 150, rowHeight = 30, top = 24;
  const ranks = new Map();
  const place = data.nodes.map(({ depth }) => {
    const rank = ranks.get(depth) ?? 0;
    ranks.set(depth, rank + 1);
    return { x: 4 + (depth - 1) * columnWidth, y: top + rank * rowHeight };
  });
  const depths = Math.max(...ranks.keys()), width = depths * columnWidth, height = top + rowHeight * Math.max(...ranks.values());
  const words = { kept: "kept", ended: "ended", cut: "stopped at the length limit", pruned: "pruned" };
  const edges = data.nodes.flatMap(({ parent, best, fate }, i) => {
    if (parent < 0) return [];
    const from = place[parent], to = place[i], x1 = from.x + boxWidth, y1 = from.y + boxHeight / 2, y2 = to.y + boxHeight / 2;
    const middle = (x1 + to.x) / 2;
    return [make("path", { d: `M${x1},${y1} C${middle},${y1} ${middle},${y2} ${to.x},${y2}`, class: `edge ${fate}${best ? " best" : ""}` })];
  });
  const pick = (i) => setTriggerValue("pick", i);
  const boxes = data.nodes.map(({ token, log_prob, score, fate, best }, i) => make("g", {
    class: `node ${fate}${best ? " best" : ""}`, tabindex: 0, role: "button", "data-node": i,
    transform: `translate(${place[i].x} ${place[i].y})`,
    "aria-label": `${token}, ${words[fate]}, log p ${log_prob.toFixed(2)}; go on from here`,
    onclick: () => pick(i), onkeydown: (event) => { if (event.key === "Enter") pick(i); },
  }, null, [
    make("rect", { width: boxWidth, height: boxHeight, rx: 5 }),
    make("text", { x: 7, y: 15, "font-size": 12.5 }, shortened(token, 9)),
    make("text", { x: boxWidth - 6, y: 15, "font-size": 11, "text-anchor": "end", opacity: 0.75 }, log_prob.toFixed(2)),
    make("title", {}, `${words[fate]} · log p of the whole prefix ${log_prob.toFixed(4)} · per token ${score.toFixed(4)}`),
  ]));
  const heads = Array.from({ length: depths }, (_, i) =>
    make("text", { x: 4 + i * columnWidth, y: 14, "font-size": 11, opacity: 0.7 }, `step ${i + 1}`));
  const picture = make("svg", { width, height, role: "group", "aria-label": data.alt }, null, [...heads, ...edges, ...boxes]);
  root.replaceChildren(make("div", { class: "scroll" }, null, [picture]));
}
