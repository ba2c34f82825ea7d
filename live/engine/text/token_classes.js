// The class of a token, as in model/atlas/token_classes.py.

const SPACE = String.raw`[\p{Z}\t-\r\x1c-\x1f\x85]`; // what Python removes from the ends of a text
const ENDS = new RegExp(`^·?${SPACE}*|${SPACE}*$`, "gu");
const UNREADABLE = /^⟨../su; // bytes, or an id without a text
const PUNCTUATION = /^[\p{P}\p{S}\p{Z}]*$/u, NUMBER = /^[\p{N}\p{P}\p{S}]*$/u;

/**
 * "special", "punctuation", "number", "first" or "later".
 * @param {{ text: string, word: number }[]} tokens Of a text; the word of a special token is negative.
 * @param {number} i The place of the token.
 */
export function tokenClass(tokens, i) {
  const { text, word } = tokens[i], own = text.replace(ENDS, ""), readable = !UNREADABLE.test(own);
  if (word < 0) return "special";
  if (readable && PUNCTUATION.test(own)) return "punctuation";
  if (readable && NUMBER.test(own)) return "number";
  return word === tokens[i - 1]?.word ? "later" : "first";
}
