// Beam search as a tree: a column for each step, a box for each hypothesis.
import { draw, el } from "./dom.js";
import { isolated, shortened } from "./format.js";
import { component } from "./mounting.js";
import { singleTabStop } from "./single_tab_stop.js";
import { say } from "./words.js";

const BOX = { width: 128, height: 26 }, COLUMN = 156, ROW = 34, TOP = 26; // pixels
/** What happened to a hypothesis. @type {Record<string, () => string>} */
const FATES = {
  kept: () => say("kept"), ended: () => say("ended"), cut: () => say("stopped at the length limit"),
  pruned: () => say("pruned"),
};

/**
 * The place of each box: its column is its step, and in a column the boxes are in their given order.
 * @param {{ depth: number }[]} nodes
 */
export function boxPlaces(nodes) {
  const counts = new Map();
  return nodes.map(({ depth }) => {
    const row = counts.get(depth) ?? 0;
    counts.set(depth, row + 1);
    return { x: 4 + (depth - 1) * COLUMN, y: TOP + row * ROW };
  });
}

function edge({ best, fate }, from, to) {
  const x = from.x + BOX.width, y1 = from.y + BOX.height / 2, y2 = to.y + BOX.height / 2, middle = (x + to.x) / 2;
  return el("path", {
    d: `M${x},${y1} C${middle},${y1} ${middle},${y2} ${to.x},${y2}`, class: `edge ${fate}${best ? " best" : ""}`,
  });
}

export const beamTree = component((root) => {
  let data, report, picked = /** @type {number | null} */ (null); // the step of the box that was chosen last

  function box({ token, depth, log_prob, score, fate, best }, i, { x, y }) {
    const word = shortened(token, 9);
    const [number, exact, each] = [log_prob?.toFixed(2), log_prob?.toFixed(4), score?.toFixed(4)]
      .map((one) => one ?? say("not a number"));
    const pick = () => {
      picked = depth;
      report("pick", i);
    };
    return el("g", {
      class: `node ${fate}${best ? " best" : ""}`, tabindex: -1, role: "button", "data-node": i,
        transform: `translate(${x} ${y})`,
      "aria-label": say("{token} {number}, log p of the hypothesis, {fate}; continue from here", {
        token: isolated(word), number, fate: FATES[fate](),
      }),
      onclick: pick,
      onkeydown: (event) => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault(); // the key must not scroll
        pick();
      },
    }, [
      el("rect", { ...BOX, rx: 5 }),
      el("text", { x: 7, y: 18, lang: data.lang || false }, isolated(word)),
      el("text", { x: BOX.width - 6, y: 18, "text-anchor": "end" }, number),
      el("title", {}, say("{token} · {fate} · log p of the hypothesis {number} · per token {score}", {
        token: isolated(token), fate: FATES[fate](), number: exact, score: each,
      })),
    ]);
  }

  function redraw() {
    const places = boxPlaces(data.nodes), depths = Math.max(...data.nodes.map(({ depth }) => depth));
    const height = Math.max(...places.map(({ y }) => y)) + ROW;
    const steps = Array.from({ length: depths }, (_, i) => el(
      "text", { x: 4 + i * COLUMN, y: 16 }, say("step {n}", { n: i + 1 })
    ));
    const edges = data.nodes.flatMap(
      (node, i) => (node.parent < 0 ? [] : [edge(node, places[node.parent], places[i])])
    );
    draw(root, [el("div", { class: "scroll tall" }, [
      el("svg", { width: depths * COLUMN, height, role: "group", "aria-label": data.alt }, [
        el("g", {}, steps), el("g", {}, edges), el("g", {}, data.nodes.map((node, i) => box(node, i, places[i]))),
      ]),
    ])]);
    singleTabStop(root, ".node");
  }

  function update(next, setTriggerValue) {
    [data, report] = [next, setTriggerValue];
    redraw();
    // The tree now continues from the chosen box, so this box gets the focus.
    const chosen = data.nodes.findIndex(({ depth, best }) => best && depth === picked);
    if (picked !== null) root.querySelector(`[data-node="${chosen}"]`)?.focus();
    picked = null;
  }

  return { update, redraw, picture: () => root.querySelector("svg") };
});
