// Beam search: several hypotheses of a translation grow side by side. Each step reports all that were compared.
import { N_, require } from "../errors.js";
import { DecoderState, EMPTY_HYPOTHESIS, extended, largestIndices, logProbOf, scoreOf } from "./search.js";

/**
 * Keep the `size` most probable hypotheses until as many have ended, and return the one with the best score. It has
 * ended, or the limit has cut it.
 * @param {Model} model @param {number[]} source @param {SearchOptions & { size: number, lengthPenalty?: number }}
 *   options
 * @returns {Search}
 */
export function* beam(model, source, { size, lengthPenalty = 1, ...options }) {
  require(
    options.specials?.beams !== false, "search-settings",
    N_("The browser has no beam search for models of other libraries. Choose greedy search, or open this model in "
      + "the app."),
  );
  const decoder = new DecoderState(model, source, options);
  /** @type {Hypothesis[]} */
  const done = [];
  let growing = [EMPTY_HYPOTHESIS];
  while (growing.length) {
    const { allowed, step } = decoder.advance(growing.map(({ ids }) => ids.at(-1) ?? decoder.specials.start));
    const compared = continuations(growing, allowed, size, (token) => decoder.ends(token));
    const fates = decideFates(compared, size, done.length, decoder.limit);
    done.push(...compared.filter((_, i) => fates[i] === "ended" || fates[i] === "cut"));
    growing = compared.filter((_, i) => fates[i] === "kept");
    yield { ...step, branches: compared.map((hypothesis, i) => branchOf(hypothesis, fates[i])) };
    decoder.select(growing.map(({ rows }) => rows[rows.length - 1]));
  }
  return done.reduce((best, other) => (scoreOf(other, lengthPenalty) > scoreOf(best, lengthPenalty) ? other : best));
}

/**
 * The best continuations of the hypotheses, best first: enough that `size` of them can go on.
 * @param {Hypothesis[]} prefixes @param {Float32Array[]} logProbs For each prefix.
 */
function continuations(prefixes, logProbs, size, ends) {
  const width = logProbs[0].length, totals = new Float32Array(prefixes.length * width);
  for (const [row, prefix] of prefixes.entries()) {
    const before = Math.fround(logProbOf(prefix));
    for (let i = 0; i < width; i++) totals[row * width + i] = before + logProbs[row][i];
  }
  return largestIndices(totals, 2 * size).filter((i) => totals[i] > -Infinity).map((i) => {
    const row = Math.floor(i / width), token = i % width;
    return extended(prefixes[row], token, logProbs[row][token], row, ends(token));
  });
}

/**
 * Decide which continuations end, go on, are cut or are pruned. A hypothesis that ends counts if it is among the `size`
 * best. Of the others, the `size` best go on.
 * @param {Hypothesis[]} compared Best first. @param {number} size @param {number} done How many have ended before.
 * @param {number} limit How many tokens a hypothesis may have.
 * @returns {Fate[]}
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

/** @param {Hypothesis} hypothesis @param {Fate} fate @returns {Branch} */
function branchOf({ ids, rows, logProbs }, fate) {
  return { row: rows[rows.length - 1], token: ids[ids.length - 1], logProb: logProbOf({ logProbs }), fate };
}
