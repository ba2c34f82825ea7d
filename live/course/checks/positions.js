// Lesson 5: where is each word? The waves, and translations without positions.
import { noChanges } from "../../app/link.js";
import { positionTable, wavelengths } from "../../pages/positions.js";
import { largestAt, sumOf } from "../map_rows.js";
import { chosen, estimated, verdict } from "../verdicts.js";

/** @typedef {import("../situation.js").Situation} Situation */

const WITHOUT_POSITIONS = { ...noChanges(), positions: false };
const rounded = (number) => Math.round(100 * number) / 100;

/** The translations of a text with the positional encoding and without it. @param {Situation} situation */
async function withAndWithout(situation, text = situation.text) {
  return { text, seen: (await situation.translate(text)).text,
    blind: (await situation.translate(text, { changes: WITHOUT_POSITIONS })).text };
}

/** @type {import("../verdicts.js").Checks} */
export const POSITIONS = {
  /** What happens to two orders of the same tokens without positions. */
  async "two-orders"(situation, answer, { parameters }) {
    const [first, other] = [await withAndWithout(situation, parameters.first),
      await withAndWithout(situation, parameters.other)];
    const mirrored = first.blind === first.seen && other.blind === other.seen;
    const truth = first.blind === other.blind ? "equal" : mirrored ? "mirrored" : "different";
    return chosen(answer, [truth], { first: first.seen, other: other.seen, blind: first.blind,
      blind_other: other.blind });
  },

  async "black-cat"(situation, answer) {
    const texts = await withAndWithout(situation);
    return chosen(answer, [texts.seen === texts.blind ? "stays" : "changes"], texts);
  },

  /** How many of some sentences keep their translations without positions. */
  async "ten-sentences"(situation, answer, { parameters: { sentences } }) {
    const { usual, changed } = await situation.bothTextsOf(sentences, WITHOUT_POSITIONS);
    const kept = sentences.filter((_, i) => usual[i] === changed[i]);
    return estimated(answer, kept.length, 1, { count: kept.length, all: sentences.length,
      kept: kept.join(" · ") || "–" });
  },

  async "full-turn"({ info }, answer) {
    const lengths = wavelengths(info.config), first = lengths[0];
    return estimated(answer, first, 0.3, { first: rounded(first), last: Math.round(lengths[lengths.length - 1]),
      waves: lengths.length });
  },

  /** Which of a few positions has the encoding that is most similar to that of another position. */
  async nearest({ info }, answer, { parameters: { place, others } }) {
    const { data, shape: [, width] } = positionTable(info.config, Math.max(place, ...Object.values(others)) + 1);
    const row = (at) => data.subarray(at * width, (at + 1) * width);
    const cosine = (one, other) => sumOf(one.map((number, i) => number * other[i])) / Math.hypot(...one)
      / Math.hypot(...other);
    const names = Object.keys(others), found = names.map((name) => cosine(row(place), row(others[name])));
    return chosen(answer, [names[largestAt(found)]],
      Object.fromEntries(names.map((name, i) => [name, rounded(found[i])])));
  },

  async "puzzle-changes"(situation) {
    const texts = await withAndWithout(situation);
    return verdict(texts.seen === texts.blind ? "unchanged" : "right", texts);
  },

  /** A sentence of several different words whose translation stays equal without positions. */
  async "puzzle-keeps"(situation, _, { parameters: { words: least } }) {
    const words = situation.text.split(/\s+/).map((word) => word.replace(/^[.,!?]+|[.,!?]+$/g, "").toLowerCase());
    const count = new Set(words.filter(Boolean)).size;
    if (count < least) return verdict("short", { count, least });
    const texts = await withAndWithout(situation);
    return verdict(texts.seen === texts.blind ? "right" : "changed", { ...texts, count });
  },

  /** A sentence that becomes the translation of another sentence only when the positions are missing. */
  async "puzzle-twin"(situation, _, { parameters: { other } }) {
    const { text: wanted } = await situation.translate(other), texts = await withAndWithout(situation);
    return verdict(texts.seen === wanted ? "seen-equal" : texts.blind === wanted ? "right" : "blind-differs",
      { ...texts, wanted });
  },
};
