// Which section of a large map is drawn. A map of a short sentence is drawn whole.
import { say } from "./assets/words.js";
import { list } from "./controls.js";
import { sectionOf } from "./maps.js";

const SIZE = 64; // rows and columns; a browser draws more of them slowly

/** @typedef {import("./maps.js").View} View */

/**
 * The section that the visitor chose, and the lists to choose another one; no lists where the map is whole.
 * @param {import("./app.js").App} app
 * @param {View} view
 * @returns {{ view: View, lists: import("./assets/dom.js").Described[] }}
 */
export function chosenSection(app, view) {
  const first = (name, length) => Math.min(Math.max(Number(app.choices[name] ?? 1), 1) - 1, Math.max(0, length - 1));
  const starts = /** @type {[number, number]} */ ([first("window_row", view.queries.length), first("window_column", view.keys.length)]);
  const choose = (name, label, length, start) => {
    const options = Array.from({ length: Math.ceil(length / SIZE) }, (_, i) => i * SIZE);
    const names = options.map((one) => /** @type {[string, string]} */ ([String(one + 1), say("{first} to {last}", { first: one + 1, last: Math.min(one + SIZE, length) })]));
    return length > SIZE ? [list(label, names, String(start - (start % SIZE) + 1), (value) => app.change({ [name]: value }))] : [];
  };
  const lists = [...choose("window_row", say("Rows"), view.queries.length, starts[0]), ...choose("window_column", say("Columns"), view.keys.length, starts[1])];
  const begin = (start, length) => (length > SIZE ? start - (start % SIZE) : 0);
  return { lists, view: lists.length ? sectionOf(view, [begin(starts[0], view.queries.length), begin(starts[1], view.keys.length)], SIZE) : view };
}
