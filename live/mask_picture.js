// A mask, or the scores of one head: a cell for each query and key, grey where masked.
import { WEIGHTS } from "./assets/colours.js";
import { draw, el, find } from "./assets/dom.js";
import { mapDrawing } from "./assets/map_drawing.js";
import { component } from "./assets/mounting.js";
import { say } from "./assets/words.js";

const ALLOWED = { scale: ["#56b4e9", "#56b4e9"], masked: WEIGHTS.masked, broken: WEIGHTS.broken };

/**
 * The data of the picture: that of a mask, or of other numbers with their colours.
 * @param {any} axes The tokens and titles of its rows and columns.
 * @param {Float32Array} numbers (T, S), -Infinity where masked.
 * @param {string} title
 * @param {{ bound?: number, colours?: any, state?: (number: number) => string }} [shown] The number that has the
 *   brightest colour, and what is said of a number.
 */
export function maskPictureData(axes, numbers, title,
  { bound = 1, colours = ALLOWED, state = () => say("may attend") } = {}) {
  const describe = (t, s, number) => say("query: {query}; key: {key}; {state}", {
    query: axes.queries[t], key: axes.keys[s], state: number === -Infinity
      ? say("masked")
      : Number.isNaN(number) ? say("not a number") : state(number),
  });
  return { ...axes, numbers, bound, colours, title, alt: title, describe };
}

export const maskPicture = component((root) => {
  let data = /** @type {any} */ (null), map = /** @type {ReturnType<typeof mapDrawing> | null} */ (null);

  function redraw() {
    draw(root, [el("output", { "aria-live": "off", class: "says" }), el("div", { class: "scroll picture" })]);
    const readout = find(root, ".says"), at = (t, s) => data.numbers[t * data.keys.length + s];
    map ??= mapDrawing(find(root, ".picture"), (text) => { readout.textContent = text; });
    map.show({
      ...data, label: data.alt, weight: at, position: (t, s) => (at(t, s) / data.bound + 1) / 2,
      describe: (t, s) => data.describe(t, s, at(t, s)),
    });
  }

  function update(next) {
    data = next;
    redraw();
  }

  return { update, redraw, picture: () => root.querySelector("svg.map") };
});
