// Greedy search, and the loop that it shares with sampling: one token per step.
import { BOS_ID } from "../text/vocab.js";
import { DecoderState } from "./decoder_state.js";
import { EMPTY_HYPOTHESIS, extended } from "./search.js";

/**
 * Write the most probable token at each step.
 * @param {import("../network/translators.js").Translator} model
 * @param {number[]} source Token ids.
 * @param {import("./decoder_state.js").SearchOptions} [options]
 * @returns {import("./search.js").Search}
 */
export function* greedy(model, source, options) {
  return yield* writeOneByOne(new DecoderState(model, source, options), (logProbs) =>
    logProbs.reduce((best, value, i) => (value > logProbs[best] ? i : best), 0));
}

/**
 * Write one token per step.
 * @param {DecoderState} decoder At its start.
 * @param {(logProbs: Float32Array) => number} choose From log-probabilities to a token.
 * @returns {import("./search.js").Search}
 */
export function* writeOneByOne(decoder, choose) {
  let hypothesis = EMPTY_HYPOTHESIS, token = BOS_ID;
  while (!hypothesis.finished && hypothesis.ids.length < decoder.limit) {
    const { allowed: [logProbs], step } = decoder.advance([token]);
    token = choose(logProbs);
    hypothesis = extended(hypothesis, token, logProbs[token], 0, decoder.ends(token));
    yield { ...step, tokens: [token] };
  }
  return hypothesis;
}
