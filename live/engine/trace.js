// Record and edit the tensors inside a model. A hook point is a call of `visit` with the name of the place, such as
// "decoder.layers.2.cross_attention.weights". The names are those of model/trace.py.
import { tensor } from "./tensor.js";

/** The kinds of attention: the stack that has each, its module there, and the tokens of its queries and keys. */
export const KINDS = {
  cross: { stack: "decoder", module: "cross_attention", queries: "written", keys: "source" },
  encoder: { stack: "encoder", module: "self_attention", queries: "source", keys: "source" },
  decoder: { stack: "decoder", module: "self_attention", queries: "read", keys: "read" },
};

/** The value of a joined map where a key came after its query. */
const NOT_COMPUTED = { weights: 0, masked_scores: -Infinity, scores: Number.NaN };

/** @type {Visitor} Without recording and edits. */
export const NO_TRACE = { visit: (_name, tensor) => tensor, nextPass() {} };

/** The name of a hook point, such as `decoder.layers.2.cross_attention.weights`; the layer may be "*". */
export function hookName(kind, layer, stage) {
  return `${KINDS[kind].stack}.layers.${layer}.${KINDS[kind].module}.${stage}`;
}

/** The expression of a pattern with `*` for any text. @param {string} pattern */
function expressionOf(pattern) {
  const parts = pattern.split("*").map((part) => part.replace(/[.+?^${}()|[\]\\]/g, "\\$&"));
  return new RegExp(`^${parts.join(".*")}$`);
}

/** What passes the hook points in one run over one text: a pass of the encoder, then one for each decoder step. */
export class Trace {
  /** @param {{ record?: string[], edits?: Edits }} [options] Patterns of names to record; pattern → edit. */
  constructor({ record = ["*"], edits = {} } = {}) {
    this.record = record.map(expressionOf);
    this.edits = Object.entries(edits).map(([pattern, edit]) => ({ names: expressionOf(pattern), edit }));
    /** @type {Map<string, { edits: Edit[], passes: Tensor[] | null }>} Null: not recorded. */
    this.plans = new Map();
    this.first = 0;
  }

  /** Edit a tensor, then record it, so a recording always shows what the model used. @param {Tensor} tensor */
  visit(name, tensor) {
    const { edits, passes } = this.plans.get(name) ?? this.plan(name);
    for (const edit of edits) tensor = edit(tensor, this.first);
    passes?.push(tensor);
    return tensor;
  }

  /** @param {string} name */
  plan(name) {
    const edits = this.edits.filter(({ names }) => names.test(name)).map(({ edit }) => edit);
    const plan = { edits, passes: this.record.some((names) => names.test(name)) ? [] : null };
    this.plans.set(name, plan);
    return plan;
  }

  /** @param {number} first The position of the first query of the pass. */
  nextPass(first) {
    this.first = first;
  }

  /** The names of the hook points that recorded something. */
  get names() {
    return [...this.plans.keys()].filter((name) => this.plans.get(name)?.passes);
  }

  /**
   * Join the passes of a search: the queries of all passes, one after the other, (…, T, X). In decoder self-attention
   * the keys grow from pass to pass; the missing cells of earlier queries get the values of masked cells.
   * @param {string} name
   */
  joined(name) {
    const parts = this.plans.get(name)?.passes ?? [], shapes = parts.map(({ shape }) => shape.slice(-2));
    const length = shapes.reduce((sum, [rows]) => sum + rows, 0);
    const width = Math.max(...shapes.map(([, columns]) => columns));
    const whole = tensor([...parts[0].shape.slice(0, -2), length, width]);
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
