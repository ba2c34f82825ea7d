// One query of one head: what the model recorded, and the same numbers computed again step by step.
import { times } from "./assets/numbers.js";
import { singleHead } from "./chosen_head.js";
import { hookName, KINDS } from "./engine/trace.js";

export const ROW_STAGES = ["queries", "keys", "values", "masked_scores", "weights", "head_outputs"];

/**
 * @typedef {{ query: Float32Array, keys: Float32Array[], values: Float32Array[], masked: boolean[], weights:
 *   Float32Array, output: Float32Array }} Parts The recorded vectors and numbers of one query: (K), (S, K), (S, K),
 *   (S), (S), (K).
 * @typedef {{ kind: string, layer: number, head: number, query: number, queries: string[], keys: string[], translation:
 *   Translation }} Row
 */

/**
 * The row of a map that the visitor chose.
 * @param {import("./chosen_head.js").Chosen} chosen
 * @param {(record: string[]) => Translation | Promise<Translation>} translate
 * @returns {Promise<Row>}
 */
export async function chosenRow(chosen, translate) {
  const { kind, layer, head } = singleHead(chosen);
  const translation = await translate(ROW_STAGES.map((stage) => hookName(kind, layer, stage)));
  const [queries, keys] = [KINDS[kind].queries, KINDS[kind].keys]
    .map((side) => translation[side].map(({ text }) => text));
  const query = Math.min(Math.max(Number(chosen.choices.query ?? 2), 0), queries.length - 1);
  return { kind, layer, head, query, queries, keys, translation };
}

/**
 * @param {Record<string, Tensor>} recorded @param {{ kind: string, layer: number, head: number, query: number }} place
 * @returns {Parts}
 */
export function partsOf(recorded, { kind, layer, head, query }) {
  const rows = (stage) => {
    const { data, shape: [, length, width] } = recorded[hookName(kind, layer, stage)];
    return times(length, (i) => data.subarray((head * length + i) * width, (head * length + i + 1) * width));
  };
  return {
    query: rows("queries")[query], keys: rows("keys"), values: rows("values"),
    masked: [...rows("masked_scores")[query]].map((score) => score === -Infinity),
    weights: rows("weights")[query], output: rows("head_outputs")[query],
  };
}

/** Compute the query again: q·k → scale → mask → softmax → α·v. @param {Parts} parts */
export function derive({ query, keys, values, masked, weights, output }, { scaled = true, temperature = 1 } = {}) {
  const dots = keys.map((key) => key.reduce((sum, number, i) => sum + number * query[i], 0));
  const scores = dots.map((dot) => dot / (scaled ? Math.sqrt(query.length) : 1) / temperature);
  const open = scores.map((score, s) => (masked[s] ? -Infinity : score)), highest = Math.max(...open);
  const exponentials = open.map((score) => Math.exp(score - highest));
  const sum = exponentials.reduce((all, one) => all + one, 0);
  const shares = exponentials.map((one) => one / sum);
  const weighted = values.map((value, s) => value.map((number) => number * shares[s]));
  const result = Array.from(output, (_, i) => weighted.reduce((total, row) => total + row[i], 0));
  const difference = (a, b) => (Number.isFinite(a) || Number.isFinite(b) ? Math.abs(a - b) : 0); // none between two NaN
  const apart = (a, b) => Math.max(...Array.from(a, (number, i) => difference(number, b[i])));
  return {
    dots, scores, open, shares, weighted, result, difference: Math.max(apart(shares, weights), apart(result, output))
  };
}
