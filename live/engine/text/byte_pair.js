// Byte-level byte-pair encoding, as model/text/byte_pair.py writes it: words are split into frequent subwords.
import { EngineError, require } from "../errors.js";
import { SPECIAL_TOKENS } from "./vocab.js";

const MAX_BYTES = 1 << 14; // of a text: the time grows with the square of its longest word
const NONE = 2 ** 31 - 1; // the rank of two symbols that do not merge
const CONTINUES = "·"; // shown before a subword that continues a word
const HAN = /(\p{Script=Han})/u; // Chinese has no spaces, so each character is a word
const STARTS_WITH_HAN = /^(?![\uFA0E-\uFA29])\p{Unified_Ideograph}/u;
const STARTS_WITH_LETTER = /^[\p{L}\p{N}]/u;
// The words of GPT-2 (Radford et al. 2019). \s of JavaScript is not the white space of Unicode.
const WORDS = /'(?:[stmd]|re|ve|ll)| ?\p{L}+| ?\p{N}+| ?[^\p{White_Space}\p{L}\p{N}]+|\p{White_Space}+(?!\P{White_Space})|\p{White_Space}+/gu;

const encoder = new TextEncoder();

/** Add a leading space, so that a word is the same token at the start of a text and inside it; not for Chinese. */
function spaced(text) {
  return text === "" || STARTS_WITH_HAN.test(text) ? text : ` ${text}`;
}

/** @param {string} text @returns {string[]} The words that are merged separately. */
function preTokenized(text) {
  return text.split(HAN).flatMap((part) => part.match(WORDS) ?? []);
}

/** The printable character that byte-level BPE writes for each byte, by its number. */
function charactersOfBytes() {
  const printable = (byte) => (byte > 32 && byte < 127) || (byte > 160 && byte < 256 && byte !== 173);
  let others = 256;
  return Array.from({ length: 256 }, (_, byte) => String.fromCharCode(printable(byte) ? byte : others++));
}

/** Every text has ids, and `decode(encode(text))` returns the text. */
export class BytePairTokenizer {
  /** @param {string} json The contents of `tokenizer.json`. */
  constructor(json) {
    try {
      this.read(JSON.parse(json));
    } catch (error) {
      const reason = error instanceof EngineError ? error.message : "It is damaged.";
      throw new EngineError("tokenizer-damaged", `tokenizer.json is not a byte-pair tokenizer of Headlight. ${reason}`);
    }
  }

  /** Take the vocabulary and the merges. The other steps must be ours, so that they give the same ids. */
  read({ model, normalizer, pre_tokenizer: { type, pretokenizers: [split, level] } }) {
    const ours = type === "Sequence" && split.pattern.Regex === "\\p{Han}" && split.behavior === "Isolated" && !split.invert
      && level.type === "ByteLevel" && level.use_regex && !level.add_prefix_space && !normalizer
      && model.type === "BPE" && !model.byte_fallback && !model.ignore_merges && !model.end_of_word_suffix && !model.continuing_subword_prefix;
    require(ours, "", "Its steps before the merges differ.");
    /** @type {Map<string, number>} */
    const vocab = new Map(Object.entries(model.vocab));
    /** @type {string[]} */
    const tokens = [];
    for (const [token, id] of vocab) tokens[id] = token;
    const numbered = vocab.size === tokens.length && !tokens.includes(/** @type {any} */ (undefined));
    require(numbered && SPECIAL_TOKENS.every((token, id) => tokens[id] === token), "", "The ids of its tokens are not 0, 1, 2 and so on.");
    const characters = charactersOfBytes(), byteOf = new Map(characters.map((character, byte) => [character, byte]));
    this.size = tokens.length;
    this.idOfByte = characters.map((character) => vocab.get(character) ?? -1);
    require(!this.idOfByte.includes(-1), "", "It does not have a token for each byte.");
    this.bytes = tokens.map((token, id) => Uint8Array.from(id < SPECIAL_TOKENS.length ? [] : [...token].map((c) => byteOf.get(c) ?? 0)));
    /** @type {Map<number, number>} Two neighbours → the rank of their merge. Low ranks are merged first. */
    this.ranks = new Map();
    this.merged = Int32Array.from(model.merges, ([a, b], rank) => {
      const ids = [vocab.get(a), vocab.get(b), vocab.get(a + b)];
      require(ids.every((id) => id !== undefined), "", `Its merge ${rank + 1} has no token.`);
      this.ranks.set(/** @type {number} */ (ids[0]) * this.size + /** @type {number} */ (ids[1]), rank);
      return /** @type {number} */ (ids[2]);
    });
  }

