// A mask, or the scores of one head: a cell for each query and key, grey where masked.
import { draw, el, find } from "./assets/dom.js";
import { mapDrawing } from "./assets/map_drawing.js";
import { component } from "./assets/mounting.js";

export default component((root) => {
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
