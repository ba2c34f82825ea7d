// The tokens that a model reads and writes, as small boxes. The most likely other tokens are in a box below each.
import { SHARED } from "../app/shared.js";
import { el } from "../ui/dom.js";
import { percent, say, shortened } from "../ui/words.js";

/** The tokens that a model reads at first, and those that it writes after them. @param {Result} translation */
export function tokenRows({ source, read, written, prompt_length: given = 0 }) {
  return { reads: source.length ? source : read.slice(0, given + 1), writes: written.slice(given) };
}

/** @param {Result} translation @returns {Described} */
export function rowsOfChips(translation) {
  const { reads, writes } = tokenRows(translation), [source, target] = translation.languages;
  const lined = Math.max(reads.length, writes.length) <= SHARED.limits.chips;
  return el("div", { class: `hl-looks${lined ? " hl-lined" : ""}` }, [
    row("reads", say("reads"), reads, source), ...(writes.length ? [row("writes", say("writes"), writes, target)] : []),
  ]);
}

function row(name, label, tokens, lang) {
  const { chips: most } = SHARED.limits, more = tokens.length - most;
  return el("div", { class: "hl-row", "data-row": name }, [
    el("span", { class: "hl-name" }, label),
    el("div", { class: "hl-chips" }, [
      ...tokens.slice(0, most).flatMap((token, i) => [...partName(tokens, i), chip(token, i, lang)]),
      ...(more > 0 ? [el("span", { class: "hl-more" }, say("and {n} more", { n: more }))] : []),
    ]),
  ]);
}

/** The name of a text of a pair, before its first token. */
function partName(tokens, i) {
  const { part } = tokens[i];
  return part && tokens.findIndex((token) => token.part === part) === i
    ? [el("span", { class: "hl-more" }, `${part}:`)]
    : [];
}

function chip({ text, word, unknown, probability, candidates }, i, lang) {
  const shown = shortened(text, 40), own = { lang: word >= 0 ? lang : false };
  const kind = word < 0 ? " hl-special" : unknown ? " hl-unknown" : "";
  if (!candidates)
    return el(
      "span",
      {
        class: `hl-chip${kind}`, "data-i": i,
        title: unknown ? say("Not in the vocabulary. The model reads <unk> instead.") : false,
      },
      [el("bdi", own, shown)],
    );
  const share = percent(probability);
  return el("span", {
    class: `hl-chip${kind}`, "data-i": i, tabindex: 0, role: "group",
    "aria-label": say("{token}, probability {share}", { token: shown, share }),
    style: `background:color-mix(in srgb, #2f6fb0 ${Math.round(8 + 60 * (probability || 0))}%, transparent)`,
  }, [
    el("bdi", own, shown),
    el("span", { class: "hl-tip" }, candidates.slice(0, 5).map((one) => el("div", {}, [
      el("bdi", { lang }, shortened(one.text, 40)), el("span", {}, percent(one.probability)),
    ]))),
  ]);
}

/** The text that the model wrote. @param {Result} translation @param {string} [more] Classes. */
export function writtenText({ text, languages }, more = "") {
  const attributes = { class: `written ${more}`.trim(), lang: languages[1] || false };
  return el("p", attributes, text || say("(the model wrote nothing)"));
}

// Texts below each other. Words that differ from the first text are marked.

/**
 * The words of a text, and whether the first text has each of them at this place of a longest common subsequence.
 * @param {string[]} before @param {string[]} after @returns {[string, boolean][]}
 */
function sharedWords(before, after) {
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

/** @param {[string, string][]} texts Name and text. @param {string} lang Of the texts. */
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
