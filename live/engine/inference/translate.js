// Translate one text, and keep the attention maps of the passes that wrote the translation.
import { beam } from "../decoding/beam.js";
import { lengthLimit } from "../decoding/decoder_state.js";
import { greedy } from "../decoding/greedy.js";
import { sample, seededNumbers } from "../decoding/sampling.js";
import { entropyOf, finish, largestIndices, writtenIds } from "../decoding/search.js";
import { N_, require } from "../errors.js";
import { numLayers } from "../network/translators.js";
import { concatenate, tensor } from "../tensor.js";
import { BOS_ID, EOS_ID, PAD_ID } from "../text/vocab.js";
import { hookName, KINDS, Trace } from "../trace.js";

const NUM_CANDIDATES = 10;
/** @type {Record<string, [number, number]>} The smallest and the largest value, as in model/config/search.py. */
const SETTINGS = {
  beamSize: [1, 64], lengthPenalty: [0, 10], temperature: [0.001, 1000], topK: [0, Infinity], topP: [1e-9, 1],
};

/** Encode a source with its end token, cut to the positions of the model. @param {Checkpoint} checkpoint */
export function sourceIds({ tokenizer, config }, text) {
  const ids = tokenizer.encode(text), kept = ids.slice(0, config.max_length - 1);
  return { ids: [...kept, EOS_ID], dropped: ids.length - kept.length };
}

/** The tokens to force, position → id, so that the model writes exactly this text. @param {Checkpoint} checkpoint */
export function forcedIds({ tokenizer }, text) {
  return new Map([...tokenizer.encode(text), EOS_ID].entries());
}

/**
 * Create the search that the settings choose.
 * @param {Translator} model @param {number[]} source @param {SearchConfig} search @param {SearchOptions} options
 */
export function startSearch(model, source, { method, beamSize = 5, seed = 0, ...search }, options) {
  for (const [name, [least, most]] of Object.entries(SETTINGS)) {
    const { [name]: value = least } = { beamSize, ...search };
    require(
      value >= least && value <= most, "search-settings", N_("{name} is {value}. It must be from {least} to {most}."),
      { name, value, least, most },
    );
  }
  if (method === "beam") return beam(model, source, { ...options, ...search, size: beamSize });
  if (method === "sample") return sample(model, source, { random: seededNumbers(seed), ...search, ...options });
  return greedy(model, source, options);
}

/**
 * Translate one text. The generator yields after each step and returns the translation.
 * @param {Checkpoint} checkpoint @param {string} text @param {TranslateOptions} [options]
 * @returns {Generator<Progress, Translation>}
 */
export function* translating(checkpoint, text, { search = {}, forced, limit = 0, edits = {}, record = [] } = {}) {
  const { model, config } = checkpoint, { ids: source, dropped } = sourceIds(checkpoint, text);
  const trace = new Trace({ record: ["*.weights", ...record], edits });
  const started = startSearch(model, source, search, { forced, limit, trace });
  const most = Math.min(limit, config.max_length) || lengthLimit(source.length, config.max_length);
  /** @type {Step[]} */
  const steps = [];
  for (;;) {
    const { done, value } = started.next();
    if (done)
      return { ...writtenBy(checkpoint, value, steps, trace), source: shownTokens(checkpoint, source), dropped };
    steps.push(value);
    yield progressOf(checkpoint, steps, most, trace);
  }
}

/** Translate one text. @param {Checkpoint} checkpoint @param {string} text @param {TranslateOptions} [options] */
export function translate(checkpoint, text, options) {
  return finish(translating(checkpoint, text, options));
}

/** @param {Checkpoint} checkpoint @param {Step[]} steps @param {Trace} trace @returns {Progress} */
function progressOf(checkpoint, steps, most, trace) {
  const position = steps.length - 1, { token: id, branches, passes, distributions: [logProbs] } = steps[position];
  if (id === undefined) return { position, most, branches };
  const ids = steps.map(({ token }) => token ?? id);
  const token = withCandidates(checkpoint, shownTokens(checkpoint, ids)[position], logProbs);
  const maps = attentionMaps(trace, checkpoint.config, passes, ["decoder", "cross"]);
  return { position, most, branches, token, text: checkpoint.tokenizer.decode(ids), maps };
}

/**
 * What a hypothesis shows.
 * @param {Checkpoint} checkpoint @param {Hypothesis} hypothesis @param {Step[]} steps @param {Trace} trace
 */
function writtenBy(checkpoint, hypothesis, steps, trace) {
  const { tokenizer, config, languages } = checkpoint, { ids, rows, finished } = hypothesis;
  const passes = rows.map((row, t) => steps[t].passes[row]);
  const tokens = shownTokens(checkpoint, ids).map((token, t) => withCandidates(
    checkpoint, token, steps[t].distributions[rows[t]]
  ));
  return {
    text: tokenizer.decode(writtenIds(hypothesis)),
    read: [...shownTokens(checkpoint, [BOS_ID]), ...tokens.slice(0, -1)],
    written: tokens,
    maps: attentionMaps(trace, config, passes, Object.keys(KINDS)),
    finished,
    languages,
    recorded: recordedIn(trace, passes),
  };
}

/** @param {Pick<Checkpoint, "tokenizer">} checkpoint @param {number[]} ids @returns {Token[]} */
export function shownTokens({ tokenizer }, ids) {
  const words = tokenizer.words(ids);
  return ids.map(
    (id, i) => ({ text: tokenizer.shown(id), id, word: [PAD_ID, BOS_ID, EOS_ID].includes(id) ? -1 : words[i] })
  );
}

/** @param {Checkpoint} checkpoint @param {Token} token @param {Float32Array} logProbs @returns {Token} */
function withCandidates({ tokenizer }, token, logProbs) {
  const candidate = (id) => ({ text: tokenizer.shown(id), id, probability: Math.exp(logProbs[id]) });
  const candidates = largestIndices(logProbs, NUM_CANDIDATES).map(candidate);
  return { ...token, probability: Math.exp(logProbs[token.id]), candidates, entropy: entropyOf(logProbs) };
}

/**
 * The recorded weights, (L, H, queries, keys) for each kind of attention that the model has.
 * @param {Trace} trace @param {Sizes} config @param {number[]} passes Of one hypothesis. @param {string[]} kinds
 */
export function attentionMaps(trace, config, passes, kinds) {
  return Object.fromEntries(kinds.filter((kind) => numLayers(config, kind)).map((kind) => {
    const names = Array.from({ length: numLayers(config, kind) }, (_, layer) => hookName(kind, layer, "weights"));
    const maps = names.map((name) => trace.joined(name, passes));
    return [kind, tensor([maps.length, ...maps[0].shape], concatenate(...maps.map(({ data }) => data)))];
  }));
}

/**
 * Read a source and a target in one pass, as in training, and keep what passes the hook points. Tokens with the id of
 * padding are masked.
 * @param {Checkpoint} checkpoint @param {number[]} source (S) @param {number[]} target (T), what the decoder reads.
 * @param {{ edits?: Edits, record?: string[] }} [options]
 */
export function readingOf({ model }, source, target, { edits = {}, record = [] } = {}) {
  const trace = new Trace({ record: ["*.weights", ...record], edits });
  model.decode(target, model.encode(source, trace), trace);
  return { recorded: recordedIn(trace, []) };
}

/** Everything that was recorded: name of a hook point → (…, T, X). @param {Trace} trace @param {number[]} passes */
export function recordedIn(trace, passes) {
  return Object.fromEntries(trace.names.map((name) => [name, trace.joined(name, passes)]));
}
