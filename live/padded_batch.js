// A few sentences, with their translations, as one padded batch.
import { times } from "./assets/numbers.js";
import { firstOf } from "./text_limit.js";

export const LONGEST_OF_BATCH = 400; // characters of a sentence

/**
 * The sentences of the batch: the visitor's, or those of the checkpoint. Some may be empty.
 * @param {{ choices: import("./choices.js").Choices, listed: import("./session.js").Site }} chosen
 * @returns {[string, string][]} The choice that holds each sentence, and the sentence.
 */
export function batchFields({ choices, listed }) {
  const names = [1, 2, 3, 4].map((n) => `batch_${listed.languages[0]}_${n}`);
  return names.map((name, i) => [name, firstOf(choices[name] ?? listed.batch[i] ?? "", LONGEST_OF_BATCH)]);
}

/**
 * The sentence that the visitor chose, counted from 0.
 * @param {string} choice It counts from 1. @param {number} sentences
 */
export function chosenSentence(choice, sentences) {
  return Math.min(Math.max(Number(choice), 1), sentences) - 1;
}

/**
 * The sources and targets of a batch as ids, all of one length. The id of `<pad>` is 0.
 * @param {Translation[]} translations
 */
export function padded(translations) {
  const longest = (side) => Math.max(...translations.map((one) => one[side].length));
  const filled = (side) => translations.map((one) => times(longest(side), (i) => one[side][i]?.id ?? 0));
  return { source: filled("source"), read: filled("read") };
}
