// Curves over the position, with a legend.
import { LINES } from "./assets/colours.js";
import { draw, el } from "./assets/dom.js";
import { availableWidth, component } from "./assets/mounting.js";

const LEFT = 56, BELOW = 46, HEIGHT = 300, LEGEND = 22, EDGE = 12; // pixels

export const wavePicture = component((root) => {
  let data = /** @type {any} */ (null);

  function redraw() {
    const width = Math.max(220, availableWidth(root) - LEFT - EDGE), count = data.curves[0].values.length;
    const top = LEGEND * data.curves.length + 12;
    const x = (i) => LEFT + (i / (count - 1)) * width, y = (value) => top + ((1 - value) / 2) * HEIGHT;
    const path = (values) => values.map((value, i) => `${i ? "L" : "M"}${x(i).toFixed(1)} ${y(value).toFixed(1)}`)
      .join("");
    draw(root, [el("svg", { width: LEFT + width + EDGE, height: top + HEIGHT + BELOW, role: "img",
      "aria-label": data.alt, "data-title": data.title }, [
      ...data.curves.flatMap(({ name }, i) => [
        el("line", { x1: 0, x2: 20, y1: LEGEND * i + 12, y2: LEGEND * i + 12, stroke: LINES[i][0], "stroke-width": 3 }),
        el("text", { x: 28, y: LEGEND * i + 17 }, name),
      ]),
      ...[-1, 0, 1].flatMap((value) => [
        el("line", {
          x1: LEFT, x2: LEFT + width, y1: y(value), y2: y(value), stroke: "rgb(128,128,128)", "stroke-opacity": 0.35,
        }),
        el("text", { x: LEFT - 8, y: y(value) + 5, "text-anchor": "end" }, String(value)),
      ]),
      ...data.curves.map(({ values }, i) => el(
        "path", { d: path(values), fill: "none", stroke: LINES[i][0], "stroke-width": 2 }
      )),
      ...[0, 1, 2, 3, 4].map((i) => Math.round(((count - 1) * i) / 4))
        .map((i) => el("text", { x: x(i), y: top + HEIGHT + 20, "text-anchor": "middle" }, String(i))),
      el("text", { x: LEFT + width / 2, y: top + HEIGHT + 42, "text-anchor": "middle" }, data.x),
      el(
        "text",
        {
          x: 14, y: top + HEIGHT / 2, "text-anchor": "middle", transform: `rotate(-90 14 ${top + HEIGHT / 2})`,
        }, data.y,
      ),
    ])]);
  }

  function update(next) {
    data = next;
    redraw();
  }

  return { update, redraw, picture: () => root.querySelector("svg") };
});
