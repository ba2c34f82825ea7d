// A circuit: parts of a model in rows, and edges between them. A click on an edge reports it; a click on a part fades
// all edges but its own.
import { draw, el, pressable, singleTabStop } from "./dom.js";
import { component } from "./mounting.js";
import { LINES } from "./numbers.js";
import { say } from "./words.js";

const HALF = 13, BOW = 15; // pixels: half the height of a part, and how far an edge bends around each row it passes
const ROW = 46; // pixels between two rows, as in viz_app/figures/circuit.py
const [AWAY, , , , , TOWARDS] = LINES.map(([colour]) => colour);

/**
 * The way of an edge as an SVG path. Within a stack it leaves upwards, and bends outwards around the rows that it
 * passes. From the encoder to the decoder it leaves sideways, and comes from below.
 * @param {{ x: number, y: number, width: number }} from @param {{ x: number, y: number, width: number }} to
 * @param {boolean} crosses Whether it leads to another stack.
 */
export function edgePath(from, to, crosses) {
  if (crosses) {
    const x = from.x + from.width / 2, y = to.y + HALF, bend = Math.max(40, (to.x - x) / 2);
    return `M${x},${from.y}C${x + bend},${from.y} ${to.x},${y + bend / 2} ${to.x},${y}`;
  }
  const y1 = from.y - HALF, y2 = to.y + HALF, third = (y1 - y2) / 3;
  const passed = Math.max(0, Math.round((from.y - to.y) / ROW) - 1), side = to.x < from.x ? -1 : 1;
  const bow = side * BOW * passed;
  return `M${from.x},${y1}C${from.x + bow},${y1 - third} ${to.x + bow},${y2 + third} ${to.x},${y2}`;
}

export const circuit = component((root) => {
  let data, report, lit = /** @type {string | null} */ (null); // the name of the part whose edges are lit

  function edge(one) {
    const [from, to] = [data.nodes[one.sender], data.nodes[one.receiver]], chosen = one.code === data.chosen;
    const d = edgePath(from, to, one.crosses), width = 1.2 + 6 * Math.abs(one.size) / data.largest;
    const faded = lit !== null && ![from.name, to.name].includes(lit);
    return el("g", {
      ...pressable(() => report("edge", one.code)), class: `flow${chosen ? " chosen" : ""}${faded ? " faded" : ""}`,
      tabindex: -1, "aria-label": one.note, "aria-pressed": String(chosen), "data-edge": one.code,
    }, [
      el("path", { d, class: "halo", "stroke-width": width + 6 }),
      el("path", { d, class: "touch" }),
      el("path", {
        d, class: "line", stroke: one.size < 0 ? AWAY : TOWARDS, "stroke-width": width.toFixed(2),
        "stroke-dasharray": one.patched ? false : "6 5",
      }),
      el("title", {}, one.note),
    ]);
  }

  function part({ x, y, width, label, name }) {
    const on = lit === name;
    const press = () => {
      lit = on ? null : name;
      redraw();
    };
    return el("g", {
      ...pressable(press), class: `node${on ? " best" : ""}`, tabindex: -1, "aria-pressed": String(on),
      "aria-label": say("{name}: show only its edges", { name }), transform: `translate(${x - width / 2} ${y - HALF})`,
    }, [
      el("rect", { width, height: 2 * HALF, rx: 6 }),
      el("text", { x: width / 2, y: HALF + 5, "text-anchor": "middle" }, label),
      el("title", {}, name),
    ]);
  }

  function redraw() {
    if (!data.nodes.some(({ name }) => name === lit)) lit = null;
    const title = ({ title: text, x, y, end }) => el(
      "text", { x, y: y + 5, "text-anchor": end ? "end" : "start", class: "quiet" }, text
    );
    draw(root, [el("div", { class: "scroll" }, [
      el("svg", { width: data.width, height: data.height, role: "group", "aria-label": data.alt, class: "circuit" }, [
        el("g", {}, data.rows.map(title)), el("g", {}, data.edges.map(edge)), el("g", {}, data.nodes.map(part)),
      ]),
    ])]);
    singleTabStop(root, ".flow, .node");
  }

  function update(next, setTriggerValue) {
    [data, report] = [next, setTriggerValue];
    redraw();
  }

  return { update, redraw, picture: () => root.querySelector("svg") };
});
