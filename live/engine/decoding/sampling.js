// Sampling: each token is drawn at random, from a distribution that may be sharpened and cut.
import { logSoftmax } from "../tensor.js";
import { DecoderState, largestIndices, writeOneByOne } from "./search.js";

/**
 * Keep only the tokens that sampling may choose; all others become minus infinity. `topK` keeps the k most probable
 * tokens. `topP` keeps the smallest set of most probable tokens that reaches this probability (nucleus sampling,
 * Holtzman et al. 2020, section 3.1).
 * @param {Float32Array} logProbs @param {SamplingFilter} filter
 */
export function filterLogProbs(logProbs, { temperature = 1, topK = 0, topP = 1 }) {
  let kept = logSoftmax(logProbs.map((value) => value / temperature));
  if (topK) {
    const worst = kept[largestIndices(kept, topK).pop() ?? 0];
    kept = logSoftmax(kept.map((value) => (value < worst ? -Infinity : value)));
  }
  if (topP >= 1) return kept;
  const cut = kept.slice();
  let before = 0; // the probability of all better tokens
  for (const id of [...kept.keys()].sort((a, b) => kept[b] - kept[a] || a - b)) {
    if (before >= topP) cut[id] = -Infinity;
    before += Math.exp(kept[id]);
  }
  return logSoftmax(cut);
}

/** Random numbers from 0 to 1, the same for the same seed: a counter, mixed (Steele et al. 2014). */
export function seededNumbers(seed) {
  let state = seed | 0;
  return () => {
    state = (state + 0x9e3779b9) | 0;
    let z = Math.imul(state ^ (state >>> 16), 0x85ebca6b);
    z = Math.imul(z ^ (z >>> 13), 0xc2b2ae35);
    return ((z ^ (z >>> 16)) >>> 0) / 2 ** 32;
  };
}

/** The first id where the sum of the probabilities passes a number from 0 to 1. @param {Float32Array} logProbs */
function drawn(logProbs, number) {
  let sum = 0;
  const passes = (value) => {
    sum += Math.exp(value);
    return sum > number;
  };
  const id = logProbs.findIndex(passes);
  return id >= 0 ? id : largestIndices(logProbs, 1)[0]; // rounding may keep the sum below the number
}

/**
 * Draw each token at random. The log-probabilities of the hypothesis are the model's own, before temperature and
 * filters.
 * @param {Model} model @param {number[]} source @param {SearchOptions & SamplingFilter & { random: () => number }}
 *   options
 * @returns {Search}
 */
export function* sample(model, source, options) {
  return yield* writeOneByOne(new DecoderState(model, source, options), (logProbs) =>
    drawn(filterLogProbs(logProbs, options), options.random()));
}
