// The tokens of a run and its result, for every task: attention maps and outcomes. And how a trace becomes these maps.
import { entropyOf, largestIndices } from "../decoding/search.js";
import { causalMask } from "../network/masks.js";
import { numLayers } from "../network/translators.js";
import { concatenate, tensor } from "../tensor.js";
import { hookName } from "../trace.js";

const NUM_CANDIDATES = 10;
export const ATTENTION = "*.weights"; // the hook points that every run records

/**
 * The recorded weights, (L, H, queries, keys) for each kind of attention that the model has.
 * @param {Trace} trace @param {Sizes} config @param {string[]} kinds
 */
export function attentionMaps(trace, config, kinds) {
  return Object.fromEntries(kinds.filter((kind) => numLayers(config, kind)).map((kind) => {
    const all = Array.from({ length: numLayers(config, kind) }, (_, layer) => (
      trace.joined(hookName(kind, layer, "weights"))
    ));
    return [kind, tensor([all.length, ...all[0].shape], concatenate(...all.map(({ data }) => data)))];
  }));
}

/**
 * The masks that are not the usual ones: windows of a decoder that are shorter than the text, (L, queries, keys).
 * @param {Sizes} config @param {Record<string, Tensor>} maps
 * @returns {Record<string, { data: Uint8Array, shape: number[] }>}
 */
export function attentionMasks({ windows = [] }, { decoder }) {
  if (!decoder) return {};
  const [L, , T, S] = decoder.shape;
  if (!windows.some((window) => window && window < S)) return {};
  const data = new Uint8Array(L * T * S);
  for (let layer = 0; layer < L; layer++) data.set(causalMask(T, S, windows[layer]), layer * T * S);
  return { decoder: { shape: [L, T, S], data } };
}

/** Everything that was recorded: name of a hook point → (…, T, X). @param {Trace} trace */
export function recordedIn(trace) {
  return Object.fromEntries(trace.names.map((name) => [name, trace.joined(name)]));
}

/**
 * What the model predicted: all written tokens after a prompt, the masked tokens of a source, or the label.
 * @param {Result} result @returns {Outcome[]}
 */
export function outcomesOf({ source, written, prompt_length: given = 0, probabilities, ...result }) {
  if (probabilities) {
    const candidates = probabilities.map(([text, probability], id) => ({ text, probability, id }));
    const best = candidates.reduce((first, one) => (one.probability > first.probability ? one : first));
    return [{ ...best, position: null, candidates }];
  }
  const first = written.length ? given || Number(result.first_token_fixed ?? false) : 0;
  return (written.length ? written : source).flatMap(({ text, id, probability = 0, candidates = [] }, position) => {
    if (position < first || !candidates.length) return [];
    return [{ ...(written.length ? { text, id, probability } : candidates[0]), position, candidates }];
  });
}

/**
 * Tokens as shown on the screen.
 * @param {Tokenizer} tokenizer @param {AllSpecials} specials @param {number[]} ids
 * @param {number} [before] How many words are before them.
 * @returns {Token[]}
 */
export function shownTokens(tokenizer, { marks, unknown }, ids, before = 0) {
  const words = tokenizer.words(ids);
  return ids.map((id, i) => ({
    text: tokenizer.shown(id), id, word: marks.includes(id) ? -1 : words[i] + before,
    ...(id === unknown && { unknown: true }),
  }));
}

/** The place of the first separator with something behind it; -1 without one. */
function separatorIn(ids, separator) {
  return separator.length
    ? ids.findIndex((_, i) => i + separator.length < ids.length && separator.every((id, j) => ids[i + j] === id))
    : -1;
}

/**
 * The source tokens of a text, or of a pair of texts, with the special tokens around them. They are cut to the
 * positions of the model: a single text at its end, a pair where it is longer.
 * @param {AnyCheckpoint} checkpoint @param {string} text @param {string} second @param {number} most
 * @param {(ids: number[], room: number) => number[]} [cut] A single text.
 */
export function sourceOf({ tokenizer, specials }, text, second, most, cut = (ids, room) => ids.slice(0, room)) {
  const { before = [], separator = [], after = [] } = specials, room = most - before.length - after.length;
  const whole = tokenizer.encode(text), at = second.trim() ? -1 : separatorIn(whole, separator);
  const [a, b] = at < 0
    ? [whole, second.trim() ? tokenizer.encode(second) : []]
    : [whole.slice(0, at), whole.slice(at + separator.length)];
  const [first, other] = b.length ? cutPair(a, b, Math.max(room - separator.length, 0)) : [cut(a, room), []];
  const shown = (ids, words = 0) => shownTokens(tokenizer, specials, ids, words);
  const marked = (ids) => shown(ids).map((token) => ({ ...token, word: -1 }));
  // Some tokenizers have no space before the first word of a text.
  const textOf = (ids, words = 0) => shown(ids, words).map(
    (token, i) => (i ? token : { ...token, text: token.text.replace(/^·/, "") })
  );
  const own = textOf(first);
  const words = Math.max(-1, ...own.map(({ word }) => word)) + 1;
  const part = (tokens, part) => (b.length ? tokens.map((token) => ({ ...token, part })) : tokens);
  /** @type {Token[]} */
  const tokens = [
    ...marked(before), ...part(own, "A"), ...(b.length ? marked(separator) : []), ...part(textOf(other, words), "B"),
    ...marked(after),
  ];
  return {
    tokens, dropped: a.length + b.length - first.length - other.length,
    ids: tokens.length ? tokens.map(({ id }) => id) : [specials.start],
    segments: segmentsOf(tokens, specials),
  };
}

/**
 * The segment of each token of a pair: that of the second text begins with this text.
 * @param {Token[]} tokens @param {AllSpecials} specials
 */
export function segmentsOf(tokens, { segment }) {
  const start = tokens.findIndex(({ part }) => part === "B");
  return start >= 0 && segment ? tokens.map((_, i) => (i < start ? 0 : segment)) : undefined;
}

/** As in the library, the longer text is shortened first. @returns {[number[], number[]]} */
function cutPair(a, b, room) {
  const fewer = Math.min(a.length, b.length, Math.floor(room / 2));
  const more = Math.min(Math.max(a.length, b.length), room - fewer), isShorter = a.length <= b.length;
  return [a.slice(0, isShorter ? fewer : more), b.slice(0, isShorter ? more : fewer)];
}

/**
 * A token with the candidates at its place, best first. It is certain where the model chose nothing.
 * @param {Tokenizer} tokenizer @param {Token} token @param {Float32Array} logProbs
 */
export function withCandidates(tokenizer, token, logProbs, fixed = false) {
  const candidate = (id) => ({ text: tokenizer.shown(id), id, probability: Math.exp(logProbs[id]) });
  const candidates = largestIndices(logProbs, NUM_CANDIDATES).map(candidate);
  const probability = fixed ? 1 : Math.exp(logProbs[token.id]);
  return { ...token, probability, candidates, entropy: entropyOf(logProbs) };
}
