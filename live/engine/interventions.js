// The changes that a visitor can make inside a model, and the edits that apply them, as in model/interventions.py.
import { mapped } from "./tensor.js";
import { hookName } from "./trace.js";

/**
 * An edit of (H, T, S) that changes one row of one head.
 * @param {Head} head @param {number} query @param {(row: Float32Array) => void} change @returns {Edit}
 */
function editRow({ head }, query, change) {
  return (weights, first) => {
    const [, T, S] = weights.shape, t = query - first, edited = mapped(weights, (value) => value);
    if (t >= 0 && t < T) change(edited.data.subarray((head * T + t) * S, (head * T + t + 1) * S));
    return edited;
  };
}

/** For `weights`: silence a head. Its weights become 0, so its output does too. @param {Head} head @returns {Edit} */
export function ablateHead({ head }) {
  return (values) => {
    const size = values.shape[1] * values.shape[2];
    return mapped(values, (value, i) => (Math.floor(i / size) === head ? 0 : value));
  };
}

/**
 * For `masked_scores`: the same weight for every key that is not masked. The exponentials of a row keep their sum.
 * @param {Head} head @returns {Edit}
 */
export function uniformHead({ head }) {
  return (scores) => {
    const [, T, S] = scores.shape, edited = mapped(scores, (value) => value);
    for (let t = head * T; t < (head + 1) * T; t++) {
      const row = edited.data.subarray(t * S, (t + 1) * S), open = row.filter((score) => score !== -Infinity);
      const highest = Math.max(...open);
      const mean = highest + Math.log(open.reduce((sum, score) => sum + Math.exp(score - highest), 0) / open.length);
      for (let s = 0; s < S; s++) if (row[s] !== -Infinity) row[s] = Number.isFinite(mean) ? mean : 0;
    }
    return edited;
  };
}

/**
 * Edits that set one weight, by stage. The row still sums to 1. If no other key has any weight, the cell keeps the
 * whole weight. A masked cell stays masked.
 * @param {PaintedCell} cell
 */
export function paint(cell) {
  let masked = false;
  const checkMask = editRow(cell, cell.query, (scores) => {
    masked = scores[cell.key] === -Infinity;
  });
  const setWeight = editRow(cell, cell.query, (row) => {
    if (masked || cell.key >= row.length) return;
    row[cell.key] = 0;
    const others = row.reduce((sum, weight) => sum + weight, 0);
    if (others) for (let s = 0; s < row.length; s++) row[s] *= (1 - cell.weight) / others;
    row[cell.key] = others ? cell.weight : 1;
  });
  return { masked_scores: checkMask, weights: setWeight };
}

/** For `weights`: replace the first rows of a map. @param {Pattern} pattern */
export function replacePattern(pattern) {
  return inOrder(pattern.weights.map(
    (weights, query) => editRow(pattern, query, (row) => row.set(weights.slice(0, row.length)))
  ));
}

/** Remove the positional encoding from the input of the encoder and the decoder. @returns {[string, Edit][]} */
export function withoutPositions() {
  return ["encoder", "decoder"].flatMap((stack) => {
    /** @type {Tensor} */
    let vectors;
    const keep = (found) => (vectors = found), restore = () => vectors;
    return [[`${stack}.embedding.token_vectors`, keep], [`${stack}.embedding.sum`, restore]];
  });
}

/** One edit that applies several edits in their order. @param {Edit[]} edits @returns {Edit} */
function inOrder(edits) {
  return (tensor, first) => edits.reduce((edited, edit) => edit(edited, first), tensor);
}

/** New edits for one run over one text. @param {Intervention} intervention @returns {Edits} */
export function editsOf({ ablated = [], uniform = [], painted = [], replaced = [], positions = true }) {
  /** @type {[string, Edit][]} */
  const edits = [];
  const add = ({ kind, layer }, stage, edit) => edits.push([hookName(kind, layer, stage), edit]);
  for (const head of uniform) add(head, "masked_scores", uniformHead(head));
  for (const pattern of replaced) add(pattern, "weights", replacePattern(pattern));
  for (const cell of painted) for (const [stage, edit] of Object.entries(paint(cell))) add(cell, stage, edit);
  // Also the output, because 0 times a value that is not a number is not 0.
  for (const head of ablated) for (const stage of ["weights", "head_outputs"]) add(head, stage, ablateHead(head));
  if (!positions) edits.push(...withoutPositions());
  const named = (name) => edits.filter(([other]) => other === name).map(([, edit]) => edit);
  return Object.fromEntries(edits.map(([name]) => [name, inOrder(named(name))]));
}
