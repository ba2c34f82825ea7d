// Pictures of numbers with two axes: many signed numbers as colours, and curves.
import { announce, ARROWS, draw, el, find } from "../ui/dom.js";
import { availableWidth, component } from "../ui/mounting.js";
import { clamped, dataUrl, levelOf, LINES, pixelsOf, SIGNED, times } from "../ui/numbers.js";
import { say } from "../ui/words.js";

const LEFT = 62, BELOW = 46, EDGE = 16, HIGHEST = 420, HEIGHT = 300, LEGEND = 22; // pixels
const MOST = 7, STEPS = [1, 2, 5, 10, 20, 50, 100, 200, 500]; // labels on an axis; the numbers between two

/** The names of the two axes of a picture. */
function axisNames({ width, top, height, x, y }) {
  const middle = top + height / 2;
  return [
    el("text", { x: LEFT + width / 2, y: top + height + 41, "text-anchor": "middle" }, x),
    el("text", { x: 14, y: middle, "text-anchor": "middle", transform: `rotate(-90 14 ${middle})` }, y),
  ];
}

/** Many signed numbers as one picture: blue below 0, white at 0, red above. The number below the pointer is shown. */
export const numberPicture = component((root) => {
  let data = /** @type {any} */ (null), picture = "", at = [0, 0];

  function update(next) {
    if (next.numbers !== data?.numbers) {
      const levels = Uint8Array.from(next.numbers, (number) => levelOf((number / next.bound + 1) / 2));
      picture = dataUrl(pixelsOf(levels, next.columns, SIGNED));
    }
    data = next;
    redraw();
  }

  function shown() {
    const number = data.numbers[at[0] * data.columns + at[1]].toFixed(4).replace("NaN", say("not a number"));
    return `${data.rowName} ${at[0]}; ${data.columnName} ${at[1]}: ${number}`;
  }

  function point(row, column) {
    at = [clamped(row, data.rows), clamped(column, data.columns)];
    find(root, ".says").textContent = shown();
  }

  function labels(count, place) {
    const step = STEPS.find((one) => one * MOST >= count) ?? count;
    return times(Math.ceil(count / step), (i) => place(i * step));
  }

  function redraw() {
    const width = Math.max(200, availableWidth(root) - LEFT - EDGE);
    const height = Math.min(HIGHEST, Math.max(200, 6 * data.rows));
    const x = (column) => LEFT + ((column + 0.5) / data.columns) * width;
    const y = (row) => ((row + 0.5) / data.rows) * height;
    const cell = ({ offsetX, offsetY }) =>
      [(offsetY / height) * data.rows, ((offsetX - LEFT) / width) * data.columns].map(Math.floor);
    const readout = el("output", { class: "says", "aria-live": "off" }, say("Point at the picture to see a number."));
    draw(root, [readout, el("svg", {
      width: LEFT + width + EDGE, height: height + BELOW, tabindex: 0, role: "group", class: "map",
      "aria-label": `${data.alt}. ${say("Arrow keys move from number to number.")}`,
      "data-title": data.title, onpointermove: (event) => point(...cell(event)), onkeydown: (event) => {
        const direction = ARROWS[event.key];
        if (!direction) return;
        event.preventDefault();
        point(at[0] + direction[1], at[1] + direction[0]);
        announce(shown());
      },
    }, [
      el("image", {
        href: picture, x: LEFT, y: 0, width, height, preserveAspectRatio: "none", style: "image-rendering: pixelated",
      }),
      el("g", {}, labels(
        data.rows, (row) => el("text", { x: LEFT - 6, y: Math.max(13, y(row) + 5), "text-anchor": "end" }, String(row))
      )),
      el("g", {}, labels(
        data.columns, (column) => el("text", { x: x(column), y: height + 18, "text-anchor": "middle" }, String(column))
      )),
      ...axisNames({ width, top: 0, height, x: data.columnName, y: data.rowName }),
    ])]);
  }

  return { update, redraw, picture: () => root.querySelector("svg") };
});

/** Curves over the position, with a legend. */
export const wavePicture = component((root) => {
  let data = /** @type {any} */ (null);

  function redraw() {
    const width = Math.max(220, availableWidth(root) - LEFT - EDGE), count = data.curves[0].values.length;
    const top = LEGEND * data.curves.length + 12;
    const x = (i) => LEFT + (i / (count - 1)) * width, y = (value) => top + ((1 - value) / 2) * HEIGHT;
    const path = (values) => values.map((value, i) => `${i ? "L" : "M"}${x(i).toFixed(1)} ${y(value).toFixed(1)}`)
      .join("");
    draw(root, [el("svg", {
      width: LEFT + width + EDGE, height: top + HEIGHT + BELOW, role: "img", "aria-label": data.alt,
      "data-title": data.title,
    }, [
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
      ...axisNames({ ...data, width, top, height: HEIGHT }),
    ])]);
  }

  function update(next) {
    data = next;
    redraw();
  }

  return { update, redraw, picture: () => root.querySelector("svg") };
});
