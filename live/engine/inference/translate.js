// Translate one text, and keep the attention maps of the passes that wrote the translation.
import { beam } from "../decoding/beam.js";
import { lengthLimit } from "../decoding/decoder_state.js";
import { greedy } from "../decoding/greedy.js";
import { sample, seededNumbers } from "../decoding/sampling.js";
import { entropyOf, finish, largestIndices, writtenIds } from "../decoding/search.js";
import { numLayers } from "../network/translators.js";
import { tensor } from "../tensor.js";
import { BOS_ID, EOS_ID, PAD_ID } from "../text/vocab.js";
import { hookName, KINDS, Trace } from "../trace.js";

/**
 * @typedef {import("../tensor.js").Tensor} Tensor
 * @typedef {import("../checkpoint.js").Checkpoint} Checkpoint
 * @typedef {import("../decoding/search.js").Hypothesis} Hypothesis
 * @typedef {import("../decoding/search.js").Step} Step
 * @typedef {{ method?: "greedy" | "beam" | "sample", beamSize?: number, lengthPenalty?: number, temperature?: number,
 *   topK?: number, topP?: number, seed?: number, random?: () => number }} SearchConfig
 * @typedef {{ text: string, probability: number, id: number }} Candidate
 * @typedef {{ text: string, id: number, word: number, probability?: number, candidates?: Candidate[], entropy?: number }} Token
 *   A token as shown on the screen. `word` counts from 0 and is -1 for a special token. Written tokens have the
 *   probability, the ten best candidates and the entropy in nats.
 * @typedef {{ text: string, source: Token[], read: Token[], written: Token[], maps: Record<string, Tensor>,
 *   finished: boolean, dropped: number, languages: [string, string], recorded: Record<string, Tensor> }} Translation
 *   At position t the decoder reads `read[t]` and writes `written[t]`. `maps` has one (L, H, queries, keys) for each kind
 *   of attention. `dropped` source tokens did not fit. `recorded` has the requested hook points.
 * @typedef {{ search?: SearchConfig, forced?: Map<number, number>, limit?: number,
 *   edits?: Record<string, import("../trace.js").Edit>, record?: string[] }} TranslateOptions
 * @typedef {{ position: number, most: number, token?: Token, text?: string, maps?: Record<string, Tensor>,
 *   branches: import("../decoding/search.js").Branch[] }} Progress After each step: its position, the most tokens, and
 *   with greedy search or sampling the written token, the text so far and the new row of each map, (L, H, 1, keys).
 */

/**
 * Encode a source with its end token, cut to the positions of the model.
 * @param {Checkpoint | import("../checkpoint.js").ClassifierCheckpoint} checkpoint
 * @param {string} text
 */
export function sourceIds({ tokenizer, config }, text) {
  const ids = tokenizer.encode(text), kept = ids.slice(0, config.max_length - 1);
  return { ids: [...kept, EOS_ID], dropped: ids.length - kept.length };
}

/**
 * The tokens to force, position → id, so that the model writes exactly this text.
 * @param {Checkpoint} checkpoint
 * @param {string} text
 */
export function forcedIds({ tokenizer }, text) {
  return new Map([...tokenizer.encode(text), EOS_ID].entries());
}

/** Create the search that the settings choose. It starts with the first `next`. */
export function startSearch(model, source, { method, beamSize, seed, ...search }, options) {
  if (method === "beam") return beam(model, source, { ...options, ...search, size: beamSize ?? 5 });
  if (method === "sample") return sample(model, source, { random: seededNumbers(seed ?? 0), ...search, ...options });
  return greedy(model, source, options);
}

/**
 * Translate one text step by step. The generator yields after each step and returns the translation.
 * @param {Checkpoint} checkpoint
 * @param {string} text
 * @param {TranslateOptions} [options]
 * @returns {Generator<Progress, Translation>}
 */
