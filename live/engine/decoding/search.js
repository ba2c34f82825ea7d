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
export function lengthLimit(sourceLength, maxLength, fewest = 0) {
  return Math.min(maxLength, Math.max(Math.floor((sourceLength * 3) / 2), fewest) + 8);
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
    this.fixed = first !== null && !forced.has(0);
    this.forced = this.fixed ? new Map([[0, first], ...forced]) : forced;
    this.memory = model.encode(source, trace);
    /** @type {any[]} */
    this.caches = [model.startCache()];
    this.source = source;
    /** @type {number[]} */
    this.ids = []; // what the first row has read; rules are for a search with one row
    this.length = 0; // how many tokens the search has read
    this.lastForced = Math.max(-1, ...forced.keys());
    this.limit = Math.max(Math.min(limit, max_length) || lengthLimit(
      source.length, max_length, specials.rules?.fewest
    ), Math.min(this.lastForced + 1, max_length));
    this.given = given;
    this.ahead = this.readAhead();
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
   * Minus infinity for each token that must not be written. Where the model gives no numbers, the text ends.
   * @param {Float32Array} logProbs @param {Float32Array} logits The rules of a model change them.
   * @param {number} [forced]
   */
  allowedOf(logProbs, logits, forced) {
    const { banned, ends: [end], rules } = this.specials;
    const allowed = (rules ? logits : logProbs).slice();
    if (forced !== undefined) return allowed.fill(-Infinity).fill(logProbs[forced] || 0, forced, forced + 1);
    rules?.change(allowed, this);
    for (const id of banned) allowed[id] = -Infinity;
    return allowed.some(Number.isNaN) ? allowed.fill(-Infinity).fill(0, end, end + 1) : allowed;
  }

  /**
   * One pass of the decoder for each row.
   * @param {number[]} tokens The newest token of each row.
   * @returns {{ allowed: Float32Array[], forced: number | undefined, step: Step }} Scores for each row:
   *   log-probabilities, or logits with the changes of the model's rules; minus infinity for each token that must not
   *   be written. The token that is forced; and the step, with the model's own distributions.
   */
  advance(tokens) {
    const position = this.length++, forced = this.forced.get(position), ahead = this.ahead[position];
    /** @type {number[]} */
    const passes = [];
    /** @type {Float32Array[]} */
    const allowed = [];
    this.ids.push(tokens[0]);
    const distributions = tokens.map((token, row) => {
      passes.push(ahead ? 1 : this.trace.nextPass(position));
      const logits = ahead ?? this.decode([token], row).data, logProbs = ahead ?? logSoftmax(logits);
      allowed.push(this.allowedOf(logProbs, logits, forced));
      return logProbs;
    });
    return { allowed, forced, step: { distributions, passes, branches: [], fixed: this.fixed && !position } };
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
