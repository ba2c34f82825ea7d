// All heads of one kind of attention, small, and one of them large.
import { WEIGHTS } from "./colours.js";
import { buttonRows, draw, el, find } from "./dom.js";
import { capitalized, headName } from "./format.js";
import { mapDrawing } from "./map_drawing.js";
import { component } from "./mounting.js";
import { colourAt, decodeFloats } from "./numbers.js";
import { say } from "./words.js";

export default component((root) => {
  const painted = new WeakMap(); // canvas → the numbers that it shows
  let data, maps, chosen = 0, map = /** @type {ReturnType<typeof mapDrawing> | null} */ (null);

  function update(next) {
    [data, maps, chosen] = [next, decodeFloats(next.maps), next.chosen];
    redraw();
  }

  const weight = (head, t, s) => maps[(head * data.queries.length + t) * data.keys.length + s]; // NaN if masked

  function open(head) {
    chosen = head;
    redraw();
  }

  function tiles() {
    const tile = (head) => {
      const name = headName(head, data.heads), on = head === chosen;
      return el("button", {
        type: "button", class: `tile${on ? " lit" : ""}`, "aria-pressed": String(on), "aria-label": name, title: name, onclick: () => open(head),
      }, [el("canvas", { width: data.keys.length, height: data.queries.length })]);
    };
    /** @type {[string, import("./dom.js").Described[]][]} */
    const rows = Array.from({ length: data.layers }, (_, layer) => [
      say("layer {layer}", { layer: layer + 1 }), Array.from({ length: data.heads }, (_, i) => tile(layer * data.heads + i)),
    ]);
    return el("div", {}, [el("div", { class: "quiet" }, say("All layers (rows) and heads. Choose one to see it large.")), buttonRows(rows)]);
  }

  function paint(canvas, head) {
    const context = canvas.getContext("2d");
    for (let t = 0; t < data.queries.length; t++) for (let s = 0; s < data.keys.length; s++) {
      const number = weight(head, t, s);
      context.fillStyle = Number.isNaN(number) ? WEIGHTS.masked : colourAt(WEIGHTS.scale, number);
      context.fillRect(s, t, 1, 1);
    }
  }

  function redraw() {
    const name = headName(chosen, data.heads), label = say("{picture}, {head}", { picture: data.alt, head: name });
    draw(root, [el("div", { class: "maps" }, [
      tiles(),
      el("div", {}, [
        el("div", { class: "quiet" }, capitalized(say("{head}: attention weights, dark 0 to bright 1.", { head: name }))),
        el("div", { class: "scroll picture" }),
        el("output", { "aria-live": "off", class: "says" }),
      ]),
    ])]);
    const readout = find(root, ".says");
    map ??= mapDrawing(find(root, ".picture"), (sentence) => { readout.textContent = sentence; });
    map.show({
      ...data, label, title: label, colours: WEIGHTS, weight: (t, s) => weight(chosen, t, s), masked: (t, s) => Number.isNaN(weight(chosen, t, s)),
    });
    root.querySelectorAll(".tile canvas").forEach((canvas, head) => {
      if (painted.get(canvas) === maps) return;
      painted.set(canvas, maps);
      paint(canvas, head);
    });
  }

  return { update, redraw, picture: () => root.querySelector("svg.map") };
});
