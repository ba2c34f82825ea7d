// Classify a text, with the attention maps of the run.
import { softmax } from "../tensor.js";
import { BOS_ID, EOS_ID } from "../text/vocab.js";
import { Trace } from "../trace.js";
import { attentionMaps } from "./translate.js";

/**
 * @typedef {import("../tensor.js").Tensor} Tensor
 * @typedef {{ label: string, probabilities: Record<string, number>, logits: Float32Array, ids: number[],
 *   maps: Record<string, Tensor>, recorded: Record<string, Tensor> }} Classification `maps` has "encoder", (L, H, S, S), and,
 *   where a learned query pools, "pooling", (H, 1, S).
 */

/** The ids of a text with its end token. Of a text that is too long, the middle is left out. */
export function shortened(ids, maxLength) {
  const room = maxLength - 1, half = Math.floor(room / 2);
  return [...(ids.length <= room ? ids : [...ids.slice(0, room - half), ...ids.slice(ids.length - half)]), EOS_ID];
}

/**
 * @param {Pick<import("../checkpoint.js").ClassifierCheckpoint, "model" | "config">} checkpoint
 * @param {number[]} ids With the end token.
 * @param {{ edits?: Record<string, import("../trace.js").Edit>, record?: string[] }} [options]
 * @returns {Classification}
 */
export function classifyIds({ model, config }, ids, { edits = {}, record = [] } = {}) {
  const trace = new Trace({ record: ["*.weights", ...record], edits });
  const logits = model.forward(ids.length ? ids : [BOS_ID], trace), probabilities = [...softmax(logits).data];
  const maps = attentionMaps(trace, config, [], ["encoder"]);
  if (trace.names.includes("pooling.attention.weights")) maps.pooling = trace.joined("pooling.attention.weights");
  return {
    label: config.labels[probabilities.indexOf(Math.max(...probabilities))],
    probabilities: Object.fromEntries(config.labels.map((label, i) => [label, probabilities[i]])),
    logits: logits.data,
    ids,
    maps,
    recorded: Object.fromEntries(trace.names.map((name) => [name, trace.joined(name)])),
  };
}
