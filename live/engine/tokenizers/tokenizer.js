// The tokenizer of a folder of Hugging Face's `transformers`: the same ids and texts as its library `tokenizers`.
import { EngineError, N_, require } from "../errors.js";
import { parseJson } from "../json.js";
import { addedTokens, cutAtTokens } from "./added_tokens.js";
import { requireSound } from "./damage.js";
import { DECODERS, libraryParts, NORMALIZERS, PRE_TOKENIZERS, runSteps, stepsOf } from "./library_parts.js";
import { requireFast } from "./patterns.js";
import { bytesOf, shownBytes } from "../text/shown_bytes.js";
import { continued, MAX_BYTES, MAX_TOKENS, requireLength, tooLong } from "../text/tokenizers.js";
import { SUBWORDS } from "./subwords.js";
import { framesOf, templatesOf } from "./templates.js";
import { withoutTokenizerJson } from "./vocabulary_files.js";

const MAX_FILE = 40 << 20, MAX_CHANGED = 1 << 20; // characters: of a file; of added tokens, for each normalizer
const END_OF_WORD = "</w>"; // in older byte-pair encodings
/** The special tokens of a tokenizer without settings. @type {Record<string, string[]>} */
const USUAL = {
  bos: ["<s>"], cls: ["[CLS]"], eos: ["</s>", "<|endoftext|>"], sep: ["[SEP]"], pad: ["<pad>", "[PAD]"],
  mask: ["<mask>", "[MASK]"], unk: ["<unk>", "[UNK]"],
};

/**
 * How to read a token: its text, and whether it begins a word. The most frequent mark of a vocabulary decides.
 * @type {Record<string, (token: string) => [string, boolean]>}
 */
