// The architecture of a model: boxes for its parts, and arrows with shapes. A click on a layer opens it.
import { draw, el, pressable, singleTabStop } from "./dom.js";
import { component } from "./mounting.js";
import { isolated, say, shortened } from "./words.js";

const HEAD = 7, ANGLE = 0.45; // of an arrow: pixels, and radians from its line

/** The arrow head at the end of a line, as an SVG path. @param {[number, number][]} points */
export function arrowHead(points) {
  const [[a, b], [x, y]] = points.slice(-2), angle = Math.atan2(y - b, x - a);
  const wing = (turn) => [x - HEAD * Math.cos(angle + turn), y - HEAD * Math.sin(angle + turn)];
  return `M${wing(ANGLE)}L${[x, y]}L${wing(-ANGLE)}`;
}

function arrow({ points, label }) {
  const [x, y] = points.at(-1), [, b] = points.at(-2);
  const [left, top] = points.length > 2 ? [points[1][0] + 6, points[1][1] - 5] : [x + 6, (y + b) / 2 + 4];
  return el("g", {}, [
    el("path", { d: `M${points.join("L")}`, class: "edge" }),
    el("path", { d: arrowHead(points), class: "edge" }),
    el("text", { x: left, y: top, class: "quiet" }, label),
  ]);
}

function part({ x, y, width, height, label, note, frame }) {
  return el("g", { transform: `translate(${x} ${y})` }, [
    el("rect", { width, height, rx: 5, class: frame ? "frame" : "part" }),
    ...(frame ? [] : [el("text", { x: width / 2, y: height / 2 + 5, "text-anchor": "middle" }, label)]),
    el("title", {}, note),
  ]);
}

export const architecture = component((root) => {
  let data, report;

  function layer(boxes) {
    const [{ stack, layer: number, label }] = boxes, shown = stack === data.stack && number === data.layer;
    return el("g", {
      ...pressable(() => report("open", { stack, layer: number })), class: `layer${shown ? " lit" : ""}`, tabindex: 0,
      "aria-label": shown ? say("{layer}, shown", { layer: label }) : say("{layer}, show it", { layer: label }),
      "aria-pressed": String(shown), "data-layer": `${stack}-${number + 1}`,
    }, boxes.map(part));
  }

  function redraw() {
    const layers = new Map();
    for (const box of data.boxes.filter(({ layer: number }) => number >= 0)) {
      const name = `${box.stack}-${box.layer}`;
      layers.set(name, [...(layers.get(name) ?? []), box]);
    }
    draw(root, [el("div", { class: "scroll" }, [
      el("svg", { viewBox: `0 0 ${data.width} ${data.height}`, width: data.width, height: data.height,
        class: "architecture",
        role: "group", "aria-label": data.alt }, [
        el("g", {}, [...layers.values()].map(layer)),
        el("g", {}, data.boxes.filter((box) => box.layer < 0).map(part)),
        el("g", {}, data.arrows.map(arrow)),
      ]),
    ])]);
  }

  function update(next, setTriggerValue) {
    [data, report] = [next, setTriggerValue];
    redraw();
  }

  return { update, redraw, picture: () => root.querySelector("svg") };
});

// Beam search as a tree: a column for each step, a box for each hypothesis.

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
      ...pressable(pick), class: `node ${fate}${best ? " best" : ""}`, tabindex: -1, "data-node": i,
      transform: `translate(${x} ${y})`,
      "aria-label": say("{token} {number}, log p of the hypothesis, {fate}; continue from here", {
        token: isolated(word), number, fate: FATES[fate](),
      }),
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
