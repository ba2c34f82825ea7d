// Tokens that are taken out of a text before it is cut, such as [MASK].
import { requireSound } from "./damage.js";
import { spacesAt } from "./library_parts.js";

const MAX_CONTENT = 100, MAX_ADDED = 20_000; // characters; tokens beside the vocabulary
/** The settings of a special token in older folders. */
export const FLAGS = { single_word: false, lstrip: false, rstrip: false, normalized: false, special: true };
const WORD_BEFORE = /[\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\p{Join_Control}]$/u;
const WORD_AFTER = /^[\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\p{Join_Control}]/u;

/**
 * A function that cuts a text at tokens: the leftmost one, and of several at one place the longest. It returns texts,
 * and ids of tokens.
 * @param {AddedToken[]} tokens
 * @returns {(text: string) => (string | number)[]}
 */
export function cutAtTokens(tokens) {
  const known = new Map(tokens.map((token) => [token.content, token]));
  /** First character → lengths, the longest first. @type {Map<string, number[]>} */
  const lengths = new Map();
  for (const { content } of tokens) lengths.set(content[0], [...new Set(lengths.get(content[0])).add(content.length)]);
  for (const all of lengths.values()) all.sort((a, b) => b - a);
  return (text) => {
    const parts = [];
    let end = 0;
    for (let at = 0; at < text.length;) {
      const length = lengths.get(text[at])?.find((size) => known.has(text.slice(at, at + size)));
      const token = length && known.get(text.slice(at, at + length));
      if (!token) {
        at++;
        continue;
      }
      const after = at + token.content.length, follows = text.slice(after);
      const isInWord = WORD_BEFORE.test(text.slice(Math.max(at - 2, 0), at)) || WORD_AFTER.test(follows.slice(0, 2));
      if (!(token.single_word && isInWord)) {
        const start = token.lstrip ? at - spacesAt(text.slice(end, at), -1) : at;
        if (end < start) parts.push(text.slice(end, start));
        parts.push(token.id);
        end = token.rstrip ? after + spacesAt(follows, 1) : after;
      }
      at = after;
    }
    return end < text.length ? [...parts, text.slice(end)] : parts;
  };
}

/** The added tokens of a file. @param {unknown} list @param {Map<string, number>} vocabulary @returns {AddedToken[]} */
export function addedTokens(list, vocabulary) {
  requireSound(Array.isArray(list) && list.length <= MAX_ADDED);
  return list.filter(({ content }) => content !== "").map((token) => {
    const { content } = token, id = vocabulary.get(content) ?? token.id;
    requireSound(typeof content === "string" && content.length <= MAX_CONTENT);
    return { ...token, content, id };
  });
}
