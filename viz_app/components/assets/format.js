// Numbers and texts, as people read and hear them.
import { say } from "./words.js";

const WIDE = new RegExp(
  String.raw`[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6`
  + String.raw`\u{1f300}-\u{1f64f}\u{1f900}-\u{1f9ff}\u{20000}-\u{3fffd}]`, "u",
);
const WITHOUT_WIDTH = /[\p{Mn}\p{Cf}]/u;
const RIGHT_TO_LEFT = /[\p{Script=Arabic}\p{Script=Hebrew}\p{Script=Syriac}\p{Script=Thaana}]/u;

/**
 * How wide a text is, counted in Latin letters. A Chinese or Korean letter is twice as wide.
 * @param {string} text
 */
export function letters(text) {
  return [...text].reduce((sum, one) => sum + (WITHOUT_WIDTH.test(one) ? 0 : WIDE.test(one) ? 2 : 1), 0);
}

/**
 * A text with visible line breaks and tabs, at most `limit` letters wide.
 * @param {string} text
 * @param {number} limit
 */
export function shortened(text, limit) {
  const visible = text.replaceAll("\n", "↵").replaceAll("\t", "⇥");
  if (letters(visible) <= limit) return visible;
  let start = "";
  for (const one of visible) {
    if (letters(start + one) > limit - 1) break;
    start += one;
  }
  return `${start}…`;
}

/**
 * The direction of words that are elements of their own, for their row. `dir="auto"` does not see them.
 * @param {string[]} words
 */
export function directionOf(words) {
  const all = words.join("").match(/\p{L}/gu) ?? [], count = all.filter((letter) => RIGHT_TO_LEFT.test(letter)).length;
  return 2 * count > all.length && "rtl";
}

/**
 * A text in its own direction, whatever is around it. Only Arabic, Hebrew and similar texts need it.
 * @param {string} text
 */
export function isolated(text) {
  return RIGHT_TO_LEFT.test(text) ? `\u2068${text}\u2069` : text;
}

/**
 * A share such as 0.934 as "93.4 %", with a no-break space.
 * @param {number} share
 */
export function percent(share) {
  if (!Number.isFinite(share ?? NaN)) return say("not a number");
  return say("{number}\u00a0%", { number: share >= 0.9995 ? 100 : (100 * share).toFixed(share < 0.0995 ? 2 : 1) });
}

/**
 * A text with a capital first letter.
 * @param {string} text
 */
export function capitalized(text) {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}

/**
 * The name of a head, counted through all layers from 0: "layer 2, head 3".
 * @param {number} index
 * @param {number} heads How many heads a layer has.
 */
export function headName(index, heads) {
  return say("layer {layer}, head {head}", { layer: Math.floor(index / heads) + 1, head: (index % heads) + 1 });
}

/**
 * Facts as one sentence for a screen reader: a pause after each fact, and numbers of two digits, because it reads long
 * numbers digit by digit.
 * @param {string[]} facts
 */
export function spoken(facts) {
  return facts.join("; ").replace(/\d+\.\d{3,}/g, (number) => String(Number(Number(number).toPrecision(2))));
}
