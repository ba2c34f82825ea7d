// The encoder layer and the decoder layer: attention and feed-forward, each with a residual connection and a norm.
import { add, layerNorm, linear, mapped } from "../tensor.js";
import { MultiHeadAttention } from "./attention.js";
import { RotaryPositions } from "./positional.js";

/** x Φ(x) (Hendrycks and Gimpel 2016), with the error function of Abramowitz and Stegun 1964, formula 7.1.26. */
export function gelu(x) {
  const z = Math.abs(x) / Math.SQRT2, t = 1 / (1 + 0.3275911 * z);
  const series = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))));
  return 0.5 * x * (1 + Math.sign(x) * (1 - series * Math.exp(-z * z)));
}

/** max(0, xW₁ + b₁)W₂ + b₂ at each position ("Attention Is All You Need", equation 2), or with GELU. */
export class FeedForward {
  /** @param {Weights} weights @param {string} name @param {Sizes} config */
  constructor(weights, name, { d_model, d_ff, activation }) {
    this.name = name;
    this.expand = weights.linear(`${name}.expand`, d_ff, d_model);
    this.contract = weights.linear(`${name}.contract`, d_model, d_ff);
    this.activation = activation === "gelu" ? gelu : (x) => Math.max(x, 0);
  }

  /** @param {Tensor} x (T, D) @param {Visitor} trace */
  forward(x, trace) {
    const inner = linear(x, this.expand); // (T, F)
    return linear(trace.visit(`${this.name}.units`, mapped(inner, this.activation)), this.contract);
  }
}

/** LayerNorm(x + Sublayer(x)) ("Attention Is All You Need", section 3.1), or x + Sublayer(LayerNorm(x)) with "pre". */
export class Residual {
  /** @param {Weights} weights @param {string} name @param {Sizes} config */
  constructor(weights, name, { d_model, norm }) {
    this.name = name;
    this.norm = weights.norm(`${name}.norm`, d_model);
    this.pre = norm === "pre";
  }

  /** @param {Tensor} x (T, D) @param {Visitor} trace @param {(x: Tensor) => Tensor} sublayer */
  forward(x, trace, sublayer) {
    const hook = (stage, tensor) => trace.visit(`${this.name}.${stage}`, tensor);
    const normed = (x) => hook("normed", layerNorm(x, this.norm));
    if (this.pre) return hook("stream", add(x, hook("added", sublayer(normed(x)))));
    return hook("stream", normed(add(x, hook("added", sublayer(x)))));
  }
}

/** Self-attention over the source, then feed-forward. */
export class EncoderLayer {
  /** @param {Weights} weights @param {Sizes} config */
  constructor(weights, name, config) {
    const { positional, max_length, d_model, num_heads } = config;
    const positions = positional === "rotary" ? new RotaryPositions(max_length, d_model / num_heads) : null;
    this.selfAttention = new MultiHeadAttention(weights, `${name}.self_attention`, config, positions);
    this.feedForward = new FeedForward(weights, `${name}.feed_forward`, config);
    this.selfAttentionResidual = new Residual(weights, `${name}.self_attention_residual`, config);
    this.feedForwardResidual = new Residual(weights, `${name}.feed_forward_residual`, config);
  }

  /** @param {Tensor} x (S, D) @param {Visitor} trace @param {Mask} mask */
  forward(x, trace, mask) {
    x = this.selfAttentionResidual.forward(x, trace, (x) => this.selfAttention.forward(x, trace, { mask }));
    return this.feedForwardResidual.forward(x, trace, (x) => this.feedForward.forward(x, trace));
  }
}

/** Masked self-attention over the target, cross-attention to the source, then feed-forward. */
export class DecoderLayer extends EncoderLayer {
  /** @param {Weights} weights @param {Sizes} config */
  constructor(weights, name, config) {
    super(weights, name, config);
    this.crossAttention = new MultiHeadAttention(weights, `${name}.cross_attention`, config);
    this.crossAttentionResidual = new Residual(weights, `${name}.cross_attention_residual`, config);
  }

  /**
   * @param {Tensor} x (T, D) @param {Visitor} trace
   * @param {{ mask: Mask, cache?: KeyValue }} own @param {{ memory: Tensor, mask: Mask, cache?: KeyValue }} other
   *   Cross-attention.
   */
  write(x, trace, own, other) {
    x = this.selfAttentionResidual.forward(x, trace, (x) => this.selfAttention.forward(x, trace, own));
    x = this.crossAttentionResidual.forward(x, trace, (x) => this.crossAttention.forward(x, trace, other));
    return this.feedForwardResidual.forward(x, trace, (x) => this.feedForward.forward(x, trace));
  }
}
