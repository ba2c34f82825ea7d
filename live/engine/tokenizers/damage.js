// What every reader of a tokenizer's files says about files that cannot be what a library wrote.
import { N_, require } from "../errors.js";

/**
 * @param {unknown} condition Holds for sound files. @param {string} [sentence] Says what is damaged.
 * @returns {asserts condition}
 */
export function requireSound(condition, sentence = N_("The tokenizer is damaged. Copy its files again.")) {
  require(condition, "tokenizer-damaged", sentence);
}
