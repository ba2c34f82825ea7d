// A layer of an encoder or a decoder: attention and feed-forward, each with a residual connection and norms.
import { add, linear, mapped } from "../tensor.js";
import { MultiHeadAttention } from "./attention.js";
import { Norm } from "./norms.js";

/** x Φ(x) (Hendrycks and Gimpel 2016), with the error function of Abramowitz and Stegun 1964, formula 7.1.26. */
export function gelu(x) {
  const z = Math.abs(x) / Math.SQRT2, t = 1 / (1 + 0.3275911 * z);
  const series = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))));
  return 0.5 * x * (1 + Math.sign(x) * (1 - series * Math.exp(-z * z)));
}

const silu = (x) => x / (1 + Math.exp(-x));
/** The approximation of GELU with a hyperbolic tangent (GPT-2): x (1 + tanh z) / 2 = x / (1 + exp(-2z)). */
const geluTanh = (x) => x / (1 + Math.exp(-Math.sqrt(8 / Math.PI) * (x + 0.044715 * x * x * x)));

/** The names of activations in `config.json`. */
export const ACTIVATIONS = new Map(Object.entries({
  relu: (x) => Math.max(x, 0), gelu, gelu_new: geluTanh, gelu_pytorch_tanh: geluTanh, gelu_fast: geluTanh, silu,
  swish: silu, tanh: Math.tanh,
}));

/**
 * max(0, xW₁ + b₁)W₂ + b₂ at each position ("Attention Is All You Need", equation 2), or with another activation. With
 * a gate, the units are the activated gate times xW₁ (Shazeer 2020).
 */
export class FeedForward {
  /** @param {Weights} weights @param {string} name @param {Sizes} config */
  constructor(weights, name, { d_model, d_ff, activation, gated, feed_forward_bias: bias }) {
    this.name = name;
    this.expand = weights.linear(`${name}.expand`, d_ff, d_model, { bias });
    this.gate = gated ? weights.linear(`${name}.gate`, d_ff, d_model, { bias }) : null;
    this.contract = weights.linear(`${name}.contract`, d_model, d_ff, { bias });
    this.activation = ACTIVATIONS.get(activation);
  }

  /** @param {Tensor} x (T, D) @param {Visitor} trace */
  forward(x, trace) {
    const inner = linear(x, this.expand), activated = mapped(this.gate ? linear(x, this.gate) : inner, this.activation);
    const units = this.gate ? mapped(activated, (value, i) => value * inner.data[i]) : activated; // (T, F)
    return linear(trace.visit(`${this.name}.units`, units), this.contract);
  }
}

/**
 * x + Sublayer(x) with norms: of the sum with "post" ("Attention Is All You Need", section 3.1), of what the sublayer
 * reads with "pre" (Xiong et al. 2020), of what it returns with "added" (OLMo 2), and of the last two with "both".
 */
export class Residual {
  /** @param {Weights} weights @param {string} name @param {Sizes} config */
  constructor(weights, name, config) {
    const { norm: place, d_model } = config;
    const norm = (part, ...places) => (places.includes(place)
      ? new Norm(weights, `${name}.${part}`, d_model, config)
      : null);
    this.name = name;
    this.before = norm("norm", "pre", "both");
    this.ofAdded = norm("added_norm", "added", "both");
    this.after = norm("norm", "post");
  }

  /** What a sublayer adds to the stream. @param {Tensor} x (T, D) @param {Visitor} trace */
  added(x, trace, sublayer) {
    const read = this.before ? trace.visit(`${this.name}.normed`, this.before.forward(x)) : x, found = sublayer(read);
    return trace.visit(`${this.name}.added`, this.ofAdded ? this.ofAdded.forward(found) : found);
  }

  /** The stream after it. @param {Tensor} x (T, D) @param {Tensor} added @param {Visitor} trace */
  sum(x, added, trace) {
    const sum = add(x, added);
    const normed = this.after ? trace.visit(`${this.name}.normed`, this.after.forward(sum)) : sum;
    return trace.visit(`${this.name}.stream`, normed);
  }

  /** @param {Tensor} x (T, D) @param {Visitor} trace @param {(x: Tensor) => Tensor} sublayer */
  forward(x, trace, sublayer) {
    return this.sum(x, this.added(x, trace, sublayer), trace);
  }
}

/** Self-attention, cross-attention to the source if there is an encoder before, then feed-forward. */
export class Layer {
  /**
   * @param {Weights} weights @param {string} name @param {Sizes} config
   * @param {{ positions: LayerPositions, index: number, crosses: boolean }} place
   */
  constructor(weights, name, config, { positions, index, crosses }) {
    this.parallel = config.parallel; // both sublayers read the same stream (GPT-NeoX)
    this.selfAttention = new MultiHeadAttention(weights, `${name}.self_attention`, config, positions, index);
    this.feedForward = new FeedForward(weights, `${name}.feed_forward`, config);
    this.selfAttentionResidual = new Residual(weights, `${name}.self_attention_residual`, config);
    this.feedForwardResidual = new Residual(weights, `${name}.feed_forward_residual`, config);
    if (!crosses) return;
    this.crossAttention = new MultiHeadAttention(weights, `${name}.cross_attention`, config);
    this.crossAttentionResidual = new Residual(weights, `${name}.cross_attention_residual`, config);
  }

  /**
   * @param {Tensor} x (T, D) @param {Visitor} trace @param {{ mask: Mask, cache?: KeyValue }} own
   * @param {{ memory?: Tensor, mask: Mask, cache?: KeyValue }} other Cross-attention.
   */
  forward(x, trace, own, other) {
    const attend = (x) => this.selfAttention.forward(x, trace, own), feed = (x) => this.feedForward.forward(x, trace);
    if (this.parallel) {
      const sum = add(x, this.selfAttentionResidual.added(x, trace, attend));
      return this.feedForwardResidual.sum(sum, this.feedForwardResidual.added(x, trace, feed), trace);
    }
    x = this.selfAttentionResidual.forward(x, trace, attend);
    const { crossAttention: cross, crossAttentionResidual: residual } = this;
    if (cross && residual) x = residual.forward(x, trace, (x) => cross.forward(x, trace, other));
    return this.feedForwardResidual.forward(x, trace, feed);
  }
}
