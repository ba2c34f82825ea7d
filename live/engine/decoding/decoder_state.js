// The decoder with the state that every search moves forward: caches, forced tokens, banned tokens, the limit.
import { logSoftmax } from "../tensor.js";
import { OUR_SPECIALS } from "../text/vocab.js";
import { NO_TRACE } from "../trace.js";

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
