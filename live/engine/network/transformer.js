// The encoder-decoder Transformer of "Attention Is All You Need" (Vaswani et al. 2017). Token ids in, logits out.
import { layerNorm, linear, tensor } from "../tensor.js";
import { DecoderCache } from "./cache.js";
import { DecoderLayer, EncoderLayer } from "./layers.js";
import { decoderMask, paddingMask } from "./masks.js";
import { PositionalEncoding, sinusoidalTable } from "./positional.js";

/**
 * @typedef {import("../tensor.js").Tensor} Tensor
 * @typedef {import("../trace.js").Visitor} Visitor
 * @typedef {import("../safetensors.js").Weights} Weights
 * @typedef {import("./translators.js").LayersConfig} LayersConfig
 * @typedef {import("./translators.js").Memory} Memory
 */

/** The vectors that are added to the embeddings; null for rotary positions. */
function makePositions(weights, name, { positional, max_length, d_model }) {
  if (positional === "rotary") return null;
  const learned = positional === "learned";
  return new PositionalEncoding(learned ? weights.take(`${name}.embedding`, max_length, d_model) : sinusoidalTable(max_length, d_model));
}

/**
 * The rows of a matrix that belong to token ids, scaled.
 * @param {number[]} ids (T)
 * @param {Tensor} tokens (V, D)
 * @param {number} scale
 * @returns {Tensor} (T, D)
 */
export function tokenVectors(ids, tokens, scale) {
  const D = tokens.shape[1], x = tensor([ids.length, D]);
  for (let t = 0; t < ids.length; t++) for (let i = 0; i < D; i++) x.data[t * D + i] = tokens.data[ids[t] * D + i] * scale;
  return x;
}

/** Token vector × √d_model + position ("Attention Is All You Need", sections 3.4 and 3.5). */
export class Embedding {
  /** @param {Weights} weights @param {string} name @param {LayersConfig} config @param {Tensor} tokens (V, D) */
  constructor(weights, name, config, tokens) {
    this.name = name;
    this.tokens = tokens;
    this.positions = makePositions(weights, `${name}.positions`, config);
    this.scale = Math.sqrt(config.d_model);
  }

  /** @param {number[]} ids @param {Visitor} trace */
  forward(ids, trace, offset = 0) {
    const vectors = trace.visit(`${this.name}.token_vectors`, tokenVectors(ids, this.tokens, this.scale)); // (T, D)
    return trace.visit(`${this.name}.sum`, this.positions ? this.positions.forward(vectors, offset) : vectors);
  }
}

/** A stack of layers with its embedding, and with a norm at its end if the norms come first. */
class LayerStack {
  /**
   * @param {Weights} weights @param {string} name @param {LayersConfig} config @param {Tensor} tokens
   * @param {typeof EncoderLayer | typeof DecoderLayer} Layer @param {number} count
   */
  constructor(weights, name, config, tokens, Layer, count) {
    this.name = name;
    this.embedding = new Embedding(weights, `${name}.embedding`, config, tokens);
    this.layers = Array.from({ length: count }, (_, i) => new Layer(weights, `${name}.layers.${i}`, config));
    this.norm = config.norm === "pre" ? weights.norm(`${name}.norm`, config.d_model) : null;
  }

  /** @param {Tensor} x (T, D) @param {Visitor} trace */
  states(x, trace) {
    return trace.visit(`${this.name}.states`, this.norm ? layerNorm(x, this.norm) : x);
  }
}

/** Reads the source. */
export class Encoder extends LayerStack {
  /** @param {Weights} weights @param {LayersConfig} config @param {Tensor} tokens */
  constructor(weights, config, tokens) {
    super(weights, "encoder", config, tokens, EncoderLayer, config.num_encoder_layers);
  }

  /** @param {number[]} ids @param {Visitor} trace @param {Uint8Array | null} mask */
  forward(ids, trace, mask) {
    let x = this.embedding.forward(ids, trace); // (S, D)
    for (const layer of /** @type {EncoderLayer[]} */ (this.layers)) x = layer.forward(x, trace, mask);
    return this.states(x, trace);
  }
}

/** Writes the target and attends to the encoder's memory. */
export class Decoder extends LayerStack {
  /** @param {Weights} weights @param {LayersConfig} config @param {Tensor} tokens */
  constructor(weights, config, tokens) {
    super(weights, "decoder", config, tokens, DecoderLayer, config.num_decoder_layers);
  }

  /**
   * @param {number[]} ids @param {Visitor} trace @param {Tensor} memory
   * @param {{ selfMask: Uint8Array | null, crossMask: Uint8Array | null, cache?: DecoderCache }} options
   */
  forward(ids, trace, memory, { selfMask, crossMask, cache }) {
    let x = this.embedding.forward(ids, trace, cache?.length); // (T, D)
    for (const [i, layer] of /** @type {DecoderLayer[]} */ (this.layers).entries())
      x = layer.forward(x, trace, memory, {
        selfMask, crossMask, selfCache: cache?.selfAttention[i], crossCache: cache?.crossAttention[i],
      });
    return this.states(x, trace);
  }
}

/** Encoder, decoder and the projection to the vocabulary. */
export class Transformer {
  /** @param {Weights} weights @param {LayersConfig} config @param {number} padId */
  constructor(weights, config, padId) {
    const { d_model, source_vocab_size, target_vocab_size, tie_embeddings } = config;
    this.config = config;
    this.padId = padId;
    const source = weights.take("encoder.embedding.tokens.weight", source_vocab_size, d_model);
    const target = tie_embeddings === "all" ? source : weights.take("decoder.embedding.tokens.weight", target_vocab_size, d_model);
    this.encoder = new Encoder(weights, config, source);
    this.decoder = new Decoder(weights, config, target);
    this.outputProjection = tie_embeddings === "none"
      ? weights.linear("output_projection", target_vocab_size, d_model, false)
      : { weight: target, bias: null };
  }

  startCache() {
    return new DecoderCache(this.config.num_decoder_layers);
  }

  /**
   * Read the source.
   * @param {number[]} source (S)
   * @param {Visitor} trace
   * @returns {Memory}
   */
  encode(source, trace) {
    return { states: this.encoder.forward(source, trace, paddingMask(source, this.padId)), source };
  }

  /**
   * Compute logits for the token after each token of the target.
   * @param {number[]} target (T). With a cache, only the newest token.
   * @param {Memory} memory
   * @param {Visitor} trace
   * @param {DecoderCache} [cache]
   * @returns {Tensor} (T, V)
   */
  decode(target, memory, trace, cache) {
    const selfMask = cache ? null : decoderMask(target, this.padId); // the newest token may attend to every earlier one
    const crossMask = paddingMask(memory.source, this.padId, target.length);
    const states = this.decoder.forward(target, trace, memory.states, { selfMask, crossMask, cache }); // (T, D)
    return trace.visit("logits", linear(states, this.outputProjection)); // (T, V)
  }
}
