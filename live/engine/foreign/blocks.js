// The names of the tensors in the files of other libraries: what each family calls the parts of our block.

/** @param {string} text The names of the query, key, value and output matrix, after a prefix. */
function four(prefix, text) {
  const [query, key, value, output] = text.split(" ").map((name) => prefix + name);
  return { query, key, value, output };
}

const BERT_EMBEDDING = {
  tokens: "embeddings.word_embeddings", positions: "embeddings.position_embeddings",
  types: "embeddings.token_type_embeddings", norm: "embeddings.LayerNorm", matrix: "embeddings_project",
};
const BERT = {
  layers: "encoder.layer", embedding: BERT_EMBEDDING,
  self: { ...four("attention.", "self.query self.key self.value output.dense"), norm: "attention.output.LayerNorm" },
  feed_forward: { expand: "intermediate.dense", contract: "output.dense", norm: "output.LayerNorm" },
};
const DISTILBERT = {
  layers: "transformer.layer", embedding: BERT_EMBEDDING,
  self: { ...four("attention.", "q_lin k_lin v_lin out_lin"), norm: "sa_layer_norm" },
  feed_forward: { expand: "ffn.lin1", contract: "ffn.lin2", norm: "output_layer_norm" },
};
const GPT2 = {
  layers: "h", embedding: { tokens: "wte", positions: "wpe" }, norm: "ln_f",
  self: { ...four("attn.c_", "attn attn attn proj"), norm: "ln_1" },
  feed_forward: { expand: "mlp.c_fc", contract: "mlp.c_proj", norm: "ln_2" },
};
const NEOX = {
  layers: "layers", embedding: { tokens: "embed_in" }, norm: "final_layer_norm",
  self: { ...four("attention.", "query_key_value query_key_value query_key_value dense"), norm: "input_layernorm" },
  feed_forward: { expand: "mlp.dense_h_to_4h", contract: "mlp.dense_4h_to_h", norm: "post_attention_layernorm" },
};
const LLAMA = {
  layers: "layers", embedding: { tokens: "embed_tokens" }, norm: "norm",
  self: {
    ...four("self_attn.", "q_proj k_proj v_proj o_proj"), query_norm: "self_attn.q_norm", key_norm: "self_attn.k_norm",
    norm: "input_layernorm", added_norm: "post_attention_layernorm",
  },
  feed_forward: {
    expand: "mlp.up_proj", gate: "mlp.gate_proj", contract: "mlp.down_proj", norm: "post_attention_layernorm",
    added_norm: "post_feedforward_layernorm",
  },
};
const GEMMA = { ...LLAMA, feed_forward: { ...LLAMA.feed_forward, norm: "pre_feedforward_layernorm" } };
const BART = {
  layers: "layers", shared: "shared", norm: "layer_norm",
  embedding: { tokens: "embed_tokens", positions: "embed_positions", norm: "layernorm_embedding" },
  self: { ...four("self_attn.", "q_proj k_proj v_proj out_proj"), norm: "self_attn_layer_norm" },
  cross: { ...four("encoder_attn.", "q_proj k_proj v_proj out_proj"), norm: "encoder_attn_layer_norm" },
  feed_forward: { expand: "fc1", contract: "fc2", norm: "final_layer_norm" },
};
const T5 = { // @: the feed-forward network is the second part of an encoder layer, and the third of a decoder layer
  layers: "block", shared: "shared", embedding: { tokens: "embed_tokens" }, norm: "final_layer_norm",
  self: {
    ...four("layer.0.SelfAttention.", "q k v o"), norm: "layer.0.layer_norm",
    positions: "layer.0.SelfAttention.relative_attention_bias",
  },
  cross: { ...four("layer.1.EncDecAttention.", "q k v o"), norm: "layer.1.layer_norm" },
  feed_forward: {
    expand: "layer.@.DenseReluDense.wi", contract: "layer.@.DenseReluDense.wo", norm: "layer.@.layer_norm",
  },
};
const GATED_T5 = {
  ...T5, feed_forward: {
    ...T5.feed_forward, expand: "layer.@.DenseReluDense.wi_1", gate: "layer.@.DenseReluDense.wi_0",
  },
};
export const NAMES = { BERT, DISTILBERT, GPT2, NEOX, LLAMA, GEMMA, BART, T5, GATED_T5 };

/** Our name of a tensor: stack, layer, part and item, such as "self" and "query", and the leaf. */
const OURS = new RegExp(
  /^(encoder|decoder)\.(?:layers\.(\d+)\.)?/.source + /(?:(\w+?)(?:_attention)?(?:_residual)?\.)?/.source
  + /(\w+?)(?:_projection)?\.(\w+)$/.source
);
const JOINED = ["query", "key", "value"];

/** The tensors of a file under our names. Other names, such as those of the way to the logits, stay. */
export class ForeignWeights {
  /** @param {Weights} weights @param {Layout} layout @param {Sizes} config */
  constructor(weights, layout, config) {
    this.weights = weights;
    this.layout = layout;
    this.config = config;
    const used = [...weights.entries.keys()].some((name) => name.startsWith(layout.root));
    this.root = used ? layout.root : ""; // a model without a head may have no prefix
  }

  /** The name in the file. @param {string} name */
  located(name) {
    const { names, stacks } = this.layout, [, stack, layer, part, item, leaf] = OURS.exec(name) ?? [];
    let found = name;
    if (stack) {
      const ends = part === "self" && item === "positions" || leaf === "embedding" ? "weight" : leaf;
      const path = (part ? names[part][item] : names[item]).replace("@", stack === "encoder" ? 1 : 2);
      const place = layer ? `${names.layers}.${layer}.` : "", home = `${this.root}${stacks ? `${stack}.` : ""}`;
      found = `${home}${place}${path}.${ends}`;
      const shared = `${this.root}${names.shared}.weight`;
      if (item === "tokens" && this.weights.has(shared)) return shared;
    }
    const older = found.replace(/weight$/, "gamma").replace(/bias$/, "beta"); // BERT of 2019
    return !this.weights.has(found) && this.weights.has(older) ? older : found;
  }

  /** Which part of the stored tensor a name means. */
  part(name) {
    const { joined } = this.layout, { d_model: D, num_heads: H, head_width: K } = this.config;
    const [, stack, , part, item] = OURS.exec(name) ?? [], { position_offset = 0, stored_positions } = this.config;
    if (!stack) return {};
    if (part === "embedding") return item === "positions"
      ? { rows: (o) => o + position_offset, stored: stored_positions }
      : {};
    const third = JOINED.indexOf(item), stored = 3 * D;
    if (joined === "columns") // GPT-2 stores its matrices transposed
      return { transposed: true, ...(third >= 0 && { rows: (o) => third * D + o, stored }) };
    if (!joined || third < 0) return {};
    return { rows: (o) => (Math.floor(o / K) * 3 + third) * K + (o % K), stored: 3 * H * K }; // heads one after another
  }

  /** @param {string} name */
  has(name) {
    return this.weights.has(this.located(name));
  }

  /** @param {string} name @param {number[]} shape */
  take(name, ...shape) {
    return this.weights.part(this.located(name), shape, this.part(name));
  }

  /** @param {string} name */
  matrix(name, outputs, inputs) {
    return this.weights.matrix(this.located(name), outputs, inputs, this.part(name));
  }

  /** @param {string} name @returns {Linear} */
  linear(name, outputs, inputs, { bias = true } = {}) {
    return {
      weight: this.matrix(`${name}.weight`, outputs, inputs),
      bias: bias ? this.take(`${name}.bias`, outputs).data : null,
    };
  }
}
