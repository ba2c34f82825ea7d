// How a classifier combines the vectors of its tokens into one.
import { mapped, tensor } from "../tensor.js";
import { MultiHeadAttention } from "./attention.js";

/**
 * The function that combines them, (S, D) → (1, D): the mean, the first token, or one learned query that attends to
 * every token (Lin et al. 2017).
 * @param {Weights} weights @param {Sizes} config
 * @returns {(states: Tensor, trace: Visitor) => Tensor}
 */
export function poolingOf(weights, config) {
  const { pooling, d_model: D } = config;
  if (pooling === "first") return ({ data }) => tensor([1, D], data.slice(0, D));
  if (pooling === "mean")
    return ({ data, shape: [S] }) => mapped(tensor([1, D]), (_, i) => {
      let sum = 0;
      for (let at = i; at < data.length; at += D) sum += data[at];
      return sum / S;
    });
  const query = tensor([1, D], weights.take("pooling.query", D).data);
  const plain = { ...config, num_kv_heads: config.num_heads, score_cap: 0, attention_sinks: false };
  const attention = new MultiHeadAttention(weights, "pooling.attention", plain);
  return (memory, trace) => attention.forward(query, trace, { memory });
}
