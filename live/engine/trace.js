// Record and edit the tensors inside a model. A hook point is a call of `visit` with the name of the place, such as
// "decoder.layers.2.cross_attention.weights". The names are those of model/trace.py.
import { tensor } from "./tensor.js";

/**
 * @typedef {import("./tensor.js").Tensor} Tensor
 * @typedef {(tensor: Tensor, first: number) => Tensor} Edit It returns a new tensor, or the same one unchanged. `first`
 *   is the position of the first query of the pass.
 * @typedef {{ visit(name: string, tensor: Tensor): Tensor, nextPass(first: number): number }} Visitor
 */

/** @type {Record<string, number>} The value of a joined map where a key came after its query. */
const NOT_COMPUTED = { weights: 0, masked_scores: -Infinity, scores: Number.NaN };

/** @type {Visitor} Without recording and edits. */
export const NO_TRACE = { visit: (_name, tensor) => tensor, nextPass: () => 0 };

/** @param {string} pattern With `*` for any text. */
function patternMatcher(pattern) {
  const parts = pattern.split("*").map((part) => part.replace(/[.+?^${}()|[\]\\]/g, "\\$&"));
  return new RegExp(`^${parts.join(".*")}$`);
}

/** What passes the hook points in one run over one text. Pass 0 is the encoder, and each later one a decoder step. */
export class Trace {
  /** @param {{ record?: string[], edits?: Record<string, Edit> }} [options] Patterns of names; pattern → edit. */
  constructor({ record = ["*"], edits = {} } = {}) {
    this.record = record.map(patternMatcher);
    this.edits = Object.entries(edits).map(([pattern, edit]) => ({ matcher: patternMatcher(pattern), edit }));
    /** @type {Map<string, { edits: Edit[], recorded: boolean }>} */
    this.plan = new Map();
    /** @type {Map<string, { pass: number, tensor: Tensor }[]>} */
    this.recorded = new Map();
    this.pass = 0;
    this.first = 0;
  }

  /** Edit a tensor, then record it, so a recording always shows what the model used. */
  visit(name, tensor) {
    const { edits, recorded } = this.planOf(name);
    for (const edit of edits) tensor = edit(tensor, this.first);
    if (recorded) {
      if (!this.recorded.has(name)) this.recorded.set(name, []);
      this.recorded.get(name)?.push({ pass: this.pass, tensor });
    }
    return tensor;
  }

  planOf(name) {
    let plan = this.plan.get(name);
    if (!plan) {
      const edits = this.edits.filter(({ matcher }) => matcher.test(name)).map(({ edit }) => edit);
      plan = { edits, recorded: this.record.some((matcher) => matcher.test(name)) };
      this.plan.set(name, plan);
    }
    return plan;
  }

  /** @param {number} first The position of the first query of the pass. */
  nextPass(first) {
    this.first = first;
    return ++this.pass;
  }

  /** The names of the hook points that recorded something. */
  get names() {
    return [...this.recorded.keys()];
  }

  /**
   * Join the passes of a step-by-step search: the queries of all passes, one after the other. In decoder self-attention
   * the keys grow from pass to pass; the missing cells of earlier queries get the values of masked cells.
   * @param {string} name
   * @param {number[]} [passes] Of one hypothesis of a beam search; by default all. Pass 0 always belongs to it.
   * @returns {Tensor} (…, T, X)
   */
  joined(name, passes) {
    const found = (this.recorded.get(name) ?? []).filter(({ pass }) => !pass || !passes || passes.includes(pass));
    if (!found.length) throw new Error(`The hook point ${name} recorded nothing.`);
    const parts = found.map(({ tensor }) => tensor), lead = parts[0].shape.slice(0, -2);
    const length = parts.reduce((sum, { shape }) => sum + shape[shape.length - 2], 0);
    const width = Math.max(...parts.map(({ shape }) => shape[shape.length - 1]));
    const whole = tensor([...lead, length, width]);
    whole.data.fill(NOT_COMPUTED[name.slice(name.lastIndexOf(".") + 1)] ?? 0);
    let first = 0;
    for (const { data, shape } of parts) {
      const [rows, columns] = shape.slice(-2);
      for (let i = 0; i < data.length / columns; i++) {
        const row = Math.floor(i / rows) * length + first + (i % rows);
        whole.data.set(data.subarray(i * columns, (i + 1) * columns), row * width);
      }
      first += rows;
    }
    return whole;
  }
}

/**
 * The kinds of attention: the stack that has each, its module there, and the tokens of its queries and keys.
 * @type {Record<string, { stack: string, module: string, queries: string, keys: string }>}
 */
export const KINDS = {
  cross: { stack: "decoder", module: "cross_attention", queries: "written", keys: "source" },
  encoder: { stack: "encoder", module: "self_attention", queries: "source", keys: "source" },
  decoder: { stack: "decoder", module: "self_attention", queries: "read", keys: "read" },
};

/**
 * The name of a hook point, such as `decoder.layers.2.cross_attention.weights`.
 * @param {string} kind One of `KINDS`.
 * @param {number | string} layer Counted from 0, or "*".
 * @param {string} stage Such as "queries", "scores" or "weights".
 */
export function hookName(kind, layer, stage) {
  return `${KINDS[kind].stack}.layers.${layer}.${KINDS[kind].module}.${stage}`;
}
