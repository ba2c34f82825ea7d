// The changes that a visitor can make inside a model, and the edits that apply them. They mean what they mean in
// model/interventions.py.
import { tensor } from "./tensor.js";
import { hookName } from "./trace.js";

/**
 * Layers, heads, queries and keys count from 0.
 * @typedef {import("./tensor.js").Tensor} Tensor
 * @typedef {import("./trace.js").Edit} Edit
 * @typedef {{ kind: string, layer: number, head: number }} Head
 * @typedef {Head & { query: number, key: number, weight: number }} PaintedCell An attention weight with a chosen value.
 *   The other weights of its row share the rest in their old proportions.
 * @typedef {Head & { weights: number[][] }} Pattern The rows that replace the first rows of a map.
 * @typedef {{ ablated?: Head[], uniform?: Head[], painted?: PaintedCell[], replaced?: Pattern[], positions?: boolean }}
 *   Intervention Silenced heads; heads with the same weight for every key that is not masked; painted weights; replaced
 *   patterns; false leaves the positional encoding out.
 */

/**
 * An edit that changes one row of one head.
 * @param {Head} head
 * @param {number} query Its position.
 * @param {(row: Float32Array) => void} change
 * @returns {Edit} Of (H, T, S).
 */
function editRow({ head }, query, change) {
  return (weights, first) => {
    const [, T, S] = weights.shape, t = query - first;
    if (t < 0 || t >= T) return weights;
    const edited = tensor(weights.shape, weights.data.slice()), start = (head * T + t) * S;
    change(edited.data.subarray(start, start + S));
    return edited;
  };
}

/**
 * An edit that changes all numbers of one head.
 * @param {Head} head
 * @param {(value: number) => number} change
 * @returns {Edit} Of (H, T, S).
 */
function editHead({ head }, change) {
  return (values) => {
    const [, T, S] = values.shape, size = T * S;
    return tensor(values.shape, values.data.map((value, i) => (Math.floor(i / size) === head ? change(value) : value)));
  };
}

/** Silence a head: its weights become 0, so its output does too. @param {Head} head */
export function ablateHead(head) {
  return editHead(head, () => 0);
}

/** For `masked_scores`: the same weight for every key that is not masked. @param {Head} head */
export function uniformHead(head) {
  return editHead(head, (score) => (score === -Infinity ? score : 0));
}

/**
 * Edits that set one weight, by stage. The row still sums to 1. If no other key has any weight, the cell keeps the whole
 * weight. A masked cell stays masked.
 * @param {PaintedCell} cell
 * @returns {{ masked_scores: Edit, weights: Edit }}
 */
export function paint(cell) {
  let masked = false;
  return {
    masked_scores(scores, first) {
      const [, T, S] = scores.shape, t = cell.query - first;
      masked = t >= 0 && t < T && scores.data[(cell.head * T + t) * S + cell.key] === -Infinity;
      return scores;
    },
    weights: editRow(cell, cell.query, (row) => {
      if (masked || cell.key >= row.length) return;
      row[cell.key] = 0;
      const others = row.reduce((sum, weight) => sum + weight, 0);
      if (others) for (let s = 0; s < row.length; s++) row[s] *= (1 - cell.weight) / others;
      row[cell.key] = others ? cell.weight : 1;
    }),
  };
}

/** The edits, for `weights`, that replace the first rows of a map. @param {Pattern} pattern */
export function replacePattern(pattern) {
  return pattern.weights.map((weights, query) => editRow(pattern, query, (row) => row.set(weights.slice(0, row.length))));
}

/** Edits that remove the positional encoding from the input of the encoder and the decoder. */
export function withoutPositions() {
  return ["encoder", "decoder"].flatMap((stack) => {
    /** @type {Tensor} */
    let vectors;
    return /** @type {[string, Edit][]} */ ([
      [`${stack}.embedding.token_vectors`, (found) => (vectors = found)],
      [`${stack}.embedding.sum`, () => vectors],
    ]);
  });
}

/**
 * New edits for one run over one text.
 * @param {Intervention} intervention
 * @returns {Record<string, Edit>}
 */
export function editsOf({ ablated = [], uniform = [], painted = [], replaced = [], positions = true }) {
  const place = ({ kind, layer }, stage) => hookName(kind, layer, stage);
  /** @type {[string, Edit][]} */
  const edits = [
    ...uniform.map((head) => /** @type {[string, Edit]} */ ([place(head, "masked_scores"), uniformHead(head)])),
    ...replaced.flatMap((pattern) => replacePattern(pattern).map((edit) => /** @type {[string, Edit]} */ ([place(pattern, "weights"), edit]))),
    ...painted.flatMap((cell) => Object.entries(paint(cell)).map(([stage, edit]) => /** @type {[string, Edit]} */ ([place(cell, stage), edit]))),
    ...ablated.map((head) => /** @type {[string, Edit]} */ ([place(head, "weights"), ablateHead(head)])),
    ...(positions ? [] : withoutPositions()),
  ];
  /** @type {Record<string, Edit>} */
  const joined = {};
  for (const [name, edit] of edits) {
    const before = joined[name];
    joined[name] = before ? (x, first) => edit(before(x, first), first) : edit;
  }
  return joined;
}
