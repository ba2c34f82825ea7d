// The Transformer ("Attention Is All You Need", Vaswani et al. 2017): an encoder, a decoder, or both. Token ids in,
// logits out. `config` describes the block and everything around it, for our own models and for those of others.
import { N_, require } from "../errors.js";
import { linear, mapped, tensor } from "../tensor.js";
import { MultiHeadAttention } from "./attention.js";
import { KeyValue } from "./cache.js";
import { bucketedBias, linearBias } from "./distance_bias.js";
import { ACTIVATIONS, Layer } from "./layers.js";
import { causalMask, decoderMask, paddingMask } from "./masks.js";
import { Norm } from "./norms.js";
import { rates, rotaryPositions, sinusoidalTable } from "./positional.js";

/**
 * The rows of a matrix (V, D) that belong to token ids, times √D or another factor: (T, D).
 * @param {number[]} ids @param {Matrix} tokens
 */
export function tokenVectors(ids, tokens, scale = Math.sqrt(tokens.shape[1])) {
  return mapped(tokens.rows(ids), (value) => value * scale);
}

/** Token vector × √d_model + position ("Attention Is All You Need", sections 3.4 and 3.5); BERT adds more. */
export class Embedding {
  /** @param {Weights} weights @param {string} name @param {Sizes} config @param {Matrix} tokens (V, D) */
  constructor(weights, name, config, tokens) {
    const { positional, max_length, token_types: types, d_model } = config, width = tokens.shape[1];
    this.name = name;
    this.tokens = tokens;
    this.scale = config.embedding_scale;
    this.most = max_length;
    this.table = positional === "sinusoidal" ? sinusoidalTable(max_length, width, config.halves) : null;
    if (positional === "learned") this.table = weights.take(`${name}.positions.embedding`, max_length, width);
    this.types = types ? weights.take(`${name}.types.embedding`, types, width) : null;
    this.norm = config.embedding_norm ? new Norm(weights, `${name}.norm`, width, config) : null;
    this.matrix = width === d_model ? null : weights.linear(`${name}.matrix`, d_model, width); // ELECTRA
  }

  /** @param {number[]} ids (T) @param {Visitor} trace @param {number[]} [segments] The part of each token. */
  forward(ids, trace, offset = 0, segments = []) {
    const { name, table, types, norm, matrix } = this, width = this.tokens.shape[1], n = offset + ids.length;
    require(
      n <= this.most, "text-too-long",
      N_("The text has {n} tokens, but this model has {positions} positions. Shorten the text."),
      { n, positions: this.most },
    );
    let x = trace.visit(`${name}.token_vectors`, tokenVectors(ids, this.tokens, this.scale)); // (T, D)
    const type = (i) => (segments[Math.floor(i / width)] ?? 0) * width + (i % width);
    if (types) x = mapped(x, (value, i) => value + types.data[type(i)]);
    if (table) x = mapped(x, (value, i) => value + table.data[offset * width + i]);
    x = trace.visit(`${name}.sum`, x);
    if (!norm && !matrix) return x;
    const normed = norm ? norm.forward(x) : x;
    return trace.visit(`${name}.normed`, matrix ? linear(normed, matrix) : normed);
  }
}

/**
 * What the self-attention of each layer of a stack does for positions.
 * @param {Weights} weights @param {"encoder" | "decoder"} stack @param {Sizes} config
 * @returns {(layer: number) => LayerPositions}
 */
function layerPositions(weights, stack, { positional, num_heads, head_width, halves, rotations, ...config }) {
  if (positional === "rotary") {
    const speeds = rates(head_width);
    return (layer) => rotaryPositions(rotations ? rotations[layer] : speeds, halves);
  }
  const table = () => weights.take(`${stack}.layers.0.self_attention.positions.table`, config.buckets, num_heads);
  const shared = positional === "alibi" ? linearBias(num_heads) : positional === "relative"
    ? bucketedBias(table(), config.farthest, stack === "encoder")
    : {};
  return () => shared;
}

/** A stack of layers with its embedding, and with a norm at its end if the norms of its layers do not come last. */
class LayerStack {
  /**
   * @param {Weights} weights @param {"encoder" | "decoder"} name @param {Sizes} config @param {Matrix} tokens
   */
  constructor(weights, name, config, tokens) {
    const positions = layerPositions(weights, name, config);
    const crosses = name === "decoder" && config.num_encoder_layers > 0;
    this.name = name;
    this.embedding = new Embedding(weights, `${name}.embedding`, config, tokens);
    this.layers = Array.from({ length: config[`num_${name}_layers`] }, (_, index) => new Layer(
      weights, `${name}.layers.${index}`, config, { positions: positions(index), index, crosses }
    ));
    this.norm = config.final_norm ? new Norm(weights, `${name}.norm`, config.d_model, config) : null;
  }

