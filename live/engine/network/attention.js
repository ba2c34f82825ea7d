// Scaled dot-product and additive attention, step by step. Letters of shapes: H heads, T queries, S keys, K width of a
// head, D = H · K.
import { dot, linear, mapped, softmax, tensor } from "../tensor.js";
import { KeyValue } from "./cache.js";

/** A number for each head, query and key, from the places of its two vectors: (H, T, S). @param {number[]} shape */
function scoresOf([H, T, K], { keys, length }, score) {
  const scores = tensor([H, T, length]), room = keys.shape[1];
  for (let h = 0, i = 0; h < H; h++)
    for (let t = 0; t < T; t++)
      for (let s = 0; s < length; s++) scores.data[i++] = score((h * T + t) * K, (h * room + s) * K, h * K);
  return scores;
}

/**
 * QKᵀ / √d_k ("Attention Is All You Need", equation 1): (H, T, S).
 * @param {Tensor} queries (H, T, K) @param {KeyValue} cache
 */
export function scaledDotProductScores({ data, shape }, cache) {
  const K = shape[2], scale = 1 / Math.sqrt(K), keys = cache.keys.data;
  return scoresOf(shape, cache, (q, k) => dot(data, q, keys, k, K) * scale);
}

/**
 * vᵀ tanh(q + k) (Bahdanau et al. 2015, appendix A.1.2): (H, T, S).
 * @param {Tensor} queries (H, T, K) @param {KeyValue} cache @param {Tensor} vector One v for each head, (H, K).
 */
export function additiveScores({ data, shape }, cache, vector) {
  const keys = cache.keys.data;
  return scoresOf(shape, cache, (q, k, v) => {
    let sum = 0;
    for (let i = 0; i < shape[2]; i++) sum += vector.data[v + i] * Math.tanh(data[q + i] + keys[k + i]);
    return sum;
  });
}

/**
 * Set masked scores to minus infinity, so that the softmax gives exactly 0 there.
 * @param {Tensor} scores @param {Mask} mask
 */
export function maskScores(scores, mask) {
  return mask ? mapped(scores, (score, i) => (mask[i % mask.length] ? score : -Infinity)) : scores;
}

/** The mean of the values with these weights: (H, T, S) → (H, T, K). @param {Tensor} weights @param {KeyValue} cache */
export function weightedSum({ data, shape: [H, T, S] }, { values }) {
  const [, room, K] = values.shape, outputs = tensor([H, T, K]), sums = new Float64Array(K);
  for (let row = 0; row < H * T; row++) {
    sums.fill(0);
    for (let s = 0; s < S; s++) {
      const weight = data[row * S + s], v = (Math.floor(row / T) * room + s) * K;
      for (let i = 0; i < K; i++) sums[i] += weight * values.data[v + i];
    }
    outputs.data.set(sums, row * K);
  }
  return outputs;
}

/** Swap two axes: (A, B, K) → (B, A, K). */
function swapped(data, A, B, K) {
  const y = tensor([B, A, K]);
  for (let i = 0; i < A * B; i++) y.data.set(data.subarray(i * K, (i + 1) * K), ((i % B) * A + Math.floor(i / B)) * K);
  return y;
}

/** Multi-head attention ("Attention Is All You Need", section 3.2.2) with a hook point at every step. */
export class MultiHeadAttention {
  /**
   * @param {Weights} weights @param {string} name @param {Sizes} config
   * @param {import("./positional.js").RotaryPositions | null} positions
   */
  constructor(weights, name, { d_model, num_heads, attention }, positions = null) {
    const projection = (part) => weights.linear(`${name}.${part}_projection`, d_model, d_model);
    this.name = name;
    this.heads = num_heads;
    this.positions = positions;
    this.query = projection("query");
    this.key = projection("key");
    this.value = projection("value");
    this.output = projection("output");
    this.scoreVector = attention === "additive"
      ? weights.take(`${name}.score_vector`, num_heads, d_model / num_heads)
      : null;
  }

  /**
   * Attend from `x` to `memory`, or to `x` itself: (T, D) → (T, D). The cache has earlier keys and values.
   * Cross-attention fills it in the first step and does not read `memory` again.
   * @param {Tensor} x @param {Visitor} trace @param {{ memory?: Tensor, mask?: Mask, cache?: KeyValue }} options
   */
  forward(x, trace, { memory, mask = null, cache = new KeyValue() } = {}) {
    const hook = (stage, tensor) => trace.visit(`${this.name}.${stage}`, tensor);
    const offset = memory ? 0 : cache.length;
    const queries = hook("queries", this.rotate(this.split(linear(x, this.query)), offset)); // (H, T, K)
    if (!memory || cache.length === 0) {
      const keys = hook("keys", this.rotate(this.split(linear(memory ?? x, this.key)), offset)); // (H, S, K)
      cache.append(keys, hook("values", this.split(linear(memory ?? x, this.value))));
    }
    const found = this.scoreVector
      ? additiveScores(queries, cache, this.scoreVector)
      : scaledDotProductScores(queries, cache);
    const masked = hook("masked_scores", maskScores(hook("scores", found), mask)); // (H, T, S)
    const { data, shape: [H, T, K] } = hook("head_outputs", weightedSum(hook("weights", softmax(masked)), cache));
    return hook("output", linear(tensor([T, H * K], swapped(data, H, T, K).data), this.output)); // (T, D)
  }

  /** (T, H · K) → (H, T, K) @param {Tensor} x */
  split({ data, shape: [T, D] }) {
    return swapped(data, T, this.heads, D / this.heads);
  }

  /** Rotate queries or keys by their positions, if the positions are rotary. @param {Tensor} x */
  rotate(x, offset) {
    return this.positions ? this.positions.forward(x, offset) : x;
  }
}
