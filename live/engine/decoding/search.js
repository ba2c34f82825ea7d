// What every search is made of: hypotheses, the decoder that it moves forward, and greedy search.
import { logSoftmax } from "../tensor.js";
import { OUR_SPECIALS } from "../text/vocab.js";
import { NO_TRACE } from "../trace.js";

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

/** How many tokens a translation may have: enough for a real translation, too few for endless repetition. */
export function lengthLimit(sourceLength, maxLength) {
  return Math.min(maxLength, Math.floor((sourceLength * 3) / 2) + 8);
}

/**
 * Minus infinity for each token that must not be written. Where the model gives no numbers, the text ends.
 * @param {Float32Array} logProbs @param {AllSpecials} specials @param {number} [forced]
 */
function allowedOf(logProbs, { banned, ends: [end] }, forced) {
  const allowed = logProbs.slice(), isBroken = Number.isNaN(logProbs[0]), only = forced ?? (isBroken ? end : undefined);
  if (only === undefined) for (const id of banned) allowed[id] = -Infinity;
  else allowed.fill(-Infinity)[only] = isBroken ? 0 : logProbs[only];
  return allowed;
}

export class DecoderState {
  /**
   * Encode the source, and read what is forced at the beginning.
   * @param {Model} model @param {number[]} source Token ids. @param {SearchOptions} [options]
   */
  constructor(model, source, options = {}) {
    const { specials = OUR_SPECIALS, forced = new Map(), limit = 0, given = 0, trace = NO_TRACE } = options;
    const { max_length } = model.config, { first = null } = specials;
    this.model = model;
    this.trace = trace;
    this.specials = specials;
    this.forced = first === null || forced.has(0) ? forced : new Map([[0, first], ...forced]);
    this.memory = model.encode(source, trace);
    /** @type {any[]} */
    this.caches = [model.startCache()];
    this.length = 0; // how many tokens the search has read
    this.lastForced = Math.max(-1, ...forced.keys());
    this.limit = Math.max(Math.min(limit, max_length) || lengthLimit(source.length, max_length), Math.min(
      this.lastForced + 1, max_length
    ));
    this.given = given;
    this.ahead = this.readAhead();
  }

  /** The token that must be written at a position. @param {number} position */
  forcedAt(position) {
    return this.forced.get(position) ?? (position === this.limit - 1 ? this.specials.last : undefined);
  }

  /** Logits (T, V) after each of the newest tokens of a row. @param {number[]} ids @param {number} row */
  decode(ids, row) {
    return this.model.decode(ids, this.memory, this.trace, this.caches[row]);
  }

  /**
   * Read a prompt in one pass, up to its last token.
   * @returns {Float32Array[]} The log-probabilities after each token; none without a prompt.
   */
  readAhead() {
    if (!this.given) return [];
    const ids = Array.from({ length: this.given }, (_, i) => (i ? this.forced.get(i - 1) ?? 0 : this.specials.start));
    this.trace.nextPass(0);
    const { data, shape: [T, V] } = this.decode(ids, 0);
    return Array.from({ length: T }, (_, t) => logSoftmax(data.subarray(t * V, (t + 1) * V)));
  }

  /**
   * One pass of the decoder for each row.
   * @param {number[]} tokens The newest token of each row.
   * @returns {{ allowed: Float32Array[], forced: number | undefined, step: Step }} Log-probabilities for each row,
   *   minus infinity for each token that must not be written; the token that is forced; and the step, with the model's
   *   own distributions.
   */
  advance(tokens) {
    const position = this.length++, forced = this.forcedAt(position);
    /** @type {number[]} */
    const passes = [], ahead = this.ahead[position];
    const distributions = tokens.map((token, row) => {
      passes.push(ahead ? 1 : this.trace.nextPass(position));
      return ahead ?? logSoftmax(this.decode([token], row).data);
    });
    const allowed = distributions.map((logProbs) => allowedOf(logProbs, this.specials, forced));
    return { allowed, forced, step: { distributions, passes, branches: [] } };
  }

  /**
   * Whether this token of the latest pass ends the text. A forced token ends it only at the last forced place, and a
   * token of a prompt never does.
   */
  ends(token) {
    return this.specials.ends.includes(token) && this.length > Math.max(this.lastForced, this.given);
  }

  /** Take these rows for the next pass; a row may appear more than once. @param {number[]} rows */
  select(rows) {
    this.caches = rows.map((row, i) => (rows.indexOf(row) === i ? this.caches[row] : this.caches[row].copy()));
  }
}

/**
 * Write the most probable token at each step.
 * @param {Model} model @param {number[]} source @param {SearchOptions} [options] @returns {Search}
 */
export function* greedy(model, source, options) {
  return yield* writeOneByOne(new DecoderState(model, source, options), (logProbs) => largestIndices(logProbs, 1)[0]);
}

/**
 * @param {DecoderState} decoder At its start. @param {(logProbs: Float32Array) => number} choose A token.
 * @returns {Search}
 */
export function* writeOneByOne(decoder, choose) {
  let hypothesis = EMPTY_HYPOTHESIS, token = decoder.specials.start;
  while (!hypothesis.finished && hypothesis.ids.length < decoder.limit) {
    const { allowed: [logProbs], forced, step } = decoder.advance([token]);
    token = forced ?? choose(logProbs); // nothing is drawn there, so a prompt does not change a sample
    hypothesis = extended(hypothesis, token, step.distributions[0][token], 0, decoder.ends(token));
    yield { ...step, token };
  }
  return hypothesis;
}