  /** @param {string} text @returns {number[]} The ids, without special tokens. */
  encode(text) {
    const pieces = preTokenized(spaced(text.slice(0, MAX_BYTES + 1))).map((word) => encoder.encode(word));
    const length = pieces.reduce((sum, piece) => sum + piece.length, 0);
    require(length <= MAX_BYTES + 1, "text-too-long", `The text has more than ${MAX_BYTES} bytes. Shorten it.`);
    return pieces.flatMap((piece) => this.merge(piece));
  }

  /**
   * Merge the neighbours with the lowest rank until none can merge (Sennrich et al. 2016, algorithm 1).
   * @param {Uint8Array} word
   * @returns {number[]}
   */
  merge(word) {
    const ids = Array.from(word, (byte) => this.idOfByte[byte]);
    const rankAt = (i) => this.ranks.get(ids[i] * this.size + ids[i + 1]) ?? NONE;
    const ranks = ids.map((_, i) => (i + 1 < ids.length ? rankAt(i) : NONE));
    for (;;) {
      let best = 0;
      for (let i = 1; i < ranks.length; i++) if (ranks[i] < ranks[best]) best = i;
      if (!ids.length || ranks[best] === NONE) return ids;
      ids.splice(best, 2, this.merged[ranks[best]]);
      ranks.splice(best, 1);
      for (const i of [best - 1, best]) if (i >= 0 && i + 1 < ids.length) ranks[i] = rankAt(i);
      ranks[ids.length - 1] = NONE;
    }
  }

  /** @param {number[]} ids */
  decode(ids) {
    const text = this.raw(ids);
    return text.startsWith(" ") ? text.slice(1) : text;
  }

  /** The text of ids with its leading space. */
  raw(ids) {
    return new TextDecoder("utf-8", { ignoreBOM: true }).decode(Uint8Array.from(ids.flatMap((id) => [...this.bytes[id]])));
  }

  /** The text of each id as shown on the screen. @param {number[]} ids @returns {string[]} */
  tokens(ids) {
    return ids.map((id) => this.shown(id));
  }

  shown(id) {
    if (id < SPECIAL_TOKENS.length) return SPECIAL_TOKENS[id];
    let text = "";
    try {
      text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(this.bytes[id]);
    } catch {
      return `⟨${[...this.bytes[id]].map((byte) => byte.toString(16).padStart(2, "0").toUpperCase()).join(" ")}⟩`;
    }
    if (text.startsWith(" ")) return text.slice(1) || "␣";
    return STARTS_WITH_LETTER.test(text) && !STARTS_WITH_HAN.test(text) ? CONTINUES + text : text;
  }

  /** For each id the word that it belongs to, counted from 0. @param {number[]} ids @returns {number[]} */
  words(ids) {
    const starts = new Set();
    let end = 0;
    for (const word of preTokenized(this.raw(ids))) {
      starts.add(end);
      end += encoder.encode(word).length;
    }
    let word = -1, position = 0;
    return ids.map((id) => {
      if (id < SPECIAL_TOKENS.length || starts.has(position) || word < 0) word++;
      position += this.bytes[id].length;
      return word;
    });
  }
}
