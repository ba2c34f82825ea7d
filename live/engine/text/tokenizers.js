// Byte-pair encoding, as model/text/tokenizers.py has it: words are split into frequent subwords.
import { EngineError, N_, require } from "../errors.js";
import { parseJson } from "../json.js";
import { clean } from "./cleaning.js";
import { BYTE_CHARACTERS, bytesOf, charactersOf, shownBytes, toBytes, toText } from "./shown_bytes.js";
import { SPECIAL_TOKENS } from "./vocab.js";

export const MAX_TOKENS = 1 << 19; // of a vocabulary; those of 100 languages have up to 262,000
export const MAX_BYTES = 1 << 14; // of a text: the time grows with the square of its longest piece
const NOT_OURS = N_("tokenizer.json is damaged, or it is not a byte-pair tokenizer of Headlight. Copy it again.");
const DAMAGED_MERGES = N_("tokenizer.json is damaged: its merges or its special tokens have no ids.");
const NONE = 2 ** 31 - 1; // the rank of two symbols that do not merge
const MAX_MARK = 64; // characters of what marks a symbol inside a word and at its end
const CONTINUES = "·"; // shown before a subword that continues a word
const HAN = /(\p{Script=Han})/u; // Chinese has no spaces, so each character is a word
const STARTS_WITH_HAN = /^(?![\uFA0E-\uFA29])\p{Unified_Ideograph}/u;
const STARTS_WITH_LETTER = /^[\p{L}\p{N}]/u;
// The words of GPT-2 (Radford et al. 2019). \s of JavaScript is not the white space of Unicode.
const WORDS = new RegExp(
  String.raw`'(?:[stmd]|re|ve|ll)| ?\p{L}+| ?\p{N}+| ?[^\p{White_Space}\p{L}\p{N}]+`
  + String.raw`|\p{White_Space}+(?!\P{White_Space})|\p{White_Space}+`, "gu",
);

/** A token inside a word as shown on the screen. @param {string} text */
export function continued(text) {
  return STARTS_WITH_LETTER.test(text) && !STARTS_WITH_HAN.test(text) ? CONTINUES + text : text;
}

/** The words of a text, each with the space before it. @param {string} text @returns {string[]} */
export function wordsOf(text) {
  return text.match(WORDS) ?? [];
}

export function tooLong() {
  return new EngineError(
    "text-too-long", N_("The text has more than {limit} bytes. Shorten it."), { limit: MAX_BYTES }
  );
}

/** @param {string} text */
export function requireLength(text) {
  if (text.length > MAX_BYTES || toBytes(text).length > MAX_BYTES) throw tooLong();
}

const byteToken = (byte) => `<0x${byte.toString(16).toUpperCase().padStart(2, "0")}>`;

/** The tokens of the bytes of a text, if the vocabulary has all of them. @param {Map<string, number>} vocabulary */
export function byteIds(vocabulary, text) {
  const ids = Array.from(toBytes(text), (byte) => vocabulary.get(byteToken(byte)));
  return ids.includes(undefined) ? null : /** @type {number[]} */ (ids);
}

/** Raises a sentence if the vocabulary has no token for unknown text. @returns {number} */
export function known(id) {
  require(id !== undefined, "tokenizer-damaged", N_("The tokenizer has no token for a part of the text."));
  return id;
}

/** Byte-pair encoding (Sennrich et al. 2016). @param {Map<string, number>} vocabulary */
export function bytePairs(settings, vocabulary) {
  const { unk_token, byte_fallback, fuse_unk, ignore_merges, dropout } = settings;
  const prefix = settings.continuing_subword_prefix ?? "", suffix = settings.end_of_word_suffix ?? "";
  require(prefix.length + suffix.length <= MAX_MARK, "tokenizer-damaged", DAMAGED_MERGES);
  require(!dropout, "tokenizer-unsupported", N_(
    "The tokenizer leaves out merges at random (dropout), so a text has no fixed tokens."
  ));
  const idOf = (token) => {
    const id = vocabulary.get(token);
    require(id !== undefined, "tokenizer-damaged", DAMAGED_MERGES);
    return id;
  };
  require(!(settings.merges.length > MAX_TOKENS), "tokenizer-damaged", DAMAGED_MERGES);
  const pairs = settings.merges.map((pair) => (typeof pair === "string" ? pair.split(" ") : pair));
  /** Two neighbours → the rank of their merge. Low ranks are merged first. */
  const ranks = new Map(pairs.map(([a, b], rank) => [idOf(a) * MAX_TOKENS + idOf(b), rank]));
  const merged = Int32Array.from(pairs, ([a, b]) => idOf(a + b.slice(prefix.length)));

  /** The ids before the first merge. @param {string} text */
  function symbols(text) {
    const ids = [], characters = [...text];
    let isUnknown = false; // the token of an unknown character comes before the next known one, as in the library
    const end = () => {
      if (isUnknown) ids.push(known(vocabulary.get(unk_token)));
      isUnknown = false;
    };
    characters.forEach((character, i) => {
      const token = (i ? prefix : "") + character + (i === characters.length - 1 ? suffix : "");
      const id = vocabulary.get(token), bytes = id === undefined && byte_fallback && byteIds(vocabulary, token);
      if (id !== undefined) {
        end();
        ids.push(id);
      } else if (bytes) ids.push(...bytes);
      else if (unk_token != null) {
        if (!fuse_unk) end();
        isUnknown = true;
      }
    });
    end();
    return ids;
  }

  return (text) => {
    const whole = ignore_merges ? vocabulary.get(text) : undefined;
    if (whole !== undefined) return [whole];
    const ids = symbols(text), rankAt = (i) => ranks.get(ids[i] * MAX_TOKENS + ids[i + 1]) ?? NONE;
    const found = ids.map((_, i) => rankAt(i));
    for (;;) { // merge the neighbours with the lowest rank until none can merge (algorithm 1)
      let best = 0;
      for (let i = 1; i < found.length; i++) if (found[i] < found[best]) best = i;
      if (!(found[best] < NONE)) return ids;
      ids.splice(best, 2, merged[found[best]]);
      found.splice(best, 1);
      if (best > 0) found[best - 1] = rankAt(best - 1);
      found[best] = rankAt(best);
    }
  };
}

