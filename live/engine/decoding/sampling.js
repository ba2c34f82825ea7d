// Sampling: each token is drawn at random, from a distribution that may be sharpened and cut.
import { logSoftmax } from "../tensor.js";
import { DecoderState } from "./decoder_state.js";
import { writeOneByOne } from "./greedy.js";
import { largestIndices } from "./search.js";

/**
 * Keep only the tokens that sampling may choose; all others become minus infinity.
 * @param {Float32Array} logProbs
 * @param {{ temperature?: number, topK?: number, topP?: number }} options The temperature is above 0. `topK` keeps the k
 *   most probable tokens, 0 all. `topP` keeps the smallest set of most probable tokens that reaches this probability
 *   (nucleus sampling, Holtzman et al. 2020, section 3.1), 1 all.
 * @returns {Float32Array} Normalized.
 */
export function filterLogProbs(logProbs, { temperature = 1, topK = 0, topP = 1 }) {
  let kept = logSoftmax(logProbs.map((value) => value / temperature));
  if (topK) {
    const worst = kept[largestIndices(kept, Math.min(topK, kept.length))[Math.min(topK, kept.length) - 1]];
    kept = logSoftmax(kept.map((value) => (value < worst ? -Infinity : value)));
  }
  if (topP >= 1) return kept;
  const order = [...kept.keys()].sort((a, b) => kept[b] - kept[a] || a - b), cut = kept.slice();
  let before = 0; // the probability of all better tokens
  for (const id of order) {
    if (before >= topP) cut[id] = -Infinity;
    before += Math.exp(kept[id]);
  }
  return logSoftmax(cut);
}

/**
 * Random numbers from 0 to 1, the same for the same seed: a counter, mixed (Steele et al. 2014, SplitMix).
 * @param {number} seed
 * @returns {() => number}
 */
export function seededNumbers(seed) {
  let state = seed | 0;
  return () => {
    state = (state + 0x9e3779b9) | 0;
    let z = Math.imul(state ^ (state >>> 16), 0x85ebca6b);
    z = Math.imul(z ^ (z >>> 13), 0xc2b2ae35);
    return ((z ^ (z >>> 16)) >>> 0) / 2 ** 32;
  };
}

/** The first id where the sum of the probabilities passes a number from 0 to 1. */
function drawn(logProbs, number) {
  let sum = 0, last = 0;
  for (let id = 0; id < logProbs.length; id++) {
    if (logProbs[id] === -Infinity) continue;
    sum += Math.exp(logProbs[id]);
    last = id;
    if (sum > number) break;
  }
  return last;
}

/**
 * Draw each token at random. The log-probabilities of the hypothesis are the model's own, before temperature and filters.
 * @param {import("../network/translators.js").Translator} model
 * @param {number[]} source Token ids.
 * @param {import("./decoder_state.js").SearchOptions & Parameters<typeof filterLogProbs>[1] & { random: () => number }} options
 *   `random` returns numbers from 0 to 1, such as those of `seededNumbers`.
 * @returns {import("./search.js").Search}
 */
export function* sample(model, source, options) {
  return yield* writeOneByOne(new DecoderState(model, source, options), (logProbs) =>
    drawn(filterLogProbs(logProbs, options), options.random()));
}
