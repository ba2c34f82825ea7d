// The models of a tokenizer.json: byte pairs, word pieces, unigrams and whole words. Each turns a piece into ids.
import { N_, require } from "../errors.js";
import { toBytes } from "./shown_bytes.js";

export const MAX_TOKENS = 1 << 20;
const MAX_WORD = 128; // characters of a word or of a token, where all parts of a text are tried
const PENALTY = 10; // an unknown character is so much less likely than the rarest token, as in SentencePiece
const DAMAGED_MERGES = N_("tokenizer.json is damaged: its merges or its special tokens have no ids.");
const NONE = 2 ** 31 - 1; // the rank of two symbols that do not merge

const byteToken = (byte) => `<0x${byte.toString(16).toUpperCase().padStart(2, "0")}>`;

/** The tokens of the bytes of a text, if the vocabulary has all of them. @param {Map<string, number>} vocabulary */
function byteIds(vocabulary, text) {
  const ids = Array.from(toBytes(text), (byte) => vocabulary.get(byteToken(byte)));
  return ids.includes(undefined) ? null : /** @type {number[]} */ (ids);
}

/** Raises a sentence if the vocabulary has no token for unknown text. @returns {number} */
function known(id) {
  require(id !== undefined, "tokenizer-damaged", N_("The tokenizer has no token for a part of the text."));
  return id;
}

/** @param {number} longest */
function requireTime(longest) {
  require(longest <= MAX_WORD, "tokenizer-unsupported", N_(
    "The tokenizer cuts words of up to {longest} characters. The browser cuts words of up to {limit} in time."
  ), { longest, limit: MAX_WORD });
}

/** Byte-pair encoding (Sennrich et al. 2016). @param {Map<string, number>} vocabulary */
function bytePairs(settings, vocabulary) {
  const { unk_token, byte_fallback, fuse_unk, ignore_merges, dropout } = settings;
  const prefix = settings.continuing_subword_prefix ?? "", suffix = settings.end_of_word_suffix ?? "";
  require(!dropout, "tokenizer-unsupported", N_(
    "The tokenizer leaves out merges at random (dropout), so a text has no fixed tokens."
  ));
  const idOf = (token) => {
    const id = vocabulary.get(token);
    require(id !== undefined, "tokenizer-damaged", DAMAGED_MERGES);
    return id;
  };
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

/** The longest token that begins a word, then the longest that continues it (Wu et al. 2016). */
function wordPieces(settings, vocabulary) {
  const { unk_token, continuing_subword_prefix: prefix = "##", max_input_chars_per_word: most = 100 } = settings;
  requireTime(most);
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

/** The tokens with the largest sum of scores (Kudo 2018). */
function unigrams({ vocab, unk_id, byte_fallback }, vocabulary) {
  const scores = Float64Array.from(vocab, ([, score]) => score);
  const longest = vocab.reduce((most, [token]) => Math.max(most, token.length), 0);
  const penalty = scores.reduce((least, score) => Math.min(least, score), Infinity) - PENALTY;
  requireTime(longest);

  /** The tokens of the best path, as places of their ends and as ids. */
  function path(text) {
    const best = new Float64Array(text.length + 1).fill(Number.NEGATIVE_INFINITY);
    const starts = new Int32Array(text.length + 1), ids = new Int32Array(text.length + 1);
    const offer = (start, end, id, score) => {
      if (!(best[start] + score > best[end])) return;
      best[end] = best[start] + score;
      starts[end] = start;
      ids[end] = id;
    };
    best[0] = 0;
    for (let start = 0, next; start < text.length; start = next) {
      next = start + ((text.codePointAt(start) ?? 0) > 0xffff ? 2 : 1);
      for (let end = start + 1; end <= Math.min(start + longest, text.length); end++) {
        const id = vocabulary.get(text.slice(start, end));
        if (id !== undefined) offer(start, end, id, scores[id]);
      }
      if (!vocabulary.has(text.slice(start, next))) offer(start, next, known(unk_id ?? undefined), penalty);
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
      vocabulary.get(piece) ?? (byte_fallback ? byteIds(vocabulary, piece) : null) ?? id
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
