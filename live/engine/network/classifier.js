// How a classifier combines the vectors of its tokens into one.
import { mapped, tensor } from "../tensor.js";
import { MultiHeadAttention } from "./attention.js";

/** One learned query attends to every token (Lin et al. 2017). */
class AttentionPooling {
  /** @param {WeightSource} weights @param {Sizes} config */
  constructor(weights, config) {
    this.query = tensor([1, config.d_model], weights.take("pooling.query", config.d_model).data);
    const plain = { ...config, num_kv_heads: config.num_heads, score_cap: 0, attention_sinks: false };
    this.attention = new MultiHeadAttention(weights, "pooling.attention", plain);
  }

  /** (S, D) → (1, D) @param {Tensor} memory @param {Visitor} trace @param {Mask} mask */
  forward(memory, trace, mask) {
    return this.attention.forward(this.query, trace, { memory, mask });
  }
}

/** The mean of the tokens that are not padding. */
class MeanPooling {
  /** (S, D) → (1, D) @param {Tensor} states @param {Visitor} _trace @param {Mask} mask */
  forward({ data, shape: [S, D] }, _trace, mask) {
    const kept = Array.from({ length: S }, (_, s) => s).filter((s) => !mask || mask[s]);
    return mapped(tensor([1, D]), (_, i) => kept.reduce((sum, s) => sum + data[s * D + i], 0) / kept.length);
  }
}

/** The first token. */
class FirstPooling {
  /** (S, D) → (1, D) @param {Tensor} states */
  forward({ data, shape: [, D] }) {
    return tensor([1, D], data.slice(0, D));
  }
}

/**
 * @param {WeightSource} weights @param {Sizes} config
 * @returns {{ forward(states: Tensor, trace: Visitor, mask: Mask): Tensor }}
 */
export function poolingOf(weights, config) {
  if (config.pooling === "attention") return new AttentionPooling(weights, config);
  return config.pooling === "mean" ? new MeanPooling() : new FirstPooling();
}
