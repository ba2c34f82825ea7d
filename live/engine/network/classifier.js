// A text classifier: the Transformer's encoder, pooling into one vector, and a projection. Token ids in, logits out.
import { linear, tensor } from "../tensor.js";
import { MultiHeadAttention } from "./attention.js";
import { paddingMask } from "./masks.js";
import { Encoder } from "./transformer.js";

/** Encoder, pooling, and a linear layer from the pooled vector to the classes. */
export class Classifier {
  /**
   * @param {import("../safetensors.js").Weights} weights
   * @param {import("./translators.js").LayersConfig} config
   * @param {number} padId
   */
  constructor(weights, config, padId) {
    const D = config.d_model;
    this.config = config;
    this.padId = padId;
    this.encoder = new Encoder(weights, config, weights.take("encoder.embedding.tokens.weight", config.vocab_size, D));
    const learned = config.pooling === "attention"; // one learned query attends to every token (Lin et al. 2017)
    this.query = learned ? weights.vector("pooling.query", D) : null;
    this.attention = learned ? new MultiHeadAttention(weights, "pooling.attention", config) : null;
    this.outputProjection = weights.linear("output_projection", config.labels.length, D);
  }

  /**
   * @param {number[]} ids
   * @param {import("../trace.js").Visitor} trace
   * @returns {import("../tensor.js").Tensor} Logits (1, C)
   */
  forward(ids, trace) {
    const states = this.encoder.forward(ids, trace, paddingMask(ids, this.padId)); // (S, D)
    const pooled = trace.visit("pooled", this.pool(states, paddingMask(ids, this.padId, 1), trace)); // (1, D)
    return trace.visit("logits", linear(pooled, this.outputProjection));
  }

  pool(states, mask, trace) {
    const D = states.shape[1];
    if (this.attention && this.query) return this.attention.forward(tensor([1, D], this.query), trace, { memory: states, mask });
    const mean = tensor([1, D]), count = mask ? mask.reduce((sum, kept) => sum + kept, 0) : states.shape[0];
    states.data.forEach((value, i) => {
      if (!mask || mask[Math.floor(i / D)]) mean.data[i % D] += value / count;
    });
    return mean;
  }
}
