// What every search is made of: its steps and its hypotheses.
import { EOS_ID } from "../text/vocab.js";

/**
 * @typedef {"kept" | "ended" | "cut" | "pruned"} Fate cut: stopped by the length limit.
 * @typedef {{ row: number, token: number, logProb: number, fate: Fate }} Branch One continuation that beam search compared:
 *   the row of its prefix, its token, and the log-probability of the whole hypothesis.
 * @typedef {{ distributions: Float32Array[], passes: number[], tokens: number[], branches: Branch[] }} Step
 *   One step of the decoder, for each row: the model's own log-probabilities of the whole vocabulary, and the pass of
 *   the trace. `tokens` are the tokens that greedy search or sampling wrote. `branches` are those of beam search.
 * @typedef {{ ids: number[], logProbs: number[], rows: number[], finished: boolean }} Hypothesis One translation. Each
 *   list has one entry per written token: its id, the natural logarithm of its probability, and its row in each step.
 * @typedef {Generator<Step, Hypothesis>} Search
 */

const NUM_CANDIDATES = 10;

/** @type {Hypothesis} */
export const EMPTY_HYPOTHESIS = { ids: [], logProbs: [], rows: [], finished: false };

/** @param {Hypothesis} hypothesis */
export function logProbOf({ logProbs }) {
  return logProbs.reduce((sum, value) => sum + value, 0);
}

/**
 * Log p / length^penalty, for ranking. 0 favours short texts; 1 ranks by the mean per token.
 * @param {Hypothesis} hypothesis
 * @param {number} lengthPenalty
 */
export function scoreOf(hypothesis, lengthPenalty) {
  return logProbOf(hypothesis) / Math.max(hypothesis.ids.length, 1) ** lengthPenalty;
}

/**
 * The hypothesis with one more token.
 * @param {Hypothesis} hypothesis
 * @returns {Hypothesis}
 */
export function extended({ ids, logProbs, rows }, token, logProb, row, finished) {
  return { ids: [...ids, token], logProbs: [...logProbs, logProb], rows: [...rows, row], finished };
}

/** The ids of a hypothesis without its end token. @param {Hypothesis} hypothesis */
export function writtenIds({ ids, finished }) {
  return finished && ids[ids.length - 1] === EOS_ID ? ids.slice(0, -1) : ids;
}

/**
 * The indices of the largest numbers, largest first.
 * @param {Float32Array} values
 * @param {number} [count]
 */
export function largestIndices(values, count = NUM_CANDIDATES) {
  /** @type {number[]} */
  const best = [];
  for (let i = 0; i < values.length; i++) {
    if (best.length === count && !(values[i] > values[best[count - 1]])) continue;
    let place = best.length;
    while (place > 0 && values[i] > values[best[place - 1]]) place--;
    best.splice(place, 0, i);
    if (best.length > count) best.pop();
  }
  return best;
}

/** The entropy of a distribution in nats: how uncertain the model was. @param {Float32Array} logProbs */
export function entropyOf(logProbs) {
  return logProbs.reduce((sum, value) => (value === -Infinity ? sum : sum - Math.exp(value) * value), 0);
}

/**
 * Run a generator to its end.
 * @template R
 * @param {Generator<unknown, R>} search
 * @returns {R}
 */
export function finish(search) {
  for (;;) {
    const { done, value } = search.next();
    if (done) return value;
  }
}