  /**
   * @param {Tensor} x (T, D) @param {Visitor} trace @param {(layer: number) => any} own What a layer gets for its
   *   self-attention. @param {(layer: number) => any} [other] And for its cross-attention.
   */
  forward(x, trace, own, other) {
    for (const [i, layer] of this.layers.entries()) x = layer.forward(x, trace, own(i), other?.(i));
    return trace.visit(`${this.name}.states`, this.norm ? this.norm.forward(x) : x);
  }
}

/**
 * The steps from the last states to the logits.
 * @param {Weights} weights @param {Sizes} config @param {Matrix} tokens
 */
function readoutOf(weights, config, tokens) {
  return config.readout.map((step) => {
    const { matrix: name, outputs = 0, inputs = 0, bias = [`${name}.bias`], shape = [outputs] } = step;
    const { activation, norm: normName, times = 1, cap = 0 } = step;
    if (name) {
      const tied = step.tied === "always" || (step.tied === "absent" && !weights.has(`${name}.weight`));
      const found = bias.find((name) => !name || weights.has(name)) ?? bias[0];
      const layer = {
        weight: tied ? tokens : weights.matrix(`${name}.weight`, outputs, inputs),
        bias: found ? weights.take(found, ...shape).data : null,
      };
      return (x) => linear(x, layer);
    }
    if (normName) {
      const norm = new Norm(weights, normName, inputs, config);
      return (x) => norm.forward(x);
    }
    const change = activation ? ACTIVATIONS.get(activation) : cap ? (x) => Math.tanh(x / cap) * cap : (x) => x * times;
    return (x) => mapped(x, change);
  });
}

/**
 * The function that makes one vector of those of all tokens, (S, D) → (1, D): the mean, that of the first token, or
 * what one learned query attends to (Lin et al. 2017).
 * @param {Weights} weights @param {Sizes} config
 * @returns {(states: Tensor, trace: Visitor) => Tensor}
 */
function poolingOf(weights, config) {
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

/** Encoder, decoder or both, and the way to the logits. */
export class Transformer {
  /** @param {Weights} weights @param {Sizes} config @param {number} padId Of padding in a text; -1 without it. */
  constructor(weights, config, padId) {
    const { num_encoder_layers, num_decoder_layers, tie_embeddings: tied, embedding_width: width } = config;
    const matrix = (stack, rows) => weights.matrix(`${stack}.embedding.tokens.weight`, rows, width);
    const source = num_encoder_layers ? matrix("encoder", config.source_vocab_size ?? config.vocab_size) : null;
    const separate = num_decoder_layers && (tied !== "all" || !source);
    const target = separate ? matrix("decoder", config.target_vocab_size) : source;
    this.config = config;
    this.padId = padId;
    this.encoder = source ? new LayerStack(weights, "encoder", config, source) : null;
    this.decoder = num_decoder_layers
      ? new LayerStack(weights, "decoder", { ...config, d_ff: config.decoder_d_ff }, /** @type {Matrix} */ (target))
      : null;
    this.pooling = config.pooling ? poolingOf(weights, config) : null;
    this.readout = readoutOf(weights, config, /** @type {Matrix} */ (target));
  }

  startCache() {
    const each = () => Array.from({ length: this.config.num_decoder_layers }, () => new KeyValue());
    return { selfAttention: each(), crossAttention: each() };
  }

  /**
   * See `Model.encode`.
   * @param {number[]} ids @param {Visitor} trace @param {EncodeOptions} [options] @returns {Memory}
   */
  encode(ids, trace, { segments } = {}) {
    const mask = paddingMask(ids, this.padId), { encoder } = this;
    if (!encoder) return { states: null, source: ids, mask: null }; // `decode` needs only the tokens that it reads
    const states = encoder.forward(encoder.embedding.forward(ids, trace, 0, segments), trace, () => ({ mask }));
    return { states, source: ids, mask };
  }

  /**
   * See `Model.decode`.
   * @param {number[]} target (T) @param {Memory | null} memory @param {Visitor} trace @param {DecoderCache} [cache]
   */
  decode(target, memory, trace, cache) {
    const decoder = /** @type {LayerStack} */ (this.decoder), T = target.length;
    const offset = cache?.selfAttention[0].length ?? 0, masks = new Map(), mask = (window) => {
      if (!masks.has(window))
        masks.set(window, cache ? causalMask(T, offset + T, window) : decoderMask(target, this.padId, window));
      return masks.get(window);
    };
    const own = (i) => ({ mask: mask(this.config.windows?.[i] ?? 0), cache: cache?.selfAttention[i] });
    const other = (i) => ({ memory: memory?.states, mask: memory?.mask, cache: cache?.crossAttention[i] });
    const states = decoder.forward(decoder.embedding.forward(target, trace, offset), trace, own, other); // (T, D)
    return this.logits(states, trace); // (T, V)
  }

  /** See `Model.logits`. @param {Tensor} states @param {Visitor} trace */
  logits(states, trace) {
    const read = this.pooling ? trace.visit("pooled", this.pooling(states, trace)) : states;
    return trace.visit("logits", this.readout.reduce((x, step) => step(x), read));
  }
}