export function* translating(checkpoint, text, { search = {}, forced = new Map(), limit = 0, edits = {}, record = [] } = {}) {
  const { model, config } = checkpoint, { ids: source, dropped } = sourceIds(checkpoint, text);
  const trace = new Trace({ record: ["*.weights", ...record], edits });
  const steps = startSearch(model, source, search, { forced, limit, trace });
  const most = limit ? Math.min(limit, config.max_length) : lengthLimit(source.length, config.max_length);
  /** @type {Step[]} */
  const passed = [];
  for (;;) {
    const { done, value } = steps.next();
    if (done) return translationOf(checkpoint, { source, dropped, hypothesis: value, steps: passed, trace });
    passed.push(value);
    yield progressOf(checkpoint, passed, most, trace);
  }
}

/**
 * Translate one text.
 * @param {Checkpoint} checkpoint
 * @param {string} text
 * @param {TranslateOptions} [options]
 */
export function translate(checkpoint, text, options) {
  return finish(translating(checkpoint, text, options));
}

/** @returns {Progress} */
function progressOf({ tokenizer, config }, steps, most, trace) {
  const { branches, passes, tokens, distributions: [logProbs] } = steps[steps.length - 1], position = steps.length - 1;
  if (branches.length) return { position, most, branches };
  const ids = steps.map(({ tokens: [id] }) => id), [id] = tokens;
  const token = writtenToken(tokenizer, id, tokenizer.words(ids)[position], logProbs[id], logProbs);
  const maps = attentionMaps(trace, config, passes, ["decoder", "cross"]);
  return { position, most, branches, token, text: tokenizer.decode(ids), maps };
}

/** @returns {Translation} */
function translationOf({ tokenizer, config, languages }, { source, dropped, hypothesis, steps, trace }) {
  const { ids, logProbs, rows, finished } = hypothesis, words = tokenizer.words(ids);
  const written = ids.map((id, t) => writtenToken(tokenizer, id, words[t], logProbs[t], steps[t].distributions[rows[t]]));
  const passes = rows.map((row, t) => steps[t].passes[row]), sourceWords = tokenizer.words(source);
  return {
    text: tokenizer.decode(writtenIds(hypothesis)),
    source: source.map((id, s) => plainToken(tokenizer, id, sourceWords[s])),
    read: [plainToken(tokenizer, BOS_ID, -1), ...written.slice(0, -1)],
    written,
    maps: attentionMaps(trace, config, passes, Object.keys(KINDS)),
    finished,
    dropped,
    languages,
    recorded: Object.fromEntries(trace.names.map((name) => [name, trace.joined(name, passes)])),
  };
}

/** @returns {Token} */
function plainToken(tokenizer, id, word) {
  return { text: tokenizer.shown(id), id, word: [PAD_ID, BOS_ID, EOS_ID].includes(id) ? -1 : word };
}

/** @returns {Token} */
function writtenToken(tokenizer, id, word, logProb, logProbs) {
  const candidates = largestIndices(logProbs).map((best) => ({ text: tokenizer.shown(best), probability: Math.exp(logProbs[best]), id: best }));
  return { ...plainToken(tokenizer, id, word), probability: Math.exp(logProb), candidates, entropy: entropyOf(logProbs) };
}

/**
 * The recorded weights of one hypothesis, (L, H, queries, keys) for each kind of attention that the model has.
 * @param {Trace} trace
 * @param {import("../network/translators.js").LayersConfig} config
 * @param {number[]} passes Of the hypothesis.
 * @param {string[]} kinds
 */
export function attentionMaps(trace, config, passes, kinds) {
  /** @type {Record<string, Tensor>} */
  const maps = {};
  for (const kind of kinds.filter((kind) => numLayers(config, kind))) {
    const layers = Array.from({ length: numLayers(config, kind) }, (_, layer) => trace.joined(hookName(kind, layer, "weights"), passes));
    const whole = tensor([layers.length, ...layers[0].shape]);
    for (const [layer, { data }] of layers.entries()) whole.data.set(data, layer * data.length);
    maps[kind] = whole;
  }
  return maps;
}
