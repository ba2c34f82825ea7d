// The recurrent encoder-decoder for which attention was invented (Bahdanau et al. 2015), with and without attention.
// Hook points have the names of the Transformer. C is the width of the state in each direction.
import { concatenate, linear, softmax, tensor } from "../tensor.js";
import { additiveScores, maskScores, weightedSum } from "./attention.js";
import { KeyValue } from "./cache.js";
import { paddingMask } from "./masks.js";
import { tokenVectors } from "./transformer.js";

/**
 * @typedef {import("../tensor.js").Tensor} Tensor
 * @typedef {import("../tensor.js").Linear} Linear
 * @typedef {import("../trace.js").Visitor} Visitor
 * @typedef {import("../safetensors.js").Weights} Weights
 * @typedef {import("./translators.js").Memory} Memory
 */

const row = (/** @type {Float32Array} */ data) => tensor([1, data.length], data);

/** A gated recurrent unit (Cho et al. 2014), as in PyTorch. */
class GRUCell {
  /** @param {Weights} weights @param {string} prefix @param {string} suffix @param {number} inputs @param {number} width */
  constructor(weights, prefix, suffix, inputs, width) {
    const part = (side, size) => ({
      weight: weights.take(`${prefix}.weight_${side}${suffix}`, 3 * width, size),
      bias: weights.vector(`${prefix}.bias_${side}${suffix}`, 3 * width),
    });
    this.input = part("ih", inputs);
    this.hidden = part("hh", width);
  }

  /** The next state. @param {Float32Array} x @param {Float32Array} state (C) */
  forward(x, state) {
    const a = linear(row(x), this.input).data, b = linear(row(state), this.hidden).data, C = state.length;
    const sigmoid = (i) => 1 / (1 + Math.exp(-a[i] - b[i]));
    return state.map((old, i) => {
      const candidate = Math.tanh(a[2 * C + i] + sigmoid(i) * b[2 * C + i]), kept = sigmoid(C + i);
      return (1 - kept) * candidate + kept * old;
    });
  }
}

/** What decoding keeps between steps: the state of the decoder, and the keys of the source. */
export class RecurrentCache {
  length = 0;
  /** @type {Float32Array | null} */
  state = null;
  keys = new KeyValue();

  copy() {
    return Object.assign(new RecurrentCache(), this); // a step replaces the state and does not change it
  }
}

/** One head: e = vᵀ tanh(W s + U h), then the weighted mean of the h (Bahdanau et al. 2015, appendix A.1.2). */
class AdditiveAttention {
  /** @param {Weights} weights @param {string} name @param {number} C */
  constructor(weights, name, C) {
    this.name = name;
    this.query = weights.linear(`${name}.query_projection`, C, C, false);
    this.key = weights.linear(`${name}.key_projection`, C, 2 * C);
    this.scoreVector = weights.take(`${name}.score_vector`, 1, C);
  }

  /**
   * The keys of the source, and its states as values.
   * @param {Tensor} states (S, 2C) @param {Visitor} trace
   */
  keysOf(states, trace) {
    const heads = ({ data, shape }) => tensor([1, ...shape], data);
    return new KeyValue().append(trace.visit(`${this.name}.keys`, heads(linear(states, this.key))), heads(states));
  }

  /** The context (2C). @param {Float32Array} state @param {KeyValue} keys @param {Uint8Array | null} mask @param {Visitor} trace */
  forward(state, keys, mask, trace) {
    const hook = (stage, tensor) => trace.visit(`${this.name}.${stage}`, tensor);
    const queries = hook("queries", tensor([1, 1, state.length], linear(row(state), this.query).data)); // (1, 1, C)
    const scores = hook("scores", additiveScores(queries, keys, this.scoreVector)); // (1, 1, S)
    const weights = hook("weights", softmax(hook("masked_scores", maskScores(scores, mask))));
    return hook("head_outputs", weightedSum(weights, keys)).data;
  }
}

/** Encoder, decoder and the projection to the vocabulary, with the methods of the `Transformer`. */
export class RecurrentTranslator {
  /** @param {Weights} weights @param {import("./translators.js").LayersConfig} config @param {number} padId */
  constructor(weights, config, padId) {
    const { d_model: D, d_hidden: C, tie_embeddings: tied } = config, layer = "decoder.layers.0";
    this.config = config;
    this.padId = padId;
    this.source = weights.take("encoder.tokens.weight", config.source_vocab_size, D);
    this.target = tied === "all" ? this.source : weights.take("decoder.tokens.weight", config.target_vocab_size, D);
    this.forwards = new GRUCell(weights, "encoder.gru", "_l0", D, C);
    this.backwards = new GRUCell(weights, "encoder.gru", "_l0_reverse", D, C);
    this.firstState = weights.linear("decoder.first_state", C, C);
    this.attention = config.attention === "additive" ? new AdditiveAttention(weights, `${layer}.cross_attention`, C) : null;
    this.cell = new GRUCell(weights, `${layer}.cell`, "", D + 2 * C, C);
    this.output = weights.linear(`${layer}.output`, D, D + 3 * C);
    const own = tied === "none";
    this.outputProjection = own ? weights.linear("output_projection", config.target_vocab_size, D, false) : { weight: this.target, bias: null };
  }

  startCache() {
    return new RecurrentCache();
  }

  /**
   * Read the source in both directions.
   * @param {number[]} source @param {Visitor} trace
   * @returns {Memory} The states are (S, 2C).
   */
  encode(source, trace) {
    const { d_model: D, d_hidden: C } = this.config, S = source.length;
    const vectors = tokenVectors(source, this.source, Math.sqrt(D)).data, states = tensor([S, 2 * C]);
    for (const [cell, order, column] of /** @type {[GRUCell, (i: number) => number, number][]} */ ([
      [this.forwards, (i) => i, 0], [this.backwards, (i) => S - 1 - i, C],
    ])) {
      let state = new Float32Array(C);
      for (let i = 0; i < S; i++) {
        const s = order(i);
        state = cell.forward(vectors.subarray(s * D, (s + 1) * D), state);
        states.data.set(state, s * 2 * C + column);
      }
    }
    return { states: trace.visit("encoder.states", states), source };
  }

  /**
   * @param {number[]} target (T) @param {Memory} memory @param {Visitor} trace
   * @param {RecurrentCache} [cache]
   * @returns {Tensor} Logits (T, V) for the token after each token of the target.
   */
  decode(target, { states, source }, trace, cache = new RecurrentCache()) {
    const { d_model: D, d_hidden: C } = this.config, { data } = states, last = data.length - 2 * C;
    if (!cache.state) {
      cache.state = linear(row(data.subarray(C, 2 * C)), this.firstState).data.map(Math.tanh); // after the whole source
      if (this.attention) cache.keys = this.attention.keysOf(states, trace);
    }
    const vectors = tokenVectors(target, this.target, Math.sqrt(D)).data, mask = paddingMask(source, this.padId, 1);
    const summary = concatenate(data.subarray(last, last + C), data.subarray(C, 2 * C)); // the source in one vector
    const outputs = target.map((_, t) => {
      const vector = vectors.subarray(t * D, (t + 1) * D), before = /** @type {Float32Array} */ (cache.state);
      const context = this.attention ? this.attention.forward(before, cache.keys, mask, trace) : summary;
      const state = this.cell.forward(concatenate(vector, context), before);
      cache.state = state;
      return linear(row(concatenate(state, context, vector)), this.output).data.map(Math.tanh);
    });
    cache.length += target.length;
    return trace.visit("logits", linear(tensor([target.length, D], concatenate(...outputs)), this.outputProjection));
  }
}
