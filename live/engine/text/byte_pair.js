// Byte-level byte-pair encoding, as model/text/tokenizers.py writes it: words are split into frequent subwords.
import { EngineError, N_, require } from "../errors.js";
import { clean } from "./cleaning.js";
import { wordsOf } from "./library_parts.js";
import { BYTE_CHARACTERS, toBytes } from "./shown_bytes.js";
import { startsWithHan, Tokenizer } from "./tokenizer.js";
import { SPECIAL_TOKENS } from "./vocab.js";

const NOT_OURS = N_("tokenizer.json is damaged, or it is not a byte-pair tokenizer of Headlight. Copy it again.");
const HAN = /(\p{Script=Han})/u; // Chinese has no spaces, so each character is a word

/** Whether the steps around the merges are ours, so that they give the same ids. */
function isOurs({ model, normalizer, pre_tokenizer: { type, pretokenizers: [split, level] } }) {
  const { pattern: { Regex: pattern }, behavior, invert } = split;
  return type === "Sequence" && pattern === "\\p{Han}" && behavior === "Isolated" && !invert && !normalizer
    && level.type === "ByteLevel" && level.use_regex && !level.add_prefix_space && model.type === "BPE"
    && !(model.byte_fallback || model.ignore_merges || model.end_of_word_suffix || model.continuing_subword_prefix);
}

/** Our own tokenizer. Every text has ids, and `decode(encode(text))` is `clean(text)`. */
export class BytePairTokenizer extends Tokenizer {
  /** @param {string} json The contents of `tokenizer.json`. */
  static read(json) {
    try {
      const values = JSON.parse(json);
      const added_tokens = SPECIAL_TOKENS.map((content, id) => ({ content, id, special: true }));
      require(isOurs(values), "tokenizer-damaged", NOT_OURS);
      // Only the model writes special tokens. A person who types `</s>` types four ordinary characters.
      const whole = { ...values, decoder: { type: "ByteLevel" }, added_tokens };
      const found = new BytePairTokenizer(whole, { isLiteral: true });
      const { vocabulary, tokens } = found, has = (token) => vocabulary.has(token);
      const isWhole = tokens.length === vocabulary.size && [...tokens].every((one, id) => vocabulary.get(one) === id)
        && SPECIAL_TOKENS.every((token, id) => tokens[id] === token) && BYTE_CHARACTERS.every(has);
      require(isWhole, "tokenizer-damaged", NOT_OURS);
      return found;
    } catch (error) {
      if (error instanceof EngineError) throw error;
      throw new EngineError("tokenizer-damaged", NOT_OURS);
    }
  }

  /** The ids of a text, without special tokens. @param {string} typed @returns {number[]} */
  encode(typed) {
    const text = clean(typed);
    // A leading space, so that a word is the same token at the start of a text and inside it; not for Chinese.
    return super.encode(text === "" || startsWithHan(text) ? text : ` ${text}`);
  }

  /** @param {number[]} ids */
  decode(ids) {
    return super.decode(ids).replace(/^ /, "");
  }

  /** For each id the word that it belongs to, counted from 0. @param {number[]} ids */
  words(ids) {
    let end = 0, word = -1, position = 0;
    const starts = new Set([0]);
    for (const text of super.decode(ids).split(HAN).flatMap(wordsOf)) {
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
