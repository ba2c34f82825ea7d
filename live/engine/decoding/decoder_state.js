// The decoder with the state that every search moves forward: caches, forced tokens, banned tokens, the limit.
import { logSoftmax } from "../tensor.js";
import { BANNED, EOS_ID } from "../text/vocab.js";
import { NO_TRACE } from "../trace.js";

/** How many tokens a translation may have: enough for a real translation, too few for endless repetition. */
export function lengthLimit(sourceLength, maxLength) {
  return Math.min(maxLength, Math.floor((sourceLength * 3) / 2) + 8);
}

/** Minus infinity for each token that must not be written. @param {Float32Array} logProbs @param {number} [forced] */
function allowedOf(logProbs, forced) {
  const allowed = logProbs.slice(), ends = Number.isNaN(logProbs[0]); // where the model gives no numbers, the text ends
  const only = forced ?? (ends ? EOS_ID : undefined);
  if (only === undefined) for (const id of BANNED) allowed[id] = -Infinity;
  else allowed.fill(-Infinity)[only] = ends ? 0 : logProbs[only];
  return allowed;
}

export class DecoderState {
  /**
   * Encode the source.
   * @param {Translator} model @param {number[]} source Token ids. @param {SearchOptions} [options]
   */
  constructor(model, source, { forced = new Map(), limit = 0, trace = NO_TRACE } = {}) {
    const { max_length } = model.config;
    this.model = model;
    this.trace = trace;
    this.forced = forced;
    this.memory = model.encode(source, trace);
    this.caches = [model.startCache()];
    this.length = 0; // how many tokens the search has read
    this.lastForced = Math.max(-1, ...forced.keys());
    this.limit = Math.max(Math.min(limit, max_length) || lengthLimit(source.length, max_length), Math.min(
      this.lastForced + 1, max_length
    ));
  }

  /**
   * One pass of the decoder for each row.
   * @param {number[]} tokens The newest token of each row.
   * @returns {{ allowed: Float32Array[], step: Step }} Log-probabilities for each row, minus infinity for each token
   *   that must not be written; and the step, with the model's own distributions.
   */
  advance(tokens) {
    const position = this.length++, forced = this.forced.get(position);
    /** @type {number[]} */
    const passes = [];
    const distributions = tokens.map((token, row) => {
      passes.push(this.trace.nextPass(position));
      return logSoftmax(this.model.decode([token], this.memory, this.trace, this.caches[row]).data);
    });
    const allowed = distributions.map((logProbs) => allowedOf(logProbs, forced));
    return { allowed, step: { distributions, passes, branches: [] } };
  }

  /** Whether this token of the latest pass ends the text. A forced token ends it only at the last forced place. */
  ends(token) {
    return token === EOS_ID && this.length > this.lastForced;
  }

  /** Take these rows for the next pass; a row may appear more than once. @param {number[]} rows */
  select(rows) {
    this.caches = rows.map((row, i) => (rows.indexOf(row) === i ? this.caches[row] : this.caches[row].copy()));
  }
}
