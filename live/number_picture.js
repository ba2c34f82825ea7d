// Many signed numbers as one picture with its axes: blue below 0, white at 0, red above. The number below the pointer
// is shown.
import { announce } from "./assets/announcer.js";
import { SIGNED } from "./assets/colours.js";
import { draw, el, find } from "./assets/dom.js";
import { availableWidth, component } from "./assets/mounting.js";
import { clamped, times } from "./assets/numbers.js";
import { dataUrl, levelOf, pixelsOf } from "./assets/pixels.js";
import { ARROWS } from "./assets/single_tab_stop.js";
import { say } from "./assets/words.js";

const LEFT = 62, RIGHT = 16, BELOW = 46, HIGHEST = 420; // pixels
const MOST = 7, STEPS = [1, 2, 5, 10, 20, 50, 100, 200, 500]; // labels on an axis; the numbers between two

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

  function readout() {
    const number = data.numbers[at[0] * data.columns + at[1]].toFixed(4).replace("NaN", say("not a number"));
    return `${data.rowName} ${at[0]}; ${data.columnName} ${at[1]}: ${number}`;
  }

  function point(row, column) {
    at = [clamped(row, data.rows), clamped(column, data.columns)];
    find(root, ".says").textContent = readout();
  }

  function labels(count, place) {
    const step = STEPS.find((one) => one * MOST >= count) ?? count;
    return times(Math.ceil(count / step), (i) => place(i * step));
  }

  function redraw() {
    const width = Math.max(200, availableWidth(root) - LEFT - RIGHT);
    const height = Math.min(HIGHEST, Math.max(200, 6 * data.rows));
    const x = (column) => LEFT + ((column + 0.5) / data.columns) * width;
    const y = (row) => ((row + 0.5) / data.rows) * height;
    const cell = ({ offsetX, offsetY }) =>
      [(offsetY / height) * data.rows, ((offsetX - LEFT) / width) * data.columns].map(Math.floor);
    draw(root, [el("output", { class: "says", "aria-live": "off" }, say("Point at the picture to see a number.")),
      el("svg", {
      width: LEFT + width + RIGHT, height: height + BELOW, tabindex: 0, role: "group", class: "map",
        "aria-label": `${data.alt}. ${say("Arrow keys move from number to number.")}`,
      "data-title": data.title, onpointermove: (event) => point(...cell(event)), onkeydown: (event) => {
        const direction = ARROWS[event.key];
        if (!direction) return;
        event.preventDefault();
        point(at[0] + direction[1], at[1] + direction[0]);
        announce(readout());
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
      el(
        "text", { x: 14, y: height / 2, "text-anchor": "middle", transform: `rotate(-90 14 ${height / 2})` },
        data.rowName,
      ),
      el("text", { x: LEFT + width / 2, y: height + 40, "text-anchor": "middle" }, data.columnName),
    ])]);
  }

  return { update, redraw, picture: () => root.querySelector("svg") };
});
