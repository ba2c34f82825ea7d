// Numbers and texts, as people read and hear them.
import { say } from "./words.js";

/**
 * A text with visible line breaks and tabs, at most `limit` characters long.
 * @param {string} text
 * @param {number} limit
 */
export function shortened(text, limit) {
  const visible = text.replaceAll("\n", "↵").replaceAll("\t", "⇥");
  const characters = [...visible];
  return characters.length > limit ? `${characters.slice(0, limit - 1).join("")}…` : visible;
}

/**
 * A share such as 0.934 as "93.4 %", with a no-break space.
 * @param {number} share
 */
export function percent(share) {
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
