// Lesson 4: masks and decoding. What a mask excludes, and what a forced word changes.
import { hookName, KINDS } from "../../engine/trace.js";
import { maskOf } from "../../pictures/maps.js";
import { batchFields, chosenSentence, padded } from "../../pages/masks.js";
import { averageOf, largestDifference, mapRows, sumOf } from "../map_rows.js";
import { chosen, estimated, verdict } from "../verdicts.js";
import { wordList } from "../words.js";

/** @typedef {import("../situation.js").Situation} Situation */

const CHANGED = 1e-4; // rounding is smaller in a weight

/**
 * The translations of the sentences of the batch, and the sentence that the page shows.
 * @param {Situation} situation
 */
async function batchOf(situation) {
  const all = [];
  for (const [, text] of batchFields(situation)) if (text.trim()) all.push(await situation.translate(text));
  return { all, row: chosenSentence(situation.choices.sentence ?? "1", all.length) };
}

/**
 * The weight on masked keys for each kind, as a mean over layers, heads and queries that are not padding.
 * @param {Situation} situation
 */
async function leakOf({ session, info }, { all, row }) {
  const { source, read } = padded(all);
  const { recorded } = await session.engine.read(source[row], read[row], { record: ["*.masked_scores"] });
  return Object.keys(KINDS).map((kind) => averageOf(Array.from({ length: info.heads[kind][0] }, (_, layer) => {
    const [weights, scores] = ["weights", "masked_scores"].map((stage) => recorded[hookName(kind, layer, stage)]);
    const [heads, T, S] = weights.shape;
    const real = (i) => Math.floor(i / S) % T < all[row][KINDS[kind].queries].length;
    return sumOf(weights.data.filter((_, i) => scores.data[i] === -Infinity && real(i))) / heads
      / all[row][KINDS[kind].queries].length;
  })));
}

/**
 * For each step, the largest difference of a weight of the decoder in two runs over the same source.
 * @param {Translation[]} runs
 */
function differences(runs) {
  const [layers, heads] = runs[0].maps.cross.shape, steps = Math.min(...runs.map(({ written }) => written.length));
  const rowsAt = (step) => ["decoder", "cross"].flatMap((kind) => {
    const open = kind === "decoder" ? step + 1 : undefined;
    return Array.from({ length: layers * heads }, (_, i) =>
      runs.map(({ maps }) => mapRows(maps[kind], Math.floor(i / heads), i % heads)[step].slice(0, open)));
  });
  return Array.from({ length: steps }, (_, step) =>
    Math.max(...rowsAt(step).map(([one, other]) => largestDifference(one, other))));
}

/**
 * Whether a word that usually follows the first words now stands directly before them. So German orders a question, and
 * a sentence that begins with another part than the subject.
 * @param {string[]} usual @param {string[]} words
 */
function inverted(usual, words) {
  const fronts = usual.slice(1).map((word, at) => ` ${[word, ...usual.slice(0, at + 1)].join(" ")} `);
  return fronts.some((front) => ` ${words.join(" ")} `.includes(front));
}

/** @type {import("../verdicts.js").Checks} */
export const MASKS_AND_DECODING = {
  /** The share of padding among the tokens of one sentence of the batch, in percent. */
  async padding(situation, answer) {
    const { all, row } = await batchOf(situation), lengths = all.map(({ source }) => source.length), own = lengths[row];
    const longest = Math.max(...lengths), share = 1 - own / longest;
    return estimated(answer, 100 * share, 8, { share, own, longest, padding: longest - own });
  },

  async "right-mask"(situation, answer) {
    const batch = await batchOf(situation);
    const name = JSON.stringify(["leak", batch.row, batch.all.map(({ source }) => source.map(({ id }) => id))]);
    const leaked = Math.max(...(await situation.session.kept(name, () => leakOf(situation, batch))));
    return chosen(answer, [leaked < 1e-9 ? "zero" : leaked < 0.1 ? "little" : "much"], { leaked });
  },

  /** How many tokens the decoder may attend to at one step in its self-attention. */
  async "read-so-far"(situation, answer) {
    const run = await situation.translation(), step = Math.min(Number(situation.choices.step || 1), run.written.length);
    const mayAttend = maskOf(run, "decoder");
    const keys = run.read.filter((_, key) => mayAttend(0, step - 1, key)).length;
    return estimated(answer, keys, 0, { keys, read: run.read.slice(0, step).map(({ text }) => text).join(" "),
      written: run.written[step - 1].text });
  },

  /** Which rows of the maps change because of the forced token. */
  async "forced-word"(situation, answer) {
    const [usual, forced] = [await situation.usual(), await situation.translation()];
    const place = situation.forced.size ? Math.min(...situation.forced.keys()) : 0;
    const found = differences([usual, forced]), earlier = Math.max(...found.slice(0, place + 1));
    const later = Math.max(0, ...found.slice(place + 1));
    return chosen(answer, [earlier > CHANGED ? "all" : later > CHANGED ? "later" : "none"], {
      usual: usual.text, forced: forced.text, token: forced.written[Math.min(place, forced.written.length - 1)].text,
      place: place + 1, earlier, later,
    });
  },

  /** Whether the translation with the forced token ends as a question. */
  async "question-mark"(situation, answer) {
    const { text, written } = await situation.translation();
    return chosen(answer, [text.endsWith("?") ? "question" : text.endsWith(".") ? "stop" : "none"],
      { text, usual: (await situation.usual()).text, token: written[0].text });
  },

  /** One token is forced, and the model itself puts the verb in front of the subject. */
  async "puzzle-verb-first"(situation) {
    const [{ text: usual }, { text: forced }] = [await situation.usual(), await situation.translation()];
    const count = situation.forced.size;
    const order = () => (usual === forced ? "unchanged"
      : inverted(wordList(usual), wordList(forced)) ? "right" : "same-order");
    return verdict(count === 0 ? "none" : count > 1 ? "too-many" : order(), { usual, forced, count });
  },
};
