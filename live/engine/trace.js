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
export const NO_TRACE = { visit: (_name, tensor) => tensor, nextPass: () => 0 };

/** The name of a hook point, such as `decoder.layers.2.cross_attention.weights`; the layer may be "*". */
export function hookName(kind, layer, stage) {
  return `${KINDS[kind].stack}.layers.${layer}.${KINDS[kind].module}.${stage}`;
}

/** Whether a name fits a pattern with `*` for any text. */
function fits(name, pattern) {
  const parts = pattern.split("*").map((part) => part.replace(/[.+?^${}()|[\]\\]/g, "\\$&"));
  return new RegExp(`^${parts.join(".*")}$`).test(name);
}

/** What passes the hook points in one run over one text. Pass 0 is the encoder, and each later one a decoder step. */
export class Trace {
  /** @param {{ record?: string[], edits?: Edits }} [options] Patterns of names to record; pattern → edit. */
  constructor({ record = ["*"], edits = {} } = {}) {
    this.record = record;
    this.edits = Object.entries(edits);
    /** @type {Map<string, { edits: Edit[], recorded: boolean }>} */
    this.plans = new Map();
    /** @type {Map<string, { pass: number, tensor: Tensor }[]>} */
    this.passes = new Map();
    this.pass = this.first = 0;
  }

  /** Edit a tensor, then record it, so a recording always shows what the model used. @param {Tensor} tensor */
  visit(name, tensor) {
    const { edits, recorded } = this.planOf(name);
    for (const edit of edits) tensor = edit(tensor, this.first);
    if (recorded) this.passes.set(name, [...(this.passes.get(name) ?? []), { pass: this.pass, tensor }]);
    return tensor;
  }

  planOf(name) {
    const plan = this.plans.get(name) ?? {
      edits: this.edits.filter(([pattern]) => fits(name, pattern)).map(([, edit]) => edit),
      recorded: this.record.some((pattern) => fits(name, pattern)),
    };
    this.plans.set(name, plan);
    return plan;
  }

  /** @param {number} first The position of the first query of the pass. */
  nextPass(first) {
    this.first = first;
    return ++this.pass;
  }

  /** The names of the hook points that recorded something. */
  get names() {
    return [...this.passes.keys()];
  }

  /**
   * Join the passes of a search: the queries of all passes, one after the other, (…, T, X). In decoder self-attention
   * the keys grow from pass to pass; the missing cells of earlier queries get the values of masked cells.
   * @param {string} name
   * @param {number[]} [passes] Of one hypothesis of a beam search; by default all. Pass 0 always belongs to it.
   */
  joined(name, passes) {
    const found = (this.passes.get(name) ?? []).filter(({ pass }) => !pass || !passes || passes.includes(pass));
    const parts = found.map(({ tensor }) => tensor), shapes = parts.map(({ shape }) => shape.slice(-2));
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
