// Silence each head in turn: how the log-probability of a translation changes, and which word changes first.
// The translation is read in one pass (teacher forcing). Up to the first position where another token becomes the most
// probable, greedy search without the head writes the same tokens.
import { largestIndices } from "../decoding/search.js";
import { ablateHead } from "../interventions.js";
import { allHeads } from "../network/translators.js";
import { logSumExp } from "../tensor.js";
import { BANNED } from "../text/vocab.js";
import { hookName, KINDS, NO_TRACE, Trace } from "../trace.js";

/**
 * @param {Checkpoint} checkpoint @param {ReadTokens} translation Written by greedy search with the unchanged model.
 * @param {number} [first] The number of heads that are measured already.
 * @returns {Generator<{ effect: SilencingEffect, done: number, heads: number }, SilencingEffect[]>} One step per head.
 */
export function* silencingEachHead({ model, config }, translation, first = 0) {
  const [source, read, written] = [translation.source, translation.read, translation.written]
    .map((tokens) => tokens.map(({ id }) => id));
  const memory = model.encode(source, NO_TRACE), heads = allHeads(config, Object.keys(KINDS));
  const logits = (memory, trace) => {
    const { data, shape: [T, V] } = model.decode(read, memory, trace);
    return Array.from({ length: T }, (_, t) => data.subarray(t * V, (t + 1) * V));
  };
  const logProb = (rows) => rows.reduce((sum, row, t) => sum + row[written[t]] - logSumExp(row), 0);
  const before = logProb(logits(memory, NO_TRACE));
  /** @type {SilencingEffect[]} */
  const effects = [];
  for (const head of heads.slice(first)) {
    const trace = new Trace({ record: [], edits: { [hookName(head.kind, head.layer, "weights")]: ablateHead(head) } });
    // Heads of the decoder do not change the memory, so it is computed once.
    const rows = logits(head.kind === "encoder" ? model.encode(source, trace) : memory, trace);
    const position = rows.findIndex((row, t) => best(row) !== written[t]);
    const effect = { ...head, change: logProb(rows) - before, position };
    effects.push(effect);
    yield { effect, done: first + effects.length, heads: heads.length };
  }
  return effects;
}

/** The most probable token that may be written. @param {Float32Array} logits */
function best(logits) {
  return largestIndices(logits, BANNED.length + 1).find((id) => !BANNED.includes(id));
}
