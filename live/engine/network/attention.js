// Scaled dot-product and additive attention, step by step. Letters of shapes: H heads, T queries, S keys, K width of a
// head, D = H · K.
import { add, dot, linear, mapped, softmax, tensor } from "../tensor.js";
import { KeyValue } from "./cache.js";
import { Norm } from "./norms.js";

/** A number for each head, query and key, from the places of its two vectors: (H, T, S). @param {number[]} shape */
function scoresOf([H, T, K], { keys, length }, score) {
  const scores = tensor([H, T, length]), room = keys.shape[1];
  for (let h = 0, i = 0; h < H; h++)
    for (let t = 0; t < T; t++)
      for (let s = 0; s < length; s++) scores.data[i++] = score((h * T + t) * K, (h * room + s) * K, h * K);
  return scores;
}

/**
 * QKᵀ / √d_k ("Attention Is All You Need", equation 1), or QKᵀ times another factor: (H, T, S).
 * @param {Tensor} queries (H, T, K) @param {KeyValue} cache
 */
export function scaledDotProductScores({ data, shape }, cache, scale) {
  const K = shape[2], keys = cache.keys.data;
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

/** Limit scores to ±cap: cap · tanh(s / cap) (Gemma 2, Gemma Team 2024, section 2). @param {Tensor} scores */
export function capScores(scores, cap) {
  return cap ? mapped(scores, (score) => Math.tanh(score / cap) * cap) : scores;
}

/**
 * Softmax over the keys. A sink takes part like the score of one more key without a value (Xiao et al. 2024).
 * @param {Tensor} masked (H, T, S) @param {Float32Array | null} sinks One learned score for each head, (H).
 */
export function attentionWeights(masked, sinks) {
  if (!sinks) return softmax(masked);
  const [H, T, S] = masked.shape, column = (i) => i % (S + 1), row = (i) => Math.floor(i / (S + 1));
  const score = (i) => (column(i) < S ? masked.data[row(i) * S + column(i)] : sinks[Math.floor(row(i) / T)]);
  const { data } = softmax(mapped(tensor([H, T, S + 1]), (_, i) => score(i)));
  return tensor(masked.shape, data.filter((_, i) => column(i) < S));
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
  /** @param {Weights} weights @param {string} name @param {Sizes} config @param {LayerPositions} [positions] */
  constructor(weights, name, config, positions = /** @type {LayerPositions} */ ({}), layer = 0) {
    const { d_model: D, num_heads: H, num_kv_heads: G, head_width: K, norm_queries: normed } = config;
    const projection = (part, outputs, inputs) => weights.linear(
      `${name}.${part}_projection`, outputs, inputs, { bias: config.attention_bias.includes(part) }
    );
    const norm = (part, heads) => (normed
      ? new Norm(weights, `${name}.${part}_norm`, normed === "each" ? K : heads * K, config)
      : null);
    this.name = name;
    this.heads = H;
    this.positions = positions;
    this.query = projection("query", H * K, D);
    this.key = projection("key", G * K, D);
    this.value = projection("value", G * K, D);
    this.output = projection("output", D, H * K);
    this.queryNorm = norm("query", H);
    this.keyNorm = norm("key", G);
    this.scale = config.score_scale / (config.scale_by_layer ? layer + 1 : 1);
    this.cap = config.score_cap;
    this.scoreVector = config.attention === "additive" ? weights.take(`${name}.score_vector`, H, K) : null;
    this.sinks = config.attention_sinks ? weights.take(`${name}.sinks`, H).data : null;
  }

  /**
   * Attend from `x` to `memory`, or to `x` itself: (T, D) → (T, D). The cache has earlier keys and values.
   * Cross-attention fills it in the first step and does not read `memory` again.
   * @param {Tensor} x @param {Visitor} trace @param {{ memory?: Tensor, mask?: Mask, cache?: KeyValue }} options
   */
  forward(x, trace, { memory, mask = null, cache = new KeyValue() } = {}) {
    const hook = (stage, tensor) => trace.visit(`${this.name}.${stage}`, tensor);
    const offset = memory ? 0 : cache.length, T = x.shape[0];
    const queries = hook("queries", this.projected(x, this.query, this.queryNorm, offset)); // (H, T, K)
    if (!memory || cache.length === 0) {
      const read = memory ?? x, keys = hook("keys", this.projected(read, this.key, this.keyNorm, offset)); // (H, S, K)
      cache.append(keys, hook("values", this.split(linear(read, this.value))));
    }
    const bias = this.positions.bias?.(T, cache.length, offset); // (H, T, S)
    const scores = this.scores(queries, cache, bias && hook("bias", bias));
    const masked = hook("masked_scores", maskScores(hook("scores", scores), mask)); // (H, T, S)
    const weights = hook("weights", attentionWeights(masked, this.sinks));
    const { data, shape: [H, , K] } = hook("head_outputs", weightedSum(weights, cache));
    return hook("output", linear(tensor([T, H * K], swapped(data, H, T, K).data), this.output)); // (T, D)
  }

  /** Queries or keys. @param {Tensor} x @param {Linear} layer @param {Norm | null} norm */
  projected(x, layer, norm, offset) {
    const found = linear(x, layer), vectors = this.split(norm ? norm.forward(found) : found);
    return this.positions.rotate?.(vectors, offset) ?? vectors;
  }

  /** (T, G · K) → (H, T, K): H / G heads share one key and one value (Ainslie et al. 2023). @param {Tensor} x */
  split({ data, shape: [T, width] }) {
    const H = this.heads, K = this.query.weight.shape[0] / H, groups = width / K, found = swapped(data, T, groups, K);
    if (groups === H) return found;
    const each = tensor([H, T, K]), size = T * K;
    for (let h = 0; h < H; h++) {
      const group = Math.floor((h * groups) / H);
      each.data.set(found.data.subarray(group * size, (group + 1) * size), h * size);
    }
    return each;
  }

  /** @param {Tensor} queries @param {KeyValue} cache @param {Tensor} [bias] */
  scores(queries, cache, bias) {
    const found = this.scoreVector
      ? additiveScores(queries, cache, this.scoreVector)
      : scaledDotProductScores(queries, cache, this.scale);
    const capped = capScores(found, this.cap);
    return bias ? add(capped, bias) : capped;
  }
}
