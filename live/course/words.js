// The words of a text, and of the tokens of a run.

/** The words of a text in their order, in small letters. @param {string} text */
export function wordList(text) {
  return text.toLowerCase().match(/[\p{L}\p{N}_]+/gu) ?? [];
}

/** The different words of a text, in small letters. @param {string} text */
export function wordsOf(text) {
  return new Set(wordList(text));
}

/**
 * The word to which a token belongs. A special token is a word of its own.
 * @param {Token[]} tokens
 * @param {number} index
 */
export function wordAt(tokens, index) {
  const { text, word } = tokens[index], others = word < 0 ? [] : tokens.filter((other) => other.word === word);
  const parts = others.map((other) => other.text.replace(/^·/, ""));
  return parts.join("").replace(/^␣+/, "") || text;
}
