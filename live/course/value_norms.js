// How long the vector is that each key of a head could add to the output of its layer.
import { noChanges } from "../changes.js";
import { hookName } from "../engine/trace.js";

/**
 * The length of each value of a head after the output projection, ‖v W_O‖ (Kobayashi et al. 2020, "Attention is Not Only a
 * Weight"), for each key. The model itself computes it: query i of the head gets the whole weight on key i, and
 * all other heads of the layer are silenced. What is then left of the output without any head is the bias.
 * @param {import("./situation.js").Situation} situation
 * @param {import("../head_row.js").Row} row
 */
export async function valueNorms({ session, info }, { kind, layer, head, keys, translation }) {
  const place = { kind, layer, head }, source = translation.source.map(({ id }) => id), name = hookName(kind, layer, "output");
  const read = kind === "decoder" ? translation.read.map(({ id }) => id) : keys.map(() => translation.read[0].id); // a query for each key
  const all = Array.from({ length: info.heads[kind][1] }, (_, one) => ({ ...place, head: one })), others = all.filter((one) => one.head !== head);
  const pattern = { ...place, weights: keys.map((_, i) => keys.map((_, j) => +(i === j))) };
  const outputOf = async (changes) => (await session.engine.read(source, read, { changes: { ...noChanges(), ...changes }, record: [name] })).recorded[name];
  const { data, shape: [, width] } = await outputOf({ ablated: others, replaced: [pattern] }), bias = await outputOf({ ablated: all });
  return keys.map((_, i) => Math.hypot(...data.slice(i * width, (i + 1) * width).map((number, at) => number - bias.data[at])));
}
