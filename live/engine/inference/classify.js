// Classify a text, with the attention maps of the run.
import { softmax } from "../tensor.js";
import { BOS_ID, EOS_ID } from "../text/vocab.js";
import { Trace } from "../trace.js";
import { attentionMaps, recordedIn } from "./translate.js";

const POOLING = "pooling.attention.weights";

/** The ids of a text with its end token. A long text keeps its beginning and its end. @param {number[]} ids */
export function shortenedIds(ids, maxLength) {
  const room = maxLength - 1, half = Math.floor(room / 2);
  return [...(ids.length > room ? [...ids.slice(0, half), ...ids.slice(half - room)] : ids), EOS_ID];
}

/**
 * @param {Pick<ClassifierCheckpoint, "model" | "config">} checkpoint @param {number[]} ids With the end token.
 * @param {{ edits?: Edits, record?: string[] }} [options] @returns {Classification}
 */
export function classifyIds({ model, config }, ids, { edits = {}, record = [] } = {}) {
  const trace = new Trace({ record: ["*.weights", ...record], edits });
  const logits = model.forward(ids.length ? ids : [BOS_ID], trace), probabilities = [...softmax(logits).data];
  return {
    label: config.labels[probabilities.indexOf(Math.max(...probabilities))],
    probabilities: Object.fromEntries(config.labels.map((label, i) => [label, probabilities[i]])),
    logits: logits.data,
    ids,
    maps: { ...attentionMaps(trace, config, [], ["encoder"]), ...(
      trace.names.includes(POOLING) && { pooling: trace.joined(POOLING) }
    ) },
    recorded: recordedIn(trace, []),
  };
}
