// Folders with files of SentencePiece (Kudo and Richardson 2018) and no tokenizer.json: what it would contain. These
// files are messages of Protocol Buffers, and sentencepiece_model.proto lists their fields.
import { parseJson } from "../json.js";
import { toText } from "../text/shown_bytes.js";
import { FLAGS } from "./added_tokens.js";
import { requireSound } from "./damage.js";
import { requireKnownPart } from "./library_parts.js";

const FIELDS = 64, MAX_PIECE = 128, MAX_GAPS = 1000; // fields with larger numbers are not ours; bytes; tokens
const MAX_PIECES = 300_000, MAX_CUTS = 1 << 22; // in a file; places in all pieces where two of them may merge
const UNIGRAM = 1, BYTE_PAIRS = 2, NORMAL = 1, USER_DEFINED = 4; // types of a model and of a piece
const MARK = { type: "Metaspace", replacement: "▁" };

/** The fields of a message: [number, value]. A value is a number, or bytes. @param {Uint8Array} bytes */
function* fieldsOf(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let at = 0;
  const whole = () => {
    for (let value = 0, scale = 1; ; scale *= 128) {
      const byte = view.getUint8(at++);
      value += (byte & 127) * scale;
      if (byte < 128) return value;
    }
  };
  while (at < bytes.length) {
    const key = whole(), number = Math.floor(key / 8), kind = key % 8, first = kind === 0 || kind === 2 ? whole() : 0;
    const size = kind === 2 ? first : { 0: 0, 1: 8, 5: 4 }[kind] ?? Infinity, end = at + size;
    requireSound(end <= bytes.length);
    const value = kind === 2 ? bytes.subarray(at, end) : kind === 5 ? view.getFloat32(at, true) : first;
    if (number < FIELDS) yield /** @type {[number, any]} */ ([number, value]);
    at = end;
  }
}

/**
 * The pieces of a file, with their scores and types, and its settings.
 * @param {Record<string, string>} texts @param {string} file Its name. Its text has one character for each byte.
 * @param {number} wanted The type of its model. @param {(found: any) => unknown} [isKnown]
 */
function readPieces(texts, file, wanted, isKnown = () => true) {
  const pieces = /** @type {[string, number, number][]} */ ([]), settings = /** @type {Record<number, any>} */ ({});
  let fields = 0;
  const bytes = new Uint8Array(texts[file].length); // `from` would take most of the time
  for (let i = 0; i < bytes.length; i++) bytes[i] = texts[file].charCodeAt(i);
  for (const [number, value] of fieldsOf(bytes)) {
    requireSound(++fields <= MAX_PIECES);
    if (number > 3) continue;
    settings[number] = Object.fromEntries(fieldsOf(value));
    if (number !== 1) continue;
    const { 1: piece, 2: score = 0, 3: type = NORMAL } = settings[number];
    requireSound(piece.length <= MAX_PIECE);
    pieces.push([toText(piece, true), score, type]);
  }
  const { 2: { 3: kind = UNIGRAM, 40: unknown = 0 }, 3: { 2: table, 3: prefix = 1, 4: strips = 1 } } = settings;
  const found = { pieces, unknown, prefix, strips, table: table?.slice() };
  requireKnownPart(kind === wanted && isKnown(found), file);
  return found;
}

/** The pieces that are taken out of a text, as tokenizer.json lists them. */
const marksOf = (pieces) => pieces.flatMap(([content, , type], id) => (
  type > NORMAL && type <= USER_DEFINED ? [{ ...FLAGS, content, id, special: type !== USER_DEFINED }] : []
));

/** A template with special tokens around each text. @param {string[]} before @param {string[]} after */
function around(before, after, idOf) {
  const single = [...before, "", ...after];
  const written = (text, pieces) => pieces.map((token) => (
    token ? { SpecialToken: { id: token, type_id: 0 } } : { Sequence: { id: text, type_id: 0 } }
  ));
  return {
    type: "TemplateProcessing", single: written("A", single), pair: [...written("A", single), ...written("B", single)],
    special_tokens: Object.fromEntries([...before, ...after].map((token) => [token, { ids: [idOf(token)] }])),
  };
}