const READINGS = {
  "▁": (token) => { // SentencePiece (Kudo and Richardson 2018): ▁ stands for a space, <0x..> for a byte
    const byte = /^<0x([\dA-F]{2})>$/.exec(token);
    if (byte) return [shownBytes(Uint8Array.of(Number.parseInt(byte[1], 16))), false];
    return [token.replace(/^▁+/, "").replaceAll("▁", " "), token.startsWith("▁")];
  },
  Ġ: (token) => { // GPT-2: each byte is written as a printable character
    const bytes = bytesOf(token), text = bytes ? shownBytes(bytes) : token;
    return [bytes ? text.replace(/^ /, "") : text, bytes !== null && text.startsWith(" ")];
  },
  "##": (token) => [token.replace(/^##/, ""), !token.startsWith("##")], // BERT: ## continues a word
  "": (token) => [token.endsWith(END_OF_WORD) ? token.slice(0, -END_OF_WORD.length) : token, false],
};

export class Tokenizer {
  /**
   * @param {any} values The contents of `tokenizer.json`. Its vocabulary may be a map.
   * @param {Record<string, any>} [names] Of special tokens, as the settings have them (`mask_token`), and the rest.
   * @param {boolean} [isNamed] Whether the settings name special tokens. Without this they have their usual names.
   */
  constructor(values, names = {}, isNamed = false) {
    const { model } = values, kind = model.type ?? "BPE";
    const [normalizers, preTokenizers] = [
      stepsOf(values.normalizer, NORMALIZERS).map((change) => (texts) => texts.map((text) => change(text))),
      stepsOf(values.pre_tokenizer, PRE_TOKENIZERS),
    ];
    const stages = [values.normalizer, values.pre_tokenizer, values.decoder].flatMap(libraryParts);
    requireFast(stages.map(({ pattern }) => pattern?.Regex).filter((regex) => regex !== undefined));
    /** Token → id. @type {Map<string, number>} */
    this.vocabulary = model.vocab instanceof Map ? model.vocab : new Map(
      Array.isArray(model.vocab) ? model.vocab.map(([token], id) => [token, id]) : Object.entries(model.vocab)
    );
    /** @type {string[]} */
    this.tokens = [];
    const keep = (token, id) => {
      const isKnown = typeof token === "string" && Number.isInteger(id) && id >= 0 && id < MAX_TOKENS;
      requireSound(isKnown);
      this.tokens[id] = token;
    };
    for (const [token, id] of this.vocabulary) keep(token, id);
    requireSound(Object.hasOwn(SUBWORDS, kind));
    this.subwords = SUBWORDS[kind](model, this.vocabulary);
    const added = addedTokens(values.added_tokens ?? [], this.vocabulary);
    this.normalize = (text) => runSteps(normalizers, [text])[0];
    this.preTokenize = (text, isFirst) => runSteps(preTokenizers.map((step) => (pieces) => pieces.flatMap(
      (piece, i) => (piece ? step(piece, isFirst && i === 0) : [piece])
    )), [text]);
    for (const { content, id } of added) keep(content, id);
    const changed = added.filter(({ normalized }) => normalized).reduce((sum, { content }) => sum + content.length, 0);
    requireSound(changed * normalizers.length <= MAX_CHANGED);
    const written = added.map((token) => (
      token.normalized ? { ...token, content: this.normalize(token.content) } : token
    ));
    for (const { id, content } of written) this.tokens[id] = content;
    const cutBefore = cutAtTokens(written.filter(({ normalized }) => !normalized));
    /** Marian names the language to write at the start of a text, such as >>deu<<. @param {string | number} part */
    const codeApart = (part) => {
      const [code] = (typeof part === "string" && /^>>.*?<</su.exec(part)) || [""];
      const id = this.vocabulary.get(code) ?? this.vocabulary.get(model.unk_token) ?? 0;
      return code ? [id, String(part).slice(code.length)] : [part];
    };
    this.cutBefore = values.hasCodes ? (text) => cutBefore(text).flatMap(codeApart) : cutBefore;
    this.cutAfter = cutAtTokens(written.filter(({ normalized }) => normalized));
    this.decoders = values.decoder ? stepsOf(values.decoder, DECODERS) : [(tokens) => [tokens.join(" ")]];
    this.templates = templatesOf(values.post_processor, this.tokens);
    this.skipped = new Set(added.filter((token) => token.special).map(({ content }) => content));
    this.specials = this.findSpecials(names, isNamed, added, model);
    this.reading = READINGS[this.mostFrequentMark()];
  }

  /** The number of ids. */
  get size() {
    return this.tokens.length;
  }

  /** @returns {SpecialIds} */
  findSpecials(names, isNamed, added, { unk_token }) {
    const own = new Map(added.map(({ content, id }) => [content, id]));
    const idOf = (token) => own.get(token) ?? this.vocabulary.get(token) ?? null;
    const named = (name) => {
      const value = names[`${name}_token`], usual = isNamed ? [] : USUAL[name].filter((one) => this.skipped.has(one));
      return idOf(value?.content ?? value ?? usual[0]);
    };
    const [before, after] = framesOf(this.templates.single), [first, separator, last] = framesOf(this.templates.pair);
    const { segment } = /** @type {TemplatePiece} */ (this.templates.pair.find(({ part }) => part === "B"));
    const has = Object.fromEntries(Object.keys(USUAL).map((name) => [name, named(name)]));
    const marks = [...Object.values(has), ...added.filter(({ special }) => special).map(({ id }) => id)];
    return {
      start: has.bos ?? has.cls, end: has.eos ?? has.sep, padding: has.pad, mask: has.mask,
      unknown: has.unk ?? (isNamed ? null : idOf(unk_token)), before, after,
      separator: `${first}|${last}` === `${before}|${after}` ? separator : [],
      segment: names.model_input_names?.includes("token_type_ids") === false ? 0 : segment,
      marks: new Set(marks.filter((id) => id !== null)),
    };
  }

  mostFrequentMark() {
    const begins = (mark) => (token) => token.startsWith(mark) && token !== mark;
    const count = (mark) => this.tokens.filter(begins(mark)).length;
    const [mark, most] = ["▁", "Ġ", "##"].map((one) => /** @type {const} */ ([one, count(one)])).reduce(
      (best, one) => (one[1] > best[1] ? one : best)
    );
    return most ? mark : "";
  }

  /** The ids of a text, without the special tokens of the template. @param {string} typed @returns {number[]} */
  encode(typed) {
    requireLength(typed);
    let isFirst = true, left = 2 * MAX_BYTES; // byte-level tokenizers write some characters as several
    const ids = [];
    for (const part of this.cutBefore(typed.toWellFormed())) {
      for (const section of typeof part === "string" ? this.cutAfter(this.normalize(part)) : [part]) {
        if (typeof section === "number") ids.push(section);
        else {
          if (section.length > 2 * MAX_BYTES) throw tooLong(); // a rule for normalization may write more than it reads
          for (const piece of this.preTokenize(section, isFirst)) {
            left -= piece.length;
            if (left < 0) throw tooLong();
            if (piece) ids.push(...this.subwords(piece));
          }
        }
        isFirst = false;
      }
      isFirst = false;
    }
    return ids;
  }

  /** The text of ids, without special tokens. @param {number[]} ids */
  decode(ids) {
    const tokens = ids.map((id) => this.tokens[id]).filter((token) => token !== undefined && !this.skipped.has(token));
    return tokens.length ? runSteps(this.decoders, tokens).join("") : "";
  }

  /** The text of a token, and whether it begins a word. @param {number} id @returns {[string, boolean]} */
  read(id) {
    const token = this.tokens[id] ?? `⟨${id}⟩`; // models often have more embeddings than tokens
    return this.specials.marks.has(id) ? [token, true] : this.reading(token);
  }

  /** A token as shown on the screen. @param {number} id */
  shown(id) {
    const [text, begins] = this.read(id);
    return begins ? text || "␣" : continued(text);
  }

  /**
   * For each id the word that it belongs to, counted from 0. A word begins at the mark of a space, at a character that
   * is not a letter, and at a Chinese character.
   * @param {number[]} ids
   */
  words(ids) {
    let word = -1, isApart = true;
    return ids.map((id) => {
      const [text, begins] = this.read(id);
      const isSign = continued(text) === text && !text.startsWith("⟨");
      if (isApart || begins || isSign) word++;
      isApart = this.specials.marks.has(id) || (isSign && text !== "") || !!this.tokens[id]?.endsWith(END_OF_WORD);
      return word;
    });
  }
}

/** A JSON file; null without it. @param {Record<string, string>} texts Name of a file → its text. @returns {any} */
function json(texts, name) {
  return Object.hasOwn(texts, name) ? parseJson(texts[name]) : null;
}

/**
 * The tokenizer of a folder: of `tokenizer.json`, or of the files of older folders.
 * @param {Record<string, string>} texts Name of a file → its text; other files are left out.
 * @returns {Tokenizer}
 */
export function readTokenizer(texts) {
  try {
    for (const text of Object.values(texts)) requireSound(text.length <= MAX_FILE);
    const settings = json(texts, "tokenizer_config.json"), map = json(texts, "special_tokens_map.json");
    const names = { ...map, ...settings };
    const isNamed = map !== null || Object.keys(USUAL).some((name) => Object.hasOwn(names, `${name}_token`));
    const values = json(texts, "tokenizer.json") ?? withoutTokenizerJson(texts, names);
    require(values, "tokenizer-missing", N_(
      "The folder has no tokenizer that the browser knows: tokenizer.json, vocab.txt, vocab.json with merges.txt or "
      + "source.spm, spiece.model or tokenizer.model."
    ));
    const known = new Set((values.added_tokens ?? []).map(({ content }) => content));
    const more = Object.entries({ ...settings?.added_tokens_decoder }).map(
      ([id, token]) => ({ ...token, id: Number(id) })
    );
    const added_tokens = [...(values.added_tokens ?? []), ...more.filter(({ content }) => !known.has(content))];
    return new Tokenizer({ ...values, added_tokens }, names, isNamed);
  } catch (error) {
    requireSound(error instanceof EngineError);
    throw error;
  }
}
