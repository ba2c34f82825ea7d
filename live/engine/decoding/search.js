// What every search is made of: hypotheses, and the choice of the best.

/** @type {Hypothesis} */
export const EMPTY_HYPOTHESIS = { ids: [], logProbs: [], rows: [], finished: false };

/** @param {{ logProbs: number[] }} hypothesis */
export function logProbOf({ logProbs }) {
  return logProbs.reduce((sum, value) => sum + value, 0);
}

/**
 * Log p / length^penalty, for ranking. 0 favours short texts; 1 ranks by the mean per token.
 * @param {Hypothesis} hypothesis
 */
export function scoreOf(hypothesis, lengthPenalty) {
  return logProbOf(hypothesis) / Math.max(hypothesis.ids.length, 1) ** lengthPenalty;
}

/** The hypothesis with one more token. @param {Hypothesis} hypothesis @returns {Hypothesis} */
export function extended({ ids, logProbs, rows }, token, logProb, row, finished) {
  return { ids: [...ids, token], logProbs: [...logProbs, logProb], rows: [...rows, row], finished };
}

/** The ids of a hypothesis without its end token. @param {Hypothesis} hypothesis */
export function writtenIds({ ids, finished }) {
  return finished ? ids.slice(0, -1) : ids;
}

/** The indices of the largest numbers, largest first. @param {Float32Array} values */
export function largestIndices(values, count) {
  /** @type {number[]} */
  const best = [];
  let least = -Infinity; // of as many as are asked for
  for (let i = 0; i < values.length; i++) {
    if (best.length === count && !(values[i] > least)) continue;
    let place = best.length;
    while (place > 0 && values[i] > values[best[place - 1]]) place--;
    best.splice(place, 0, i);
    best.length = Math.min(best.length, count);
    least = values[best[best.length - 1]];
  }
  return best;
}

/** They are needed twice: when a token is written, and when the text is. @type {WeakMap<Float32Array, number>} */
const entropies = new WeakMap();

/** The entropy of a distribution in nats: how uncertain the model was. @param {Float32Array} logProbs */
export function entropyOf(logProbs) {
  let entropy = entropies.get(logProbs) ?? 0;
  if (!entropies.has(logProbs))
    for (const value of logProbs) if (value !== -Infinity) entropy -= Math.exp(value) * value;
  entropies.set(logProbs, entropy);
  return entropy;
}

/** Run a generator to its end. @template R @param {Generator<unknown, R>} search @returns {R} */
export function finish(search) {
  for (;;) {
    const { done, value } = search.next();
    if (done) return value;
  }
}
