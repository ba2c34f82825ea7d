// The models of a tokenizer.json: byte pairs, word pieces, unigrams and whole words. Each turns a piece into ids.
import { N_, require, shown } from "../errors.js";
import { bytePairs, byteIds, known } from "../text/tokenizers.js";
import { requireSound } from "./damage.js";

const MAX_WORD = 128; // characters of a word or of a token, where all parts of a text are tried
const PENALTY = 10; // an unknown character is so much less likely than the rarest token, as in SentencePiece

/** @param {number} longest */
function requireTime(longest) {
  require(longest <= MAX_WORD, "tokenizer-unsupported", N_(
    "The tokenizer cuts words of up to {longest} characters. The browser cuts words of up to {limit} in time."
  ), { longest: shown(longest), limit: MAX_WORD });
}

/** The longest token that begins a word, then the longest that continues it (Wu et al. 2016). */
function wordPieces(settings, vocabulary) {
  const { unk_token, continuing_subword_prefix: prefix = "##", max_input_chars_per_word: most = 100 } = settings;
  requireTime(most);
  requireTime(prefix.length);
  return (text) => {
    const unknown = () => [known(vocabulary.get(unk_token))], ids = [];
    if ([...text].length > most) return unknown();
    for (let start = 0, end; start < text.length; start = end) {
      const tokenTo = () => vocabulary.get((start ? prefix : "") + text.slice(start, end));
      for (end = text.length; end > start && tokenTo() === undefined;) end--;
      if (end === start) return unknown();
      ids.push(tokenTo());
    }
    return ids;
  };
}

/**
 * The tokens with the largest sum of scores (Kudo 2018). SentencePiece itself has `pieces` in the place of the
 * vocabulary, and adds in single precision.
 */
function unigrams({ vocab, pieces = vocab, unk_id, unk_token, byte_fallback }, vocabulary) {
  const isItself = pieces !== vocab;
  requireSound(unk_id == null || (Number.isInteger(unk_id) && unk_id in pieces));
  const Scores = /** @type {Float64ArrayConstructor} */ (isItself ? Float32Array : Float64Array);
  const places = isItself ? new Map(pieces.map(([piece], id) => [piece, id])) : vocabulary;
  const scores = Scores.from(pieces, ([, score]) => score);
  const longest = pieces.reduce((most, [token]) => Math.max(most, token.length), 0);
  const [penalty] = Scores.of(scores.reduce((least, score) => Math.min(least, score), Infinity) - PENALTY);
  requireTime(longest);

  /** The tokens of the best path, as places of their ends and as ids. */
  function path(text) {
    const best = new Scores(text.length + 1).fill(Number.NEGATIVE_INFINITY);
    const starts = new Int32Array(text.length + 1), ids = new Int32Array(text.length + 1);
    const offer = (start, end, id, score) => {
      const sum = isItself ? Math.fround(best[start] + score) : best[start] + score;
      if (!(sum > best[end])) return;
      best[end] = sum;
      starts[end] = start;
      ids[end] = id;
    };
    best[0] = 0;
    for (let start = 0, next; start < text.length; start = next) {
      next = start + ((text.codePointAt(start) ?? 0) > 0xffff ? 2 : 1);
      for (let end = start + 1; end <= Math.min(start + longest, text.length); end++) {
        const id = places.get(text.slice(start, end));
        if (id !== undefined) offer(start, end, id, scores[id]);
      }
      if (!places.has(text.slice(start, next))) offer(start, next, known(unk_id ?? undefined), penalty);
    }
    const found = [];
    for (let end = text.length; end > 0; end = starts[end]) found.push([starts[end], end, ids[end]]);
    return found.reverse();
  }

  return (text) => {
    const pieces = [];
    for (const [start, end, id] of path(text)) { // neighbours without a token are one piece
      const last = pieces.at(-1);
      if (last?.id === unk_id && id === unk_id) last.text += text.slice(start, end);
      else pieces.push({ text: text.slice(start, end), id });
    }
    return pieces.flatMap(({ text: piece, id }) => (
      vocabulary.get(piece) ?? (byte_fallback ? byteIds(vocabulary, piece) : null) ?? vocabulary.get(unk_token) ?? id
    ));
  };
}

/**
 * Name → settings and vocabulary → piece → ids.
 * @type {Record<string, (settings: any, vocabulary: Map<string, number>) => (piece: string) => number[]>}
 */
export const SUBWORDS = {
  BPE: bytePairs,
  WordPiece: wordPieces,
  Unigram: unigrams,
  WordLevel: ({ unk_token }, vocabulary) => (text) => [known(vocabulary.get(text) ?? vocabulary.get(unk_token))],
};
