// What the visitor chose, and the link that holds it. After `#` it has the form of an address of the app, such as
// `#translate?text=Hello&layer=3`, with the same names and values (viz_app/session/choice_forms.py).
import { readChanges } from "./changes.js";

/** @typedef {Record<string, string>} Choices The form of every choice in a link; "" where none was made. */

const NUMBER = /^\d{1,9}$/, SWITCH = /^(true|false|1|0)$/i, FRACTION = /^\d{1,3}(\.\d{1,4})?$/, WORD = /^[\w-]{0,60}$/;
const ANY = /^/;
const one = (...words) => new RegExp(`^(${words.join("|")})$`);

/** Name → what its value may be. @type {Record<string, RegExp>} */
export const FORMS = {
  checkpoint: /^[\w.-]{1,100}$/, text: ANY, lang: WORD, lesson: /^[\w.-]{0,100}$/,
  kind: one("cross", "encoder", "decoder"), view: one("heatmaps", "lines"), layer: NUMBER, head: /^(\d{1,3}|mean|max)$/,
  logarithmic: SWITCH, hide_special: SWITCH, forced: /^\d{1,4}\.\d{1,7}(-\d{1,4}\.\d{1,7})*$/, step: NUMBER,
    window_row: NUMBER, window_column: NUMBER, guess: SWITCH,
  steps_kind: one("cross", "decoder"), query: NUMBER, scaled: SWITCH, head_temperature: FRACTION,
  intervention: /^[\w.~-]{0,2000}$/, click_means: one("silence", "flatten"), painted_weight: FRACTION,
  position_tab: one("matrix", "waves", "sentence"), shuffle: NUMBER, mask_kind: one("encoder", "decoder", "cross"),
  sentence: NUMBER,
  ...Object.fromEntries(["en", "de", "zh"].flatMap((code) => [1, 2, 3, 4].map((i) => [`batch_${code}_${i}`, ANY]))),
  // The app has more of these. The pages always show this one.
  method: one("greedy"), steps_view: one("greedy"), heads_tab: one("board"), inside_tab: one("head"),
    mask_tab: one("right"), lessons_tab: one("learn"),
  checkpoint_tab: one("card"), length: one("64"), base: one("10000"), width: NUMBER,
};

/**
 * Read a link, also one that a person wrote: a sign that is not encoded belongs to its text.
 * @param {string} hash Of an address, with or without `#`.
 * @param {string[]} pages Their names, the first one for an address without a page.
 * @returns {{ page: string, choices: Choices, unknown: string[] }} `unknown`: what makes no sense, as the link writes
 *   it.
 */
export function readAddress(hash, pages) {
  const [, name, query] = /** @type {RegExpMatchArray} */ (hash.match(/^#?\/?([^?]*)\??(.*)$/s));
  const page = pages.includes(name) ? name : pages[0];
  /** @type {Choices} */
  const choices = {}, unknown = name && page !== name ? [name] : [];
  const joined = query.replace(/&(?!\w+=|$)/g, "%26"), hasSpaces = / |%20/.test(query); // then a plus is no space
  for (const [key, value] of new URLSearchParams(hasSpaces ? joined.replaceAll("+", "%2B") : joined)) {
    const known = Object.hasOwn(FORMS, key) && FORMS[key].test(value)
      && !(key === "intervention" && readChanges(value) === null);
    if (known) choices[key] = FORMS[key] === SWITCH ? String(/^(true|1)$/i.test(value)) : value;
    else unknown.push(`${key}=${value}`);
  }
  return { page, choices, unknown };
}

/** Whether a link names a choice. A sentence of a batch may be empty. @param {[string, string | undefined]} choice */
export function isChosen([name, value]) {
  return value !== undefined && (value !== "" || name.startsWith("batch_"));
}

/**
 * @param {string} page
 * @param {Choices} choices
 */
export function writeAddress(page, choices) {
  const chosen = Object.entries(choices).filter(isChosen);
  const query = new URLSearchParams(chosen).toString();
  return `#${page}${query ? `?${query}` : ""}`;
}

/**
 * Forced tokens from a link.
 * @param {string} text `position.token`, joined by "-".
 * @returns {Map<number, number>}
 */
export function readForced(text) {
  return new Map(
    text ? text.split("-").map((pair) => /** @type {[number, number]} */ (pair.split(".").map(Number))) : []
  );
}

/** @param {Map<number, number>} forced */
export function writeForced(forced) {
  return [...forced].sort(([a], [b]) => a - b).map((pair) => pair.join(".")).join("-");
}
