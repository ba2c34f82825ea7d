// Compute a run: translate, continue, read or classify a text, and keep the attention maps of its passes.
import { readChanges } from "../changes.js";
import { greedy } from "../decoding/search.js";
import { N_, require } from "../errors.js";
import { editsOf } from "../interventions.js";
import { KINDS, Trace } from "../trace.js";
import { resultOfReading } from "./reading.js";
import { ATTENTION, attentionMaps, attentionMasks, recordedIn, shownTokens, sourceOf, withCandidates } from "./run.js";

const NEW_TOKENS = 40; // that a language model writes after a text

/**
 * Prepare a search over one text. For a language model, the text is a prompt: the decoder reads its first token, and
 * all others are forced.
 * @param {AnyCheckpoint} checkpoint @param {string} text @param {TranslateOptions} options
 */
function searchInput(checkpoint, text, { forced = new Map(), limit = 0 }) {
  const { task, config: { max_length: length }, specials } = checkpoint;
  if (task !== "continuation")
    return { ...sourceOf(checkpoint, text, "", length), options: { specials, forced, limit, given: 0 } };
  const most = Math.min(limit || NEW_TOKENS, Math.floor(length / 2));
  const found = sourceOf(checkpoint, text, "", length - most), [start, ...prompt] = found.ids, given = prompt.length;
  const options = {
    specials: { ...specials, start }, forced: new Map([...forced, ...prompt.entries()]), limit: given + most, given,
  };
  return { ...found, options };
}

/**
 * Translate or continue one text. The generator yields after each step and returns the result.
 * @param {AnyCheckpoint} checkpoint @param {string} text @param {TranslateOptions} [options]
 * @returns {Generator<Progress, Result>}
 */
export function* translating(checkpoint, text, { edits = {}, record = [], ...asked } = {}) {
  const { model, task, config, specials, tokenizer, languages } = checkpoint, continues = task === "continuation";
  const { tokens, ids: source, options, dropped } = searchInput(checkpoint, text, asked), { given } = options;
  const trace = new Trace({ record: [ATTENTION, ...record], edits });
  const search = greedy(model, source, { ...options, trace }), steps = /** @type {Step[]} */ ([]);
  let found = search.next();
  for (; !found.done; found = search.next()) {
    steps.push(found.value);
    const ids = steps.slice(given).map(({ token }) => token);
    if (ids.length) yield { position: ids.length - 1, most: found.value.most, text: tokenizer.decode(ids) };
  }
  const { ids, finished } = found.value, before = continues ? source.slice(0, 1) : [];
  const written = shownTokens(tokenizer, specials, ids).map((token, t) => withCandidates(
    tokenizer, token, steps[t].logProbs, steps[t].fixed
  ));
  const mark = () => ({ ...shownTokens(tokenizer, specials, [specials.start])[0], word: -1 });
  const maps = attentionMaps(trace, config, Object.keys(KINDS));
  return {
    text: tokenizer.decode([...before, ...(finished ? ids.slice(0, -1) : ids)]), written, maps,
    masks: attentionMasks(config, maps), finished, languages, first_token_fixed: (specials.first ?? null) !== null,
    recorded: recordedIn(trace), read: [(continues && tokens[0]) || mark(), ...written.slice(0, -1)],
    source: continues ? [] : tokens, dropped, prompt_length: given,
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
  return { recorded: recordedIn(trace) };
}

/**
 * Translate, continue, read or classify a text, and record hook points. The generator yields after each written token.
 * @param {AnyCheckpoint} checkpoint @param {Run} run
 * @param {string[]} [record] Patterns for the names of hook points, in addition to the weights.
 * @returns {Generator<Progress, Result>}
 */
export function* running(checkpoint, { text, second = "", search, forced = [], changes = "" }, record = []) {
  const { task, specials } = checkpoint, intervention = readChanges(changes);
  require(
    (search?.method ?? "greedy") === "greedy", "search-settings",
    N_("The browser writes with greedy search only. Choose greedy search, or open this model in the app."),
  );
  require(intervention, "unknown-change", N_("The run has an unknown change: {changes}."), { changes });
  const isPair = second.trim() !== "", edits = editsOf(intervention);
  require(
    !isPair || specials.separator?.length, "no-pairs",
    N_("This model reads single texts: its tokenizer has no template for two. Leave the second text out."),
  );
  if (task === "translation" || task === "continuation")
    return yield* translating(checkpoint, text, { forced: new Map(forced), edits, record });
  return resultOfReading(checkpoint, text, second, { edits, record });
}
