// The classes of tokens, as in model/atlas/token_classes.py.
import { shownBytes } from "../text/shown_bytes.js";

const BYTES = /^(⟨[\dA-F]{2}( [\dA-F]{2})*⟩)+$/; // as `shownBytes` writes bytes that are no whole character
const SPACE = String.raw`[\p{Z}\t-\r\x1c-\x1f\x85]`; // what Python removes from the ends of a text
const ENDS = new RegExp(`^·?${SPACE}*|${SPACE}*$`, "gu");
const UNREADABLE = /^⟨../su; // bytes of no character, or an id without a text
const PUNCTUATION = /^[\p{P}\p{S}\p{Z}]*$/u, NUMBER = /^[\p{N}\p{P}\p{S}]*$/u;

/**
 * The class of each token of a text: "special", "punctuation", "number", "first" or "later".
 * @param {{ text: string, word: number }[]} tokens The word of a special token is negative.
 */
export function tokenClasses(tokens) {
  let begun = -1; // the last word with a token of content
  return wholeTexts(tokens).map((text, i) => {
    const { word } = tokens[i], kind = word < 0 ? "special" : classOfText(text) ?? (word === begun ? "later" : "first");
    if (kind !== "special" && kind !== "punctuation") begun = word;
    return kind;
  });
}

/** The texts of tokens; those that are bytes of a character of one word become this character, each of them. */
function wholeTexts(tokens) {
  const isBytes = tokens.map(({ text }) => BYTES.test(text)), texts = tokens.map(({ text }) => text);
  for (let first = 0, i = 1; i <= tokens.length; i++) {
    if (isBytes[i] && isBytes[first] && tokens[i].word === tokens[first].word) continue;
    if (isBytes[first]) texts.fill(characterOf(texts.slice(first, i).join("")), first, i);
    first = i;
  }
  return texts;
}

/** The character of bytes, or the bytes if they are none. @param {string} bytes */
function characterOf(bytes) {
  const shown = shownBytes(Uint8Array.from(bytes.match(/[\dA-F]{2}/g) ?? [], (byte) => Number.parseInt(byte, 16)));
  return BYTES.test(shown) ? bytes : shown;
}

/** The class that follows from the text of a token alone, if one does. @param {string} token */
function classOfText(token) {
  const text = token.replace(ENDS, "");
  if (UNREADABLE.test(text)) return undefined;
  return PUNCTUATION.test(text) ? "punctuation" : NUMBER.test(text) ? "number" : undefined;
}