/** Whether the steps around the merges are ours, so that they give the same ids. */
function isOurs({ model, normalizer, pre_tokenizer: { type, pretokenizers: [split, level] } }) {
  const { pattern: { Regex: pattern }, behavior, invert } = split;
  return type === "Sequence" && pattern === "\\p{Han}" && behavior === "Isolated" && !invert && !normalizer
    && level.type === "ByteLevel" && level.use_regex && !level.add_prefix_space && model.type === "BPE"
    && !(model.byte_fallback || model.ignore_merges || model.end_of_word_suffix || model.continuing_subword_prefix);
}

/** Our own tokenizer. Every text has ids, and `decode(encode(text))` is `clean(text)`. */
export class BytePairTokenizer {
  /** @param {string} json The contents of `tokenizer.json`. */
  constructor(json) {
    try {
      const values = parseJson(json), vocabulary = new Map(Object.entries(values.model.vocab));
      require(isOurs(values), "tokenizer-damaged", NOT_OURS);
      this.tokens = [...vocabulary].sort(([, a], [, b]) => a - b).map(([token]) => token);
      this.subwords = bytePairs(values.model, vocabulary);
      const isWhole = this.tokens.every((token, id) => vocabulary.get(token) === id)
        && SPECIAL_TOKENS.every((token, id) => this.tokens[id] === token)
        && BYTE_CHARACTERS.every((token) => vocabulary.has(token));
      require(isWhole, "tokenizer-damaged", NOT_OURS);
    } catch (error) {
      if (error instanceof EngineError) throw error;
      throw new EngineError("tokenizer-damaged", NOT_OURS);
    }
  }

  /** The number of ids. */
  get size() {
    return this.tokens.length;
  }

  /** The ids of a text, without special tokens. @param {string} typed @returns {number[]} */
  encode(typed) {
    requireLength(typed);
    const text = clean(typed.toWellFormed());
    // A leading space, so that a word is the same token at the start of a text and inside it; not for Chinese.
    const spaced = text === "" || STARTS_WITH_HAN.test(text) ? text : ` ${text}`;
    return apart(spaced).map(charactersOf).flatMap(this.subwords);
  }

  /** @param {number[]} ids */
  decode(ids) {
    return this.raw(ids).replace(/^ /, "");
  }

  /** The text of ids with its leading space, without special tokens. @param {number[]} ids */
  raw(ids) {
    const written = ids.filter((id) => id >= SPECIAL_TOKENS.length).map((id) => this.tokens[id]).join("");
    return toText(bytesOf(written) ?? new Uint8Array(), false);
  }

  /** A token as shown on the screen. @param {number} id */
  shown(id) {
    if (id < SPECIAL_TOKENS.length) return SPECIAL_TOKENS[id];
    const text = shownBytes(bytesOf(this.tokens[id]) ?? new Uint8Array());
    return text.startsWith(" ") ? text.slice(1) || "␣" : continued(text);
  }

  /** For each id the word that it belongs to, counted from 0. @param {number[]} ids */
  words(ids) {
    let end = 0, word = -1, position = 0;
    const starts = new Set([0]);
    for (const text of apart(this.raw(ids))) {
      end += toBytes(text).length;
      starts.add(end);
    }
    return ids.map((id) => {
      const isSpecial = id < SPECIAL_TOKENS.length;
      if (isSpecial || starts.has(position) || word < 0) word++;
      position += isSpecial ? 0 : this.tokens[id].length; // one printable character for each byte
      return word;
    });
  }
}

/** What is merged separately: words, and each Chinese character. @param {string} text */
function apart(text) {
  return text.split(HAN).flatMap(wordsOf);
}
