// Which section of a large map is drawn. A map of a short sentence is drawn whole.
import { times } from "./assets/numbers.js";
import { say } from "./assets/words.js";
import { list } from "./controls.js";
import { LIMITS } from "./limits.js";
import { sectionOf } from "./maps.js";

/** @typedef {import("./maps.js").View} View */

/**
 * The section that the visitor chose, and the lists to choose another one; no lists where the map is whole.
 * @param {import("./app.js").App} app
 * @param {View} view
 * @returns {{ view: View, lists: import("./assets/dom.js").Described[] }}
 */
export function chosenSection(app, view) {
  const { section: size } = LIMITS, lists = /** @type {import("./assets/dom.js").Described[]} */ ([]);
  const first = (name, label, length) => {
    if (length <= size) return 0;
    const within = (start) => Math.max(0, Math.min(start, length - size));
    const start = within(Number(app.choices[name] ?? 1) - 1);
    const starts = [...new Set([...times(Math.ceil(length / size), (i) => within(i * size)), start])]
      .sort((a, b) => a - b);
    const names = starts.map((one) => /** @type {[string, string]} */ (
      [String(one + 1), say("{first} to {last}", { first: one + 1, last: one + size })]
    ));
    lists.push(list(label, names, String(start + 1), (value) => app.change({ [name]: value })));
    return start;
  };
  const place = /** @type {[number, number]} */ ([
    first("window_row", say("Rows"), view.queries.length), first("window_column", say("Columns"), view.keys.length),
  ]);
  return { lists, view: lists.length ? sectionOf(view, place, size) : view };
}
