// A text that is longer than a page reads.
import { say } from "./assets/words.js";

/** The first characters of a text. @param {string} text @param {number} most */
export function firstOf(text, most) {
  return [...text].slice(0, most).join("");
}

/** A sentence about what is left out; "" where nothing is. @param {string | undefined} text @param {number} most */
export function cutNote(text, most) {
  const n = [...text ?? ""].length, shown = (number) => number.toLocaleString(document.documentElement.lang);
  return n > most
    ? say("The text has {n} characters. Only the first {limit} were read.", { n: shown(n), limit: shown(most) })
    : "";
}
