// The architecture of a model: boxes for its parts, and arrows with shapes. A click on a layer opens it.
import { draw, el } from "./dom.js";
import { component } from "./mounting.js";
import { say } from "./words.js";

const HEAD = 7, ANGLE = 0.45; // of an arrow: pixels, and radians from its line

/**
 * The arrow head at the end of a line, as an SVG path.
 * @param {[number, number][]} points
 */
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
    const open = () => report("open", { stack, layer: number });
    return el("g", {
      class: `layer${shown ? " lit" : ""}`, tabindex: 0, role: "button", "aria-label": shown
        ? say("{layer}, shown", { layer: label })
        : say("{layer}, show it", { layer: label }),
      "aria-pressed": String(shown), "data-layer": `${stack}-${number + 1}`, onclick: open,
      onkeydown: (event) => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault(); // the key must not scroll
        open();
      },
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
