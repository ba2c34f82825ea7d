// Classify a text, with the attention maps of the run.
import { softmax } from "../tensor.js";
import { Trace } from "../trace.js";
import { logitsOf } from "./reading.js";
import { ATTENTION, attentionMaps, recordedIn, sourceOf } from "./run.js";

const POOLING = "pooling.attention.weights";

/** A long text keeps its beginning and its end, where reviews give their opinion. @param {number[]} ids */
export function shortenedIds(ids, room) {
  const half = Math.floor(room / 2);
  return ids.length > room ? [...ids.slice(0, half), ...ids.slice(half - room)] : ids;
}

/**
 * The class of a text: a result that has a source and writes nothing. `text` is the most probable label.
 * @param {AnyCheckpoint} checkpoint @param {string} text @param {string} second
 * @param {{ edits?: Edits, record?: string[] }} options @returns {Result}
 */
export function resultOfClassifying(checkpoint, text, second, options) {
  const { tokens, ids, dropped, segments } = sourceOf(
    checkpoint, text, second, checkpoint.config.max_length, shortenedIds
  );
  const { label, ...found } = classifyIds(checkpoint, ids, { ...options, segments });
  return {
    ...found, text: label, source: tokens, read: [], written: [], finished: true, dropped,
    languages: checkpoint.languages,
  };
}

/**
 * @param {{ model: any, config: Sizes }} checkpoint @param {number[]} ids With the special tokens.
 * @param {{ edits?: Edits, record?: string[], segments?: number[] }} [options]
 */
export function classifyIds({ model, config }, ids, { edits = {}, record = [], segments } = {}) {
  const trace = new Trace({ record: [ATTENTION, ...record], edits }), { labels, several_labels: several } = config;
  const logits = logitsOf(model, ids, trace, segments);
  const shares = several ? logits.data.map((one) => 1 / (1 + Math.exp(-one))) : softmax(logits).data;
  return {
    label: labels[shares.indexOf(Math.max(...shares))],
    probabilities: labels.map((label, i) => /** @type {[string, number]} */ ([label, shares[i]])),
    logits: logits.data,
    ids,
    maps: { ...attentionMaps(trace, config, ["encoder"]), ...(
      trace.names.includes(POOLING) && { pooling: trace.joined(POOLING) }
    ) },
    recorded: recordedIn(trace),
  };
}
