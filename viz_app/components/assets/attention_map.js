// One attention map, large. Pointing at a cell highlights its tokens above the map, and pointing at a token its row or
// column in the map.
import { heightBelow } from "./bridge.js";
import { SIGNED, WEIGHTS } from "./colours.js";
import { draw, el, find } from "./dom.js";
import { isolated } from "./format.js";
import { mapDrawing, withoutNumber } from "./map_drawing.js";
import { component, zoomOf } from "./mounting.js";
import { decodeFloats, times } from "./numbers.js";
import { onPage } from "./page_events.js";
import { say } from "./words.js";

// pixels of the page below the picture; powers of ten on a logarithmic scale, quarters on another
const BELOW = 60, DECADES = 4;

/**
 * Where a weight is on the colour scale, from 0 to 1.
 * @param {number} share The weight divided by the largest one.
 * @param {boolean} logarithmic
 */
export function scalePosition(share, logarithmic) {
  return logarithmic && Number.isFinite(share) ? 1 + Math.log10(Math.max(share, 10 ** -DECADES)) / DECADES : share;
}

/**
 * The numbers beside the colour bar: where each is on it, and its text.
 * @param {number} largest
 * @param {boolean} logarithmic
 * @param {boolean} [signed] The scale begins at minus the largest number.
 * @returns {[number, string][]}
 */
export function scaleTicks(largest, logarithmic, signed = false) {
  const shares = times(DECADES + 1, (i) => (logarithmic ? 10 ** -i : i / DECADES));
  return shares.map((share) => [
    scalePosition(share, logarithmic), String(Number(((signed ? 2 * share - 1 : share) * largest).toPrecision(2))),
  ]);
}

export const attentionMap = component((root) => {
  let data = /** @type {any} */ (null), weights, report;
  let map = /** @type {ReturnType<typeof mapDrawing> | null} */ (null);

  function update(next, setTriggerValue) {
    [data, weights, report] = [next, decodeFloats(next.weights), setTriggerValue];
    redraw();
  }

  const weight = (t, s) => weights[t * data.keys.length + s];

  function describe(t, s) {
    const sign = data.signed && weight(t, s) > 0 ? "+" : "";
    const number = withoutNumber(weight(t, s))
      || say("{name}: {value}", { name: data.unit, value: sign + weight(t, s).toFixed(6) });
    const cell = say("query: {query}; key: {key}; {number}", {
      query: data.notes[t] ?? isolated(data.queries[t]), key: isolated(data.keys[s]), number,
    });
    return data.action ? `${cell}; ${data.action}` : cell;
  }

  /** Report the cell that was pressed, if cells can be chosen. */
  function choose({ target }) {
    const cell = target.dataset.cell?.split(",").map(Number);
    if (data.action && cell && weight(cell[0], cell[1]) !== -Infinity) report("cell", cell);
  }

  /** The key chooses a cell, and must not scroll. */
  function keepPlace(event) {
    if (data.action && event.key === " ") event.preventDefault();
  }

  function redraw() {
    const parts = [el("output", { "aria-live": "off", class: "says" }), el("div", {
      class: `scroll picture${data.action ? " choosable" : ""}`, onclick: choose, onkeydown: keepPlace,
    })];
    // Beside other pictures the map itself ends on the first screen, so what is said about a cell stands below it.
    draw(root, data.least ? parts.reverse() : parts);
    const readout = find(root, ".says"), picture = find(root, ".picture");
    map ??= mapDrawing(picture, (text) => { readout.textContent = text; });
    map.show({
      label: data.alt, weight, describe, colours: data.signed ? SIGNED : WEIGHTS,
      position: (t, s) => {
        const share = weight(t, s) / data.largest;
        return data.signed ? (share + 1) / 2 : scalePosition(share, data.logarithmic);
      },
      ...(data.unit && {
        height: Math.max(data.least ?? 0, heightBelow(picture) / zoomOf(picture) - BELOW),
        bar: { unit: data.unit, ticks: scaleTicks(data.largest, data.logarithmic, data.signed) },
      }),
      ...data, // a mask has colours and descriptions of its own
    });
  }

  const stop = onPage("headlight-mark", ({ detail }) => map?.mark(detail));
  return { update, redraw, stop, picture: () => root.querySelector("svg.map") };
});
