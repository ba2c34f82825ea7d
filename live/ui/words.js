// The words of the components in the language of the visitor. The server sends them with the data of each component.

/** @type {Record<string, Record<string, string>>} Language → English → translation. */
const known = {};
let used = ""; // the language of the page

/**
 * Use this language from now on, with these words and those that other components have brought in it.
 * @param {Record<string, string>} words English → translation, and "" → the language. Without a language, they replace
 *   all.
 */
export function useWords(words) {
  used = words[""] ?? "";
  known[used] = { ...(used && known[used]), ...words };
}

/**
 * A text in the language of the visitor, with its values. The server finds the texts by this call, so the first
 * argument is one literal.
 * @param {string} text English, with a `{name}` for each value.
 * @param {Record<string, unknown>} [values]
 */
export function say(text, values = {}) {
  return (known[used]?.[text] ?? text).replace(
    /\{(\w+)\}/g, (all, name) => (name in values ? String(values[name]) : all)
  );
}

// Numbers and texts, as people read and hear them.

const WIDE = new RegExp(
  String.raw`[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6`
  + String.raw`\u{1f300}-\u{1f64f}\u{1f900}-\u{1f9ff}\u{20000}-\u{3fffd}]`, "u",
);
const WITHOUT_WIDTH = /[\p{Mn}\p{Cf}]/u;
const RIGHT_TO_LEFT = /[\p{Script=Arabic}\p{Script=Hebrew}\p{Script=Syriac}\p{Script=Thaana}]/u;

/** How wide a text is, counted in Latin letters. A Chinese or Korean letter is twice as wide. @param {string} text */
export function letters(text) {
  return [...text].reduce((sum, one) => sum + (WITHOUT_WIDTH.test(one) ? 0 : WIDE.test(one) ? 2 : 1), 0);
}

/**
 * A text with visible line breaks and tabs, at most `limit` letters wide.
 * @param {string} text @param {number} limit
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

/** A share such as 0.934 as "93.4 %", with a no-break space. @param {number} share */
export function percent(share) {
  if (!Number.isFinite(share ?? NaN)) return say("not a number");
  return say("{number}\u00a0%", { number: share >= 0.9995 ? 100 : (100 * share).toFixed(share < 0.0995 ? 2 : 1) });
}

/** A number with a minus sign, and so many digits after the point. @param {number} number @param {number} digits */
export function decimal(number, digits) {
  return Number.isFinite(number) ? number.toFixed(digits).replace("-", "−") : say("not a number");
}

/** A text with a capital first letter. @param {string} text */
export function capitalized(text) {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}

/** The name of a head: "layer 2, head 3". @param {number} layer @param {number} head Counted from 0. */
export function headName(layer, head) {
  return say("layer {layer}, head {head}", { layer: layer + 1, head: head + 1 });
}

/**
 * Facts as one sentence for a screen reader: a pause after each fact, and numbers of two digits, because it reads long
 * numbers digit by digit.
 * @param {string[]} facts
 */
export function spoken(facts) {
  return facts.join("; ").replace(/\d+\.\d{3,}/g, (number) => String(Number(Number(number).toPrecision(2))));
}
