// The tokens that a model reads and writes, as small boxes. The most likely other tokens are in a box below each.
import { el } from "./assets/dom.js";
import { percent, shortened } from "./assets/format.js";
import { say } from "./assets/words.js";

export const MOST_CHIPS = 80; // chips in a row, as in the app

/**
 * @param {Translation} translation
 * @returns {import("./assets/dom.js").Described}
 */
export function rowsOfChips({ source, written, languages }) {
  const lined = Math.max(source.length, written.length) <= MOST_CHIPS;
  return el("div", { class: `hl-looks${lined ? " hl-lined" : ""}` }, [
    row("reads", say("reads"), source, languages[0]), row("writes", say("writes"), written, languages[1]),
  ]);
}

function row(name, label, tokens, lang) {
  const more = tokens.length > MOST_CHIPS ? [el("span", { class: "hl-more" }, say("and {n} more", { n: tokens.length - MOST_CHIPS }))] : [];
  return el("div", { class: "hl-row", "data-row": name }, [
    el("span", { class: "hl-name" }, label),
    el("div", { class: "hl-chips" }, [...tokens.slice(0, MOST_CHIPS).map((token, i) => chip(token, i, lang)), ...more]),
  ]);
}

function chip({ text, word, probability, candidates }, i, lang) {
  const shown = shortened(text, 40), own = { lang: word >= 0 ? lang : false }, kind = word < 0 ? " hl-special" : "";
  if (!candidates) return el("span", { class: `hl-chip${kind}`, "data-i": i }, [el("bdi", own, shown)]);
  const share = percent(probability);
  return el("span", {
    class: `hl-chip${kind}`, "data-i": i, tabindex: 0, role: "group",
    "aria-label": say("{token}, probability {share}", { token: shown, share }),
    style: `background:color-mix(in srgb, #2f6fb0 ${Math.round(8 + 60 * probability)}%, transparent)`,
  }, [
    el("bdi", own, shown),
    el("span", { class: "hl-tip" }, candidates.slice(0, 5).map((one) => el("div", {}, [
      el("bdi", { lang }, shortened(one.text, 40)), el("span", {}, percent(one.probability)),
    ]))),
  ]);
}
