// Greedy search, and the loop that it shares with sampling: one token per step.
import { DecoderState } from "./decoder_state.js";
import { EMPTY_HYPOTHESIS, extended, largestIndices } from "./search.js";

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
