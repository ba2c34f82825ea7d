// Byte-level byte-pair encoding, as model/text/byte_pair.py writes it: words are split into frequent subwords.
import { EngineError, N_, require } from "../errors.js";
import { clean } from "./cleaning.js";
import { SPECIAL_TOKENS } from "./vocab.js";

const MAX_BYTES = 1 << 14; // of a text: the time grows with the square of its longest word
const BAD = "tokenizer-damaged";
const NONE = 2 ** 31 - 1; // the rank of two symbols that do not merge
const CONTINUES = "·"; // shown before a subword that continues a word
const HAN = /(\p{Script=Han})/u; // Chinese has no spaces, so each character is a word
const STARTS_WITH_HAN = /^(?![\uFA0E-\uFA29])\p{Unified_Ideograph}/u;
const STARTS_WITH_LETTER = /^[\p{L}\p{N}]/u;
// The words of GPT-2 (Radford et al. 2019). \s of JavaScript is not the white space of Unicode.
const WORDS = new RegExp(
  String.raw`'(?:[stmd]|re|ve|ll)| ?\p{L}+| ?\p{N}+| ?[^\p{White_Space}\p{L}\p{N}]+`
  + String.raw`|\p{White_Space}+(?!\P{White_Space})|\p{White_Space}+`, "gu",
);

const toBytes = (text) => new TextEncoder().encode(text);
const toText = (bytes, fatal) => new TextDecoder("utf-8", { fatal, ignoreBOM: true }).decode(bytes);

/** Add a leading space, so that a word is the same token at the start of a text and inside it; not for Chinese. */
function spaced(text) {
  return text === "" || STARTS_WITH_HAN.test(text) ? text : ` ${text}`;
}

/** The words that are merged separately. @param {string} text */
function preTokenized(text) {
  return text.split(HAN).flatMap((part) => part.match(WORDS) ?? []);
}

/** The printable character that byte-level BPE writes for each byte, by its number. */
function charactersOfBytes() {
  const printable = (byte) => (byte > 32 && byte < 127) || (byte > 160 && byte !== 173);
  let others = 256;
  return Array.from({ length: 256 }, (_, byte) => String.fromCharCode(printable(byte) ? byte : others++));
}

/** Whether the steps around the merges are ours, so that they give the same ids. */
function isOurs({ model, normalizer, pre_tokenizer: { type, pretokenizers: [split, level] } }) {
  const { pattern: { Regex: pattern }, behavior, invert } = split;
  return type === "Sequence" && pattern === "\\p{Han}" && behavior === "Isolated" && !invert && !normalizer
    && level.type === "ByteLevel" && level.use_regex && !level.add_prefix_space && model.type === "BPE"
    && !(model.byte_fallback || model.ignore_merges || model.end_of_word_suffix || model.continuing_subword_prefix);
}

/** Every text has ids, and `decode(encode(text))` is `clean(text)`. */
export class BytePairTokenizer {
  /** @param {string} json The contents of `tokenizer.json`. */
  constructor(json) {
    try {
      const values = JSON.parse(json), vocab = new Map(Object.entries(values.model.vocab));
      const tokens = [...vocab].sort(([, a], [, b]) => a - b).map(([token]) => token), characters = charactersOfBytes();
      const idOf = (token) => {
        require(
          vocab.has(token), BAD,
          N_("tokenizer.json has no token {token}, so it is not a byte-pair tokenizer of Headlight."), { token },
        );
        return vocab.get(token);
      };
      require(isOurs(values), BAD, N_(
        "tokenizer.json is not a byte-pair tokenizer of Headlight: its steps before the merges differ."
      ));
      require(tokens.every((token, id) => idOf(token) === id), BAD, N_(
        "tokenizer.json is not a byte-pair tokenizer of Headlight: the ids of its tokens are not 0, 1, 2 and so on."
      ));
      require(SPECIAL_TOKENS.every((token, id) => idOf(token) === id), BAD, N_(
        "tokenizer.json is not a byte-pair tokenizer of Headlight: its special tokens differ."
      ));
      this.size = tokens.length;
      this.idOfByte = characters.map(idOf);
      this.bytes = tokens.map((token, id) => Uint8Array.from(
        id < SPECIAL_TOKENS.length ? [] : [...token].map((c) => characters.indexOf(c))
      ));
      /** Two neighbours → the rank of their merge. Low ranks are merged first. */
      this.ranks = new Map(values.model.merges.map(([a, b], rank) => [idOf(a) * this.size + idOf(b), rank]));
      this.merged = Int32Array.from(values.model.merges, ([a, b]) => idOf(a + b));
    } catch (error) {
      if (error instanceof EngineError) throw error;
      throw new EngineError(BAD, N_("tokenizer.json is damaged. Copy it again."));
    }
  }

  /** The ids of a text, without special tokens. @param {string} typed @returns {number[]} */
  encode(typed) {
    const text = clean(typed);
    const words = text.length <= MAX_BYTES ? preTokenized(spaced(text)).map(toBytes) : [];
    const length = words.reduce((sum, word) => sum + word.length, 0);
    require(
      text.length <= MAX_BYTES && length <= MAX_BYTES, "text-too-long",
      N_("The text has more than {limit} bytes. Shorten it."), { limit: MAX_BYTES },
    );
    return words.flatMap((word) => this.merge(word));
  }

  /**
   * Merge the neighbours with the lowest rank until none can merge (Sennrich et al. 2016, algorithm 1).
   * @param {Uint8Array} word
   */
  merge(word) {
    const ids = Array.from(word, (byte) => this.idOfByte[byte]);
    const rankAt = (i) => this.ranks.get(ids[i] * this.size + ids[i + 1]) ?? NONE;
    const ranks = ids.map((_, i) => rankAt(i));
    for (;;) {
      let best = 0;
      for (let i = 1; i < ranks.length; i++) if (ranks[i] < ranks[best]) best = i;
      if (!(ranks[best] < NONE)) return ids;
      ids.splice(best, 2, this.merged[ranks[best]]);
      ranks.splice(best, 1);
      if (best > 0) ranks[best - 1] = rankAt(best - 1);
      ranks[best] = rankAt(best);
    }
  }

  /** @param {number[]} ids */
  decode(ids) {
    return this.raw(ids).replace(/^ /, "");
  }

  /** The text of ids with its leading space. @param {number[]} ids */
  raw(ids) {
    return toText(Uint8Array.from(ids.flatMap((id) => [...this.bytes[id]])), false);
  }

  /** A token as shown on the screen. @param {number} id */
  shown(id) {
    if (id < SPECIAL_TOKENS.length) return SPECIAL_TOKENS[id];
    try {
      const text = toText(this.bytes[id], true);
      if (text.startsWith(" ")) return text.slice(1) || "␣";
      return STARTS_WITH_LETTER.test(text) && !STARTS_WITH_HAN.test(text) ? CONTINUES + text : text;
    } catch {
      return `⟨${[...this.bytes[id]].map((byte) => byte.toString(16).padStart(2, "0").toUpperCase()).join(" ")}⟩`;
    }
  }

  /** For each id the word that it belongs to, counted from 0. @param {number[]} ids */
  words(ids) {
    let end = 0, word = -1, position = 0;
    const starts = new Set([0]);
    for (const text of preTokenized(this.raw(ids))) {
      end += toBytes(text).length;
      starts.add(end);
    }
    return ids.map((id) => {
      if (id < SPECIAL_TOKENS.length || starts.has(position) || word < 0) word++;
      position += this.bytes[id].length;
      return word;
    });
  }
}
