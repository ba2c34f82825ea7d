// Scaled dot-product and additive attention, step by step. Letters of shapes: H heads, T queries, S keys, K width of a
// head, D = H · K.
import { dot, linear, softmax, tensor } from "../tensor.js";
import { KeyValue } from "./cache.js";

/** @typedef {import("../tensor.js").Tensor} Tensor */

/**
 * QKᵀ / √d_k ("Attention Is All You Need", equation 1).
 * @param {Tensor} queries (H, T, K)
 * @param {KeyValue} cache S keys.
 * @returns {Tensor} (H, T, S)
 */
export function scaledDotProductScores(queries, { keys, length }) {
  const [H, T, K] = queries.shape, room = keys.shape[1], scores = tensor([H, T, length]), scale = 1 / Math.sqrt(K);
  for (let h = 0, i = 0; h < H; h++)
    for (let t = 0; t < T; t++)
      for (let s = 0; s < length; s++)
        scores.data[i++] = dot(queries.data, (h * T + t) * K, keys.data, (h * room + s) * K, K) * scale;
  return scores;
}

/**
 * vᵀ tanh(q + k) (Bahdanau et al. 2015, appendix A.1.2).
 * @param {Tensor} queries (H, T, K)
 * @param {KeyValue} cache S keys.
 * @param {Tensor} vector One v for each head, (H, K).
 * @returns {Tensor} (H, T, S)
 */
export function additiveScores(queries, { keys, length }, vector) {
  const [H, T, K] = queries.shape, room = keys.shape[1], scores = tensor([H, T, length]);
  for (let h = 0, i = 0; h < H; h++)
    for (let t = 0; t < T; t++)
      for (let s = 0; s < length; s++, i++) {
        const q = (h * T + t) * K, k = (h * room + s) * K;
        let sum = 0;
        for (let j = 0; j < K; j++) sum += vector.data[h * K + j] * Math.tanh(queries.data[q + j] + keys.data[k + j]);
        scores.data[i] = sum;
      }
  return scores;
}

/**
 * Set masked scores to minus infinity, so that the softmax gives exactly 0 there.
 * @param {Tensor} scores (H, T, S)
 * @param {Uint8Array | null} mask (T, S), 1 = may attend.
 */
export function maskScores(scores, mask) {
  return mask ? tensor(scores.shape, scores.data.map((score, i) => (mask[i % mask.length] ? score : -Infinity))) : scores;
}

/**
 * The mean of the values, weighted.
 * @param {Tensor} weights (H, T, S)
 * @param {KeyValue} cache S values.
 * @returns {Tensor} (H, T, K)
 */
export function weightedSum(weights, { values }) {
  const [H, T, S] = weights.shape, [, room, K] = values.shape, outputs = tensor([H, T, K]), sums = new Float64Array(K);
  for (let h = 0; h < H; h++)
    for (let t = 0; t < T; t++) {
      sums.fill(0);
      for (let s = 0; s < S; s++) {
        const weight = weights.data[(h * T + t) * S + s], v = (h * room + s) * K;
        for (let j = 0; j < K; j++) sums[j] += weight * values.data[v + j];
      }
      outputs.data.set(sums, (h * T + t) * K);
    }
  return outputs;
}

/** @param {Tensor} x (T, H·K) → (H, T, K) */
function splitHeads({ data, shape: [T, D] }, H) {
  const K = D / H, heads = tensor([H, T, K]);
  for (let h = 0; h < H; h++)
    for (let t = 0; t < T; t++) heads.data.set(data.subarray(t * D + h * K, t * D + (h + 1) * K), (h * T + t) * K);
  return heads;
}

/** @param {Tensor} heads (H, T, K) → (T, H·K) */
function joinHeads({ data, shape: [H, T, K] }) {
  const x = tensor([T, H * K]);
  for (let h = 0; h < H; h++)
    for (let t = 0; t < T; t++) x.data.set(data.subarray((h * T + t) * K, (h * T + t + 1) * K), t * H * K + h * K);
  return x;
}

/** Multi-head attention ("Attention Is All You Need", section 3.2.2) with a hook point at every step. */
export class MultiHeadAttention {
  /**
   * @param {import("../safetensors.js").Weights} weights
   * @param {string} name Of the module.
   * @param {import("./translators.js").LayersConfig} config
   * @param {import("./positional.js").RotaryPositions | null} [positions]
   */
  constructor(weights, name, config, positions = null) {
    const D = config.d_model, projection = (part) => weights.linear(`${name}.${part}_projection`, D, D);
    this.name = name;
    this.heads = config.num_heads;
    this.positions = positions;
    [this.query, this.key, this.value, this.output] = ["query", "key", "value", "output"].map(projection);
    this.scoreVector = config.attention === "additive" ? weights.take(`${name}.score_vector`, this.heads, D / this.heads) : null;
  }

  /**
   * Attend from `x` to `memory`, or to `x` itself.
   * @param {Tensor} x (T, D)
   * @param {import("../trace.js").Visitor} trace
   * @param {{ memory?: Tensor, mask?: Uint8Array | null, cache?: KeyValue }} [options] The cache has earlier keys and
   *   values. Cross-attention fills it in the first step and does not read `memory` again.
   * @returns {Tensor} (T, D)
   */
  forward(x, trace, { memory, mask = null, cache = new KeyValue() } = {}) {
    const hook = (stage, tensor) => trace.visit(`${this.name}.${stage}`, tensor);
    const offset = memory ? 0 : cache.length;
    const queries = hook("queries", this.rotate(splitHeads(linear(x, this.query), this.heads), offset)); // (H, T, K)
    if (!memory || cache.length === 0) {
      const from = memory ?? x;
      const keys = hook("keys", this.rotate(splitHeads(linear(from, this.key), this.heads), offset)); // (H, S, K)
      cache.append(keys, hook("values", splitHeads(linear(from, this.value), this.heads)));
    }
    const found = this.scoreVector ? additiveScores(queries, cache, this.scoreVector) : scaledDotProductScores(queries, cache);
    const masked = hook("masked_scores", maskScores(hook("scores", found), mask)); // (H, T, S)
    const heads = hook("head_outputs", weightedSum(hook("weights", softmax(masked)), cache)); // (H, T, K)
    return hook("output", linear(joinHeads(heads), this.output)); // (T, D)
  }

  /** Rotate queries or keys (H, T, K) by their positions, if the positions are rotary. */
  rotate(x, offset) {
    return this.positions ? this.positions.forward(x, offset) : x;
  }
}
