// The tokens that a model reads and writes, as small boxes. The most likely other tokens are in a box below each.
import { el } from "./assets/dom.js";
import { percent, shortened } from "./assets/format.js";
import { say } from "./assets/words.js";
import { LIMITS } from "./limits.js";

/** The tokens that a model reads at first, and those that it writes after them. @param {Translation} translation */
export function tokenRows({ source, read, written, given = 0 }) {
  return { reads: source.length ? source : read.slice(0, given + 1), writes: written.slice(given) };
}

/**
 * @param {Translation} translation
 * @returns {import("./assets/dom.js").Described}
 */
export function rowsOfChips(translation) {
  const { reads, writes } = tokenRows(translation), [source, target] = translation.languages;
  const lined = Math.max(reads.length, writes.length) <= LIMITS.chips;
  return el("div", { class: `hl-looks${lined ? " hl-lined" : ""}` }, [
    row("reads", say("reads"), reads, source), ...(writes.length ? [row("writes", say("writes"), writes, target)] : []),
  ]);
}

function row(name, label, tokens, lang) {
  const more = tokens.length > LIMITS.chips
    ? [el("span", { class: "hl-more" }, say("and {n} more", { n: tokens.length - LIMITS.chips }))]
    : [];
  return el("div", { class: "hl-row", "data-row": name }, [
    el("span", { class: "hl-name" }, label),
    el("div", { class: "hl-chips" }, [
      ...tokens.slice(0, LIMITS.chips).flatMap((token, i) => [...partName(tokens, i), chip(token, i, lang)]), ...more,
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
