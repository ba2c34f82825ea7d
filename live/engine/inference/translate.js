// Compute a run: translate, continue, read or classify a text, and keep the attention maps of its passes.
import { readChanges } from "../changes.js";
import { beam } from "../decoding/beam.js";
import { sample, seededNumbers } from "../decoding/sampling.js";
import { greedy, lengthLimit, writtenIds } from "../decoding/search.js";
import { N_, require } from "../errors.js";
import { editsOf } from "../interventions.js";
import { KINDS, Trace } from "../trace.js";
import { resultOfClassifying } from "./classify.js";
import { resultOfReading } from "./reading.js";
import { ATTENTION, attentionMaps, attentionMasks, recordedIn, shownTokens, sourceOf, withCandidates } from "./run.js";

const NEW_TOKENS = 40; // that a language model writes after a text
/** @type {Record<string, [number, number]>} The smallest and the largest value, as in model/config/search.py. */
const SETTINGS = {
  beam_size: [1, 64], length_penalty: [-10, 10], temperature: [0.001, 1000], top_k: [0, Infinity], top_p: [1e-9, 1],
};

/**
 * Create the search that the settings choose.
 * @param {Model} model @param {number[]} source @param {SearchConfig} search @param {SearchOptions} options
 */
export function startSearch(model, source, search, options) {
  for (const [name, [least, most]] of Object.entries(SETTINGS)) {
    const value = search[name] ?? least;
    require(
      value >= least && value <= most, "search-settings", N_("{name} is {value}. It must be from {least} to {most}."),
      { name, value, least, most },
    );
  }
  const { method, beam_size: size = 5, length_penalty: lengthPenalty, seed = 0 } = search;
  if (method === "beam") return beam(model, source, { ...options, size, lengthPenalty });
  if (method !== "sample") return greedy(model, source, options);
  const { temperature, top_k: topK, top_p: topP, random = seededNumbers(seed) } = search;
  return sample(model, source, { ...options, temperature, topK, topP, random });
}

/**
 * Prepare a search over one text. For a language model, the text is a prompt: the decoder reads its first token, and
 * all others are forced.
 * @param {AnyCheckpoint} checkpoint @param {string} text @param {SearchOptions} options
 */
function searchInput(checkpoint, text, { forced = new Map(), limit = 0 }) {
  const { task, config: { max_length: length }, specials } = checkpoint;
  if (task !== "continuation") {
    const found = sourceOf(checkpoint, text, "", length);
    const usual = lengthLimit(found.ids.length, length, specials.rules?.fewest);
    return { ...found, options: { specials, forced, limit }, given: 0, most: Math.min(limit, length) || usual };
  }
  const most = Math.min(limit || NEW_TOKENS, Math.floor(length / 2));
  const found = sourceOf(checkpoint, text, "", length - most), [start, ...prompt] = found.ids, given = prompt.length;
  const options = {
    specials: { ...specials, start }, forced: new Map([...forced, ...prompt.entries()]), limit: given + most, given,
  };
  return { ...found, options, given, most };
}

/**
 * Translate or continue one text. The generator yields after each step and returns the result.
 * @param {AnyCheckpoint} checkpoint @param {string} text @param {TranslateOptions} [options]
 * @returns {Generator<Progress, Result>}
 */
export function* translating(checkpoint, text, { search = {}, edits = {}, record = [], ...asked } = {}) {
  const { model, task, specials, tokenizer } = checkpoint, start = searchInput(checkpoint, text, asked);
  const trace = new Trace({ record: [ATTENTION, ...record], edits });
  const started = startSearch(model, start.ids, search, { ...start.options, trace });
  /** @type {Step[]} */
  const steps = [];
  for (;;) {
    const { done, value } = started.next();
    if (done) {
      const { given: prompt_length, dropped, tokens } = start, [first] = tokens, continues = task === "continuation";
      const written = writtenBy(checkpoint, value, steps, trace, continues ? start.ids.slice(0, 1) : []);
      const mark = () => ({ ...shownTokens(tokenizer, specials, [specials.start])[0], word: -1 });
      const read = [continues && first ? first : mark(), ...written.written.slice(0, -1)];
      return { ...written, read, source: continues ? [] : tokens, dropped, prompt_length };
    }
    steps.push(value);
    if (steps.length > start.given) yield progressOf(checkpoint, steps, start, trace);
  }
}

