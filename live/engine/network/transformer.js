// The encoder-decoder Transformer of "Attention Is All You Need" (Vaswani et al. 2017). Token ids in, logits out.
import { layerNorm, linear, mapped } from "../tensor.js";
import { DecoderCache } from "./cache.js";
import { DecoderLayer, EncoderLayer } from "./layers.js";
import { decoderMask, paddingMask } from "./masks.js";
import { PositionalEncoding, sinusoidalTable } from "./positional.js";

/**
 * The rows of a matrix (V, D) that belong to token ids, times √D: (T, D).
 * @param {number[]} ids @param {Matrix} tokens
 */
export function tokenVectors(ids, tokens) {
  const scale = Math.sqrt(tokens.shape[1]);
  return mapped(tokens.rows(ids), (value) => value * scale);
}

/** Token vector × √d_model + position ("Attention Is All You Need", sections 3.4 and 3.5). */
export class Embedding {
  /** @param {Weights} weights @param {string} name @param {Sizes} config @param {Matrix} tokens (V, D) */
  constructor(weights, name, { positional, max_length, d_model }, tokens) {
    const learned = positional === "learned", stored = `${name}.positions.embedding`;
    const table = learned ? weights.take(stored, max_length, d_model) : sinusoidalTable(max_length, d_model);
    this.name = name;
    this.tokens = tokens;
    this.positions = positional === "rotary" ? null : new PositionalEncoding(table);
  }

  /** @param {number[]} ids (T) @param {Visitor} trace */
  forward(ids, trace, offset = 0) {
    const vectors = trace.visit(`${this.name}.token_vectors`, tokenVectors(ids, this.tokens)); // (T, D)
    return trace.visit(`${this.name}.sum`, this.positions ? this.positions.forward(vectors, offset) : vectors);
  }
}

/** A stack of layers with its embedding, and with a norm at its end if the norms come first. */
class LayerStack {
  /** @param {Weights} weights @param {string} name @param {Sizes} config @param {Matrix} tokens */
  constructor(weights, name, config, tokens) {
    this.name = name;
    this.embedding = new Embedding(weights, `${name}.embedding`, config, tokens);
    this.norm = config.norm === "pre" ? weights.norm(`${name}.norm`, config.d_model) : null;
  }

  /** What the next part reads. @param {Tensor} x (T, D) @param {Visitor} trace */
  states(x, trace) {
    return trace.visit(`${this.name}.states`, this.norm ? layerNorm(x, this.norm) : x);
  }
}

/** Reads the source. */
export class Encoder extends LayerStack {
  /** @param {Weights} weights @param {Sizes} config @param {Matrix} tokens */
  constructor(weights, config, tokens) {
    super(weights, "encoder", config, tokens);
    this.layers = Array.from({ length: config.num_encoder_layers }, (_, i) => new EncoderLayer(
      weights, `encoder.layers.${i}`, config
    ));
  }

  /** @param {number[]} ids @param {Visitor} trace @param {Mask} mask */
  forward(ids, trace, mask) {
    let x = this.embedding.forward(ids, trace); // (S, D)
    for (const layer of this.layers) x = layer.forward(x, trace, mask);
    return this.states(x, trace);
  }
}

/** Writes the target and attends to the encoder's memory. */
export class Decoder extends LayerStack {
  /** @param {Weights} weights @param {Sizes} config @param {Matrix} tokens */
  constructor(weights, config, tokens) {
    super(weights, "decoder", config, tokens);
    this.layers = Array.from({ length: config.num_decoder_layers }, (_, i) => new DecoderLayer(
      weights, `decoder.layers.${i}`, config
    ));
  }

  /**
   * @param {number[]} ids @param {Visitor} trace @param {Tensor} memory @param {Mask} selfMask @param {Mask} crossMask
   * @param {DecoderCache} [cache]
   */
  forward(ids, trace, memory, selfMask, crossMask, cache) {
    let x = this.embedding.forward(ids, trace, cache?.length); // (T, D)
    for (const [i, layer] of this.layers.entries()) {
      const own = { mask: selfMask, cache: cache?.selfAttention[i] };
      x = layer.write(x, trace, own, { memory, mask: crossMask, cache: cache?.crossAttention[i] });
    }
    return this.states(x, trace);
  }
}

/** Encoder, decoder and the projection to the vocabulary. */
export class Transformer {
  /** @param {Weights} weights @param {Sizes} config */
  constructor(weights, config, padId) {
    const { d_model, source_vocab_size, target_vocab_size, tie_embeddings: tied } = config;
    const source = weights.matrix("encoder.embedding.tokens.weight", source_vocab_size, d_model);
    const target = tied === "all"
      ? source
      : weights.matrix("decoder.embedding.tokens.weight", target_vocab_size, d_model);
    this.config = config;
    this.padId = padId;
    this.encoder = new Encoder(weights, config, source);
    this.decoder = new Decoder(weights, config, target);
    this.outputProjection = {
      weight: tied === "none" ? weights.matrix("output_projection.weight", target_vocab_size, d_model) : target,
      bias: null,
    };
  }

  startCache() {
    return new DecoderCache(this.config.num_decoder_layers);
  }

  /** @param {number[]} source (S) @param {Visitor} trace @returns {Memory} */
  encode(source, trace) {
    return { states: this.encoder.forward(source, trace, paddingMask(source, this.padId)), source };
  }

  /**
   * See `Translator.decode`.
   * @param {number[]} target (T) @param {Memory} memory @param {Visitor} trace @param {DecoderCache} [cache]
   */
  decode(target, memory, trace, cache) {
    const selfMask = cache ? null : decoderMask(target, this.padId); // the newest token may attend to every earlier one
    const crossMask = paddingMask(memory.source, this.padId, target.length);
    const states = this.decoder.forward(target, trace, memory.states, selfMask, crossMask, cache); // (T, D)
    return trace.visit("logits", linear(states, this.outputProjection)); // (T, V)
  }
}