/** Marian: the pieces cut a text, and vocab.json, which has those of both languages, gives their numbers. */
function marianTokenizer(texts) {
  const vocab = parseJson(texts["vocab.json"]), { pieces, unknown, table, prefix, strips } = readPieces(
    texts, "source.spm", UNIGRAM, (found) => found.pieces.every(([, , type]) => type < USER_DEFINED)
  );
  return {
    added_tokens: ["</s>", "<unk>", "<pad>"].map((content) => ({ ...FLAGS, content, id: vocab[content] })),
    hasCodes: true, normalizer: { type: "SentencePiece", precompiled_charsmap: table, prefix, strips },
    model: {
      type: "Unigram", vocab, unk_token: "<unk>", unk_id: unknown,
      pieces: pieces.map(([piece, score, type]) => (type === NORMAL ? [piece, score] : ["", 0])),
    },
    decoder: MARK, post_processor: around([], ["</s>"], (token) => vocab[token]),
  };
}

/** T5: its pieces, and behind them the tokens for gaps. */
function t5Tokenizer(texts, { extra_ids = 100 }) {
  const { pieces, table } = readPieces(texts, "spiece.model", UNIGRAM);
  requireKnownPart(extra_ids <= MAX_GAPS, "extra_ids");
  const gaps = Array.from({ length: extra_ids }, (_, i) => (
    { ...FLAGS, content: `<extra_id_${extra_ids - 1 - i}>`, id: pieces.length + i }
  ));
  return {
    added_tokens: [...marksOf(pieces), ...gaps], normalizer: { type: "Precompiled", precompiled_charsmap: table },
    pre_tokenizer: { type: "Sequence", pretokenizers: [{ type: "WhitespaceSplit" }, MARK] },
    model: { type: "Unigram", vocab: pieces, unk_id: 2 },
    decoder: MARK, post_processor: around([], ["</s>"], (token) => pieces.findIndex(([piece]) => piece === token)),
  };
}

/** Llama: byte pairs. Two pieces merge if their joined text is a piece. Earlier pieces come first. */
function llamaTokenizer(texts, { legacy = false, add_bos_token = false }) {
  const { pieces } = readPieces(texts, "tokenizer.model", BYTE_PAIRS, ({ prefix }) => prefix);
  const vocab = new Map(pieces.map(([piece], id) => [piece, id])), merges = [];
  requireSound(pieces.reduce((sum, [piece]) => sum + piece.length, 0) <= MAX_CUTS);
  for (const [piece] of pieces)
    for (let i = 1; i < piece.length; i++) {
      const [left, right] = [piece.slice(0, i), piece.slice(i)];
      if (vocab.has(left) && vocab.has(right)) merges.push([left, right]);
    }
  return {
    added_tokens: marksOf(pieces),
    model: { type: "BPE", vocab, merges, byte_fallback: true, fuse_unk: true },
    pre_tokenizer: { ...MARK, prepend_scheme: legacy ? "always" : "first", split: false },
    decoder: { type: "Sequence", decoders: [
      { type: "Replace", pattern: { String: "▁" }, content: " " }, { type: "ByteFallback" }, { type: "Fuse" },
      { type: "Strip", content: " ", start: 1, stop: 0 },
    ] },
    post_processor: around(add_bos_token ? ["<s>"] : [], [], (token) => vocab.get(token)),
  };
}

/**
 * The contents of tokenizer.json for the files of SentencePiece.
 * @param {Record<string, string>} texts Name of a file → its text. @param {Record<string, any>} settings
 * @returns {any} null without these files
 */
export function ofSentencePiece(texts, settings) {
  const has = (...names) => names.every((name) => Object.hasOwn(texts, name));
  if (has("source.spm", "vocab.json")) return marianTokenizer(texts);
  if (has("spiece.model")) return t5Tokenizer(texts, settings);
  return has("tokenizer.model") ? llamaTokenizer(texts, settings) : null;
}
