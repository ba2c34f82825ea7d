// Texts below each other. Words that differ from the first text are marked.
import { el } from "./assets/dom.js";
import { say } from "./assets/words.js";

/**
 * The words of a text, and whether the first text has each of them at this place of a longest common subsequence.
 * @param {string[]} before
 * @param {string[]} after
 * @returns {[string, boolean][]}
 */
export function sharedWords(before, after) {
  const length = Array.from({ length: before.length + 1 }, () => new Array(after.length + 1).fill(0));
  for (let i = before.length - 1; i >= 0; i--)
    for (let j = after.length - 1; j >= 0; j--)
      length[i][j] = before[i] === after[j] ? length[i + 1][j + 1] + 1 : Math.max(length[i + 1][j], length[i][j + 1]);
  /** @type {[string, boolean][]} */
  const words = [];
  for (let i = 0, j = 0; j < after.length; ) {
    if (i < before.length && before[i] === after[j]) [i, j] = [i + 1, words.push([after[j], true])];
    else if (i < before.length && length[i + 1][j] >= length[i][j + 1]) i++;
    else j = words.push([after[j], false]);
  }
  return words;
}

/**
 * @param {[string, string][]} texts Name and text.
 * @param {string} lang Of the texts.
 */
export function compared(texts, lang) {
  const words = texts.map(([, text]) => (text.includes(" ") ? text.split(/ +/) : [...text]));
  const between = texts.some(([, text]) => text.includes(" ")) ? " " : "";
  return el("div", { class: "hl-lines" }, texts.flatMap(([name, text], i) => [
    el("span", { class: "hl-name" }, name),
    el(
      "bdi", { lang },
      text ? sharedWords(words[0], words[i]).map(([word, shared]) => el(
        "span", {}, [el(shared ? "span" : "mark", {}, word), el("span", {}, between)]
      )) : [el("em", {}, say("(nothing)"))],
    ),
  ]));
}
