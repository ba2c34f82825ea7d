// Greedy search, and the decoder that it moves forward.
import { logSoftmax } from "../tensor.js";
import { NO_TRACE } from "../trace.js";

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

/** The entropy of a distribution in nats: how uncertain the model was. @param {Float32Array} logProbs */
export function entropyOf(logProbs) {
  let entropy = 0;
  for (const value of logProbs) if (value !== -Infinity) entropy -= Math.exp(value) * value;
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
   * @param {Model} model @param {number[]} source Token ids. @param {SearchOptions} options
   */
  constructor(model, source, options) {
    const { specials, forced = new Map(), limit = 0, given = 0, trace = NO_TRACE } = options;
    const { max_length } = model.config, { first = null } = specials;
    this.model = model;
    this.trace = trace;
    this.specials = specials;
    this.fixed = first !== null && !forced.has(0);
    this.forced = this.fixed ? new Map([[0, first], ...forced]) : forced;
    this.memory = model.encode(source, trace);
    this.cache = model.startCache();
    this.source = source;
    /** @type {number[]} */
    this.ids = []; // what it has read
    this.lastForced = Math.max(-1, ...forced.keys());
    this.limit = Math.max(Math.min(limit, max_length) || lengthLimit(
      source.length, max_length, specials.rules?.fewest
    ), Math.min(this.lastForced + 1, max_length));
    this.given = given;
    this.ahead = this.readAhead();
  }

  /** Logits (T, V) after each of the newest tokens. @param {number[]} ids */
  decode(ids) {
    return this.model.decode(ids, this.memory, this.trace, this.cache);
  }

  /**
   * Read a prompt in one pass, up to its last token.
   * @returns {Float32Array[]} The log-probabilities after each token; none without a prompt.
   */
  readAhead() {
    if (!this.given) return [];
    const ids = Array.from({ length: this.given }, (_, i) => (i ? this.forced.get(i - 1) ?? 0 : this.specials.start));
    this.trace.nextPass(0);
    const { data, shape: [T, V] } = this.decode(ids);
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
   * One pass of the decoder.
   * @param {number} token The newest one.
   * @returns {{ allowed: Float32Array, forced: number | undefined, logProbs: Float32Array, fixed: boolean }} Scores:
   *   log-probabilities, or logits with the changes of the model's rules; minus infinity for each token that must not
   *   be written. The token that is forced; and the model's own distribution.
   */
  advance(token) {
    const position = this.ids.length, forced = this.forced.get(position), ahead = this.ahead[position];
    this.ids.push(token);
    if (!ahead) this.trace.nextPass(position);
    const logits = ahead ?? this.decode([token]).data, logProbs = ahead ?? logSoftmax(logits);
    return { allowed: this.allowedOf(logProbs, logits, forced), forced, logProbs, fixed: this.fixed && !position };
  }

  /**
   * Whether this token of the latest pass ends the text. A forced token ends it only at the last forced place, and a
   * token of a prompt never does.
   */
  ends(token) {
    return this.specials.ends.includes(token) && this.ids.length > Math.max(this.lastForced, this.given);
  }
}

/**
 * Write the most probable token at each step.
 * @param {Model} model @param {number[]} source @param {SearchOptions} options
 * @returns {Generator<Step, { ids: number[], finished: boolean }>} `finished`: it wrote the token that ends a text.
 */
export function* greedy(model, source, options) {
  const decoder = new DecoderState(model, source, options), ids = /** @type {number[]} */ ([]);
  let token = decoder.specials.start, finished = false;
  while (!finished && ids.length < decoder.limit) {
    const { allowed, forced, logProbs, fixed } = decoder.advance(token);
    token = forced ?? largestIndices(allowed, 1)[0];
    ids.push(token);
    finished = decoder.ends(token);
    yield { token, logProbs, fixed };
  }
  return { ids, finished };
}
