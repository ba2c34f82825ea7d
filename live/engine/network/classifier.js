// A text classifier: the Transformer's encoder, pooling into one vector, and a projection. Token ids in, logits out.
import { linear, mapped, tensor } from "../tensor.js";
import { MultiHeadAttention } from "./attention.js";
import { paddingMask } from "./masks.js";
import { Encoder } from "./transformer.js";

/** One learned query attends to every token (Lin et al. 2017). */
class AttentionPooling {
  /** @param {Weights} weights @param {Sizes} config */
  constructor(weights, config) {
    this.query = tensor([1, config.d_model], weights.take("pooling.query", config.d_model).data);
    this.attention = new MultiHeadAttention(weights, "pooling.attention", config);
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

/** Encoder, pooling, and a linear layer from the pooled vector to the classes. */
export class Classifier {
  /** @param {Weights} weights @param {Sizes} config */
  constructor(weights, config, padId) {
    const { d_model, vocab_size, labels, pooling } = config;
    this.config = config;
    this.padId = padId;
    this.encoder = new Encoder(weights, config, weights.matrix("encoder.embedding.tokens.weight", vocab_size, d_model));
    this.pooling = pooling === "attention" ? new AttentionPooling(weights, config) : new MeanPooling();
    this.outputProjection = weights.linear("output_projection", labels.length, d_model);
  }

  /** Logits (1, C). @param {number[]} ids @param {Visitor} trace */
  forward(ids, trace) {
    const states = this.encoder.forward(ids, trace, paddingMask(ids, this.padId)); // (S, D)
    // (1, D)
    const pooled = trace.visit("pooled", this.pooling.forward(states, trace, paddingMask(ids, this.padId, 1)));
    return trace.visit("logits", linear(pooled, this.outputProjection));
  }
}