/**
 * @param {AnyCheckpoint} checkpoint @param {Step[]} steps @param {{ most: number, given: number }} start
 * @param {Trace} trace @returns {Progress}
 */
function progressOf({ target, specials, config }, steps, { most, given }, trace) {
  const last = steps.length - 1, position = last - given;
  const { token: id, branches, passes, distributions: [logProbs], fixed } = steps[last];
  if (id === undefined) return { position, most, branches };
  const ids = steps.slice(given).map(({ token }) => token ?? id);
  const token = withCandidates(target, shownTokens(target, targetOf(specials), ids)[position], logProbs, fixed);
  const maps = attentionMaps(trace, config, passes, ["decoder", "cross"]);
  return { position, most, branches, token, text: target.decode(ids), maps };
}

/** The special tokens of what is written. @param {AllSpecials} specials */
function targetOf(specials) {
  return { ...specials, ...specials.written };
}

/**
 * What a hypothesis shows.
 * @param {AnyCheckpoint} checkpoint @param {Hypothesis} hypothesis @param {Step[]} steps @param {Trace} trace
 * @param {number[]} before Ids with which the text begins.
 */
function writtenBy(checkpoint, hypothesis, steps, trace, before) {
  const { target, specials, config, languages } = checkpoint, { ids, rows, finished } = hypothesis;
  const passes = rows.map((row, t) => steps[t].passes[row]);
  const written = shownTokens(target, targetOf(specials), ids).map((token, t) => withCandidates(
    target, token, steps[t].distributions[rows[t]], steps[t].fixed
  ));
  const maps = attentionMaps(trace, config, passes, Object.keys(KINDS));
  return {
    text: target.decode([...before, ...writtenIds(hypothesis)]),
    written,
    maps,
    masks: attentionMasks(config, maps),
    finished,
    languages,
    first_token_fixed: (specials.first ?? null) !== null,
    recorded: recordedIn(trace, passes),
  };
}

/**
 * Read a source and a target in one pass, as in training, and keep what passes the hook points. Tokens with the id of
 * padding are masked.
 * @param {AnyCheckpoint} checkpoint @param {number[]} source (S) @param {number[]} target (T), what the decoder reads.
 * @param {{ edits?: Edits, record?: string[] }} [options]
 */
export function readingOf({ model }, source, target, { edits = {}, record = [] } = {}) {
  const trace = new Trace({ record: [ATTENTION, ...record], edits });
  model.decode(target, model.encode(source, trace), trace);
  return { recorded: recordedIn(trace, []) };
}

/**
 * Translate, continue, read or classify a text, and record hook points. The generator yields after each written token.
 * @param {AnyCheckpoint} checkpoint @param {Run} run
 * @param {string[]} [record] Patterns for the names of hook points, in addition to the weights.
 * @returns {Generator<Progress, Result>}
 */
export function* running(checkpoint, { text, second = "", search, forced = [], changes = "" }, record = []) {
  const { task, specials } = checkpoint, intervention = readChanges(changes);
  require(intervention, "unknown-change", N_("The run has an unknown change: {changes}."), { changes });
  const isPair = second.trim() !== "", edits = editsOf(intervention);
  require(
    !isPair || specials.separator?.length, "no-pairs",
    N_("This model reads single texts: its tokenizer has no template for two. Leave the second text out."),
  );
  if (task === "classification") return resultOfClassifying(checkpoint, text, second, { edits, record });
  if (task === "filling" || task === "reading") return resultOfReading(checkpoint, text, second, { edits, record });
  return yield* translating(checkpoint, text, { search, forced: new Map(forced), edits, record });
}
