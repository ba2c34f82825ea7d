// Beam search: several hypotheses of a translation grow side by side. Each step reports all that were compared.
import { BOS_ID } from "../text/vocab.js";
import { DecoderState } from "./decoder_state.js";
import { EMPTY_HYPOTHESIS, extended, largestIndices, logProbOf, scoreOf } from "./search.js";

/** @typedef {import("./search.js").Hypothesis} Hypothesis */

/**
 * Keep the `size` most probable hypotheses until as many have ended.
 * @param {import("../network/translators.js").Translator} model
 * @param {number[]} source Token ids.
 * @param {import("./decoder_state.js").SearchOptions & { size: number, lengthPenalty?: number }} options
 * @returns {import("./search.js").Search} The hypothesis with the best score. It has ended, or the limit has cut it.
 */
export function* beam(model, source, { size, lengthPenalty = 1, ...options }) {
  const decoder = new DecoderState(model, source, options);
  /** @type {Hypothesis[]} */
  const done = [];
  let growing = [EMPTY_HYPOTHESIS];
  while (growing.length) {
    const { allowed, step } = decoder.advance(growing.map(({ ids }) => ids[ids.length - 1] ?? BOS_ID));
    const compared = continuations(growing, allowed, size, (token) => decoder.ends(token));
    const fates = decideFates(compared, size, done.length, decoder.limit);
    const branches = compared.map((hypothesis, i) => branchOf(hypothesis, fates[i]));
    done.push(...compared.filter((_, i) => fates[i] === "ended" || fates[i] === "cut"));
    growing = compared.filter((_, i) => fates[i] === "kept");
    yield { ...step, branches };
    decoder.select(growing.map(({ rows }) => rows[rows.length - 1]));
  }
  return done.reduce((best, other) => (scoreOf(other, lengthPenalty) > scoreOf(best, lengthPenalty) ? other : best));
}

/**
 * The best continuations of the hypotheses, best first: enough that `size` of them can go on.
 * @param {Hypothesis[]} prefixes
 * @param {Float32Array[]} logProbs For each prefix.
 */
function continuations(prefixes, logProbs, size, ends) {
  const width = logProbs[0].length, totals = new Float32Array(prefixes.length * width);
  for (const [row, prefix] of prefixes.entries()) {
    const before = Math.fround(logProbOf(prefix));
    for (let i = 0; i < width; i++) totals[row * width + i] = before + logProbs[row][i];
  }
  return largestIndices(totals, Math.min(2 * size, totals.length)).filter((i) => totals[i] > -Infinity).map((i) => {
    const row = Math.floor(i / width), token = i % width;
    return extended(prefixes[row], token, logProbs[row][token], row, ends(token));
  });
}

/**
 * Decide which continuations end, go on, are cut or are pruned. A hypothesis that ends counts if it is among the `size`
 * best. Of the others, the `size` best go on.
 * @param {Hypothesis[]} compared Best first.
 * @param {number} size
 * @param {number} done How many hypotheses have ended before.
 * @param {number} limit How many tokens a hypothesis may have.
 */
function decideFates(compared, size, done, limit) {
  const ended = compared.slice(0, size).filter(({ finished }) => finished).length;
  const others = compared[0].ids.length >= limit ? "cut" : done + ended >= size ? "pruned" : "kept";
  let placesLeft = size;
  return compared.map(({ finished }, rank) => {
    if (finished) return rank < size ? "ended" : "pruned";
    return placesLeft-- > 0 ? others : "pruned";
  });
}

/** @returns {import("./search.js").Branch} */
function branchOf({ ids, rows, ...hypothesis }, fate) {
  return { row: rows[rows.length - 1], token: ids[ids.length - 1], logProb: logProbOf(hypothesis), fate };
}
