// Silence each head in turn: how the outcome of a text changes, and which token or label changes first. The outcome is
// the model's own: its text, read in one pass (teacher forcing), its guesses for masked tokens, or its label. Up to the
// first position where another token becomes the most probable, greedy search without the head writes the same tokens.
import { everyHead } from "../changes.js";
import { largestIndices } from "../decoding/search.js";
import { N_, require } from "../errors.js";
import { logitsOf } from "../inference/reading.js";
import { outcomesOf, segmentsOf } from "../inference/run.js";
import { ablateHead } from "../interventions.js";
import { headsOf } from "../network/translators.js";
import { logSumExp } from "../tensor.js";
import { hookName, NO_TRACE, Trace } from "../trace.js";

/**
 * @param {AnyCheckpoint} checkpoint @param {Result} result By greedy search with the unchanged model, or read.
 * @param {number} [first] The number of heads that are measured already.
 * @returns {Generator<{ effect: SilencingEffect, done: number, heads: number }, SilencingEffect[]>} One step per head.
 */
export function* silencingEachHead(checkpoint, result, first = 0) {
  const { config, specials: { banned } } = checkpoint, outcomes = outcomesOf(result);
  require(outcomes.length, "nothing-predicted", N_("The model predicts nothing in this text."));
  const scored = scoring(checkpoint, result, outcomes), heads = everyHead(headsOf(config));
  const isLabel = checkpoint.task === "classification"; // its rows are log-odds, the others are logits
  const total = (rows) => rows.reduce((sum, row, i) => sum + row[outcomes[i].id] - (isLabel ? 0 : logSumExp(row)), 0);
  /** The most probable outcome that may be written. */
  const best = (row) => largestIndices(row, banned.length + 1).find((id) => !banned.includes(id));
  const before = total(scored(NO_TRACE, true));
  /** @type {SilencingEffect[]} */
  const effects = [];
  for (const head of heads.slice(first)) {
    const trace = new Trace({ record: [], edits: { [hookName(head.kind, head.layer, "weights")]: ablateHead(head) } });
    const rows = scored(trace, head.kind === "encoder"), i = rows.findIndex((row, i) => best(row) !== outcomes[i].id);
    const effect = { ...head, change: total(rows) - before, position: i < 0 ? -1 : outcomes[i].position };
    effects.push(effect);
    yield { effect, done: first + effects.length, heads: heads.length };
  }
  return effects;
}

/**
 * A function that gives the logits at each outcome, or the log-odds of all labels.
 * @param {AnyCheckpoint} checkpoint @param {Result} result @param {Outcome[]} outcomes
 * @returns {(trace: Visitor, encode: boolean) => Float32Array[]} Heads of the decoder do not change what was encoded,
 *   so it is computed once. With `encode` it is computed again.
 */
function scoring({ model, task, config, specials }, { source, read }, outcomes) {
  const ids = source.map(({ id }) => id), segments = segmentsOf(source, specials);
  const at = (/** @type {Tensor} */ { data, shape: [, V] }) => outcomes.map(({ position }) => data.subarray(
    Number(position) * V, (Number(position) + 1) * V
  ));
  if (task === "classification") return (trace) => [logOdds(config, logitsOf(model, ids, trace, segments).data)];
  if (task === "filling") return (trace) => at(logitsOf(model, ids, trace, segments));
  const target = read.map(({ id }) => id);
  const memory = model.encode(ids, NO_TRACE);
  return (trace, encode) => at(model.decode(target, encode ? model.encode(ids, trace) : memory, trace));
}

/** ln p / (1 - p) of each label, from the logits. @param {Sizes} config @param {Float32Array} logits */
function logOdds({ several_labels: several }, logits) {
  if (several) return logits;
  return logits.map((logit, i) => {
    const others = logits.filter((_, j) => j !== i), highest = Math.max(...others);
    return logit - highest - Math.log(others.reduce((sum, one) => sum + Math.exp(one - highest), 0));
  });
}
