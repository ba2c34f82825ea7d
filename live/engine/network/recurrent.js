// The recurrent encoder-decoder for which attention was invented (Bahdanau et al. 2015), with and without attention.
// Hook points have the names of the Transformer. C is the width of the state in each direction.
import { concatenate, linear, softmax, tensor } from "../tensor.js";
import { additiveScores, maskScores, weightedSum } from "./attention.js";
import { KeyValue } from "./cache.js";
import { paddingMask } from "./masks.js";
import { tokenVectors } from "./transformer.js";

/** A layer applied to one vector. @param {Float32Array} x @param {Linear} layer */
const project = (x, layer) => linear(tensor([1, x.length], x), layer).data;

/** A gated recurrent unit (Cho et al. 2014), as in PyTorch. */
class GRUCell {
  /** @param {Weights} weights */
  constructor(weights, prefix, suffix, inputs, C) {
    const part = (side, size) => ({
      weight: weights.matrix(`${prefix}.weight_${side}${suffix}`, 3 * C, size),
      bias: weights.take(`${prefix}.bias_${side}${suffix}`, 3 * C).data,
    });
    this.input = part("ih", inputs);
    this.hidden = part("hh", C);
  }

  /** The next state (C). @param {Float32Array} x @param {Float32Array} state */
  forward(x, state) {
    const a = project(x, this.input), b = project(state, this.hidden), C = state.length;
    const gate = (i) => 1 / (1 + Math.exp(-a[i] - b[i]));
    return state.map((old, i) => {
      const candidate = Math.tanh(a[2 * C + i] + gate(i) * b[2 * C + i]), kept = gate(C + i);
      return (1 - kept) * candidate + kept * old;
    });
  }
}

/** One head: e = vᵀ tanh(W s + U h), then the weighted mean of the h (Bahdanau et al. 2015, appendix A.1.2). */
class AdditiveAttention {
  /** @param {Weights} weights */
  constructor(weights, name, C) {
    this.name = name;
    this.query = weights.linear(`${name}.query_projection`, C, C, { bias: false });
    this.key = weights.linear(`${name}.key_projection`, C, 2 * C);
    this.scoreVector = weights.take(`${name}.score_vector`, 1, C);
  }

  /** The keys of the source, and its states as values. @param {Tensor} states (S, 2C) @param {Visitor} trace */
  keysOf(states, trace) {
    const oneHead = ({ data, shape }) => tensor([1, ...shape], data);
    return new KeyValue().append(trace.visit(`${this.name}.keys`, oneHead(linear(states, this.key))), oneHead(states));
  }

  /**
   * The context (2C).
   * @param {Float32Array} state (C) @param {KeyValue} keys @param {Mask} mask @param {Visitor} trace
   */
  forward(state, keys, mask, trace) {
    const hook = (stage, tensor) => trace.visit(`${this.name}.${stage}`, tensor);
    const queries = hook("queries", tensor([1, 1, state.length], project(state, this.query))); // (1, 1, C)
    const scores = hook("scores", additiveScores(queries, keys, this.scoreVector)); // (1, 1, S)
    const weights = hook("weights", softmax(hook("masked_scores", maskScores(scores, mask))));
    return hook("head_outputs", weightedSum(weights, keys)).data;
  }
}

/** Encoder, decoder and the projection to the vocabulary, with the methods of the `Transformer`. */
export class RecurrentTranslator {
  /** @param {Weights} weights @param {Sizes} config */
  constructor(weights, config, padId) {
    const { d_model: D, d_hidden: C, target_vocab_size, tie_embeddings: tied } = config, layer = "decoder.layers.0";
    this.config = config;
    this.padId = padId;
    this.source = weights.matrix("encoder.tokens.weight", config.source_vocab_size, D);
    this.target = tied === "all" ? this.source : weights.matrix("decoder.tokens.weight", target_vocab_size, D);
    this.forwards = new GRUCell(weights, "encoder.gru", "_l0", D, C);
    this.backwards = new GRUCell(weights, "encoder.gru", "_l0_reverse", D, C);
    this.firstState = weights.linear("decoder.first_state", C, C);
    this.attention = config.attention === "additive"
      ? new AdditiveAttention(weights, `${layer}.cross_attention`, C)
      : null;
    this.cell = new GRUCell(weights, `${layer}.cell`, "", D + 2 * C, C);
    this.output = weights.linear(`${layer}.output`, D, D + 3 * C);
    this.outputProjection = {
      weight: tied === "none"
        ? weights.matrix("output_projection.weight", target_vocab_size, D)
        : this.target, bias: null,
    };
  }

  startCache() {
    return { state: new Float32Array(0), keys: new KeyValue() };
  }

  /** Read the source in both directions: (S, 2C). @param {number[]} source @param {Visitor} trace @returns {Memory} */
  encode(source, trace) {
    const { d_model: D, d_hidden: C } = this.config, S = source.length;
    const vectors = tokenVectors(source, this.source).data, states = tensor([S, 2 * C]);
    let before = new Float32Array(C), after = before;
    for (let i = 0, j = S - 1; i < S; i++, j--) {
      before = this.forwards.forward(vectors.subarray(i * D, (i + 1) * D), before);
      after = this.backwards.forward(vectors.subarray(j * D, (j + 1) * D), after);
      states.data.set(before, i * 2 * C);
      states.data.set(after, j * 2 * C + C);
    }
    return { states: trace.visit("encoder.states", states), source, mask: null };
  }

  /** See `Model.decode`. @param {number[]} target (T) @param {any} memory @param {Visitor} trace */
  decode(target, { states, source }, trace, cache = this.startCache()) {
    const { d_model: D, d_hidden: C } = this.config, { data } = states, last = data.length - 2 * C;
    if (!cache.state.length) {
      // the backward GRU has read everything
      cache.state = project(data.subarray(C, 2 * C), this.firstState).map(Math.tanh);
      if (this.attention) cache.keys = this.attention.keysOf(states, trace);
    }
    const vectors = tokenVectors(target, this.target).data, mask = paddingMask(source, this.padId);
    const summary = concatenate(data.subarray(last, last + C), data.subarray(C, 2 * C)); // the source in one vector
    const outputs = target.map((_, t) => {
      const vector = vectors.subarray(t * D, (t + 1) * D);
      const context = this.attention ? this.attention.forward(cache.state, cache.keys, mask, trace) : summary;
      cache.state = this.cell.forward(concatenate(vector, context), cache.state);
      return project(concatenate(cache.state, context, vector), this.output).map(Math.tanh);
    });
    return trace.visit("logits", linear(tensor([target.length, D], concatenate(...outputs)), this.outputProjection));
  }
}
