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
  layers: "transformer.layer", embedding: { ...BERT_EMBEDDING, types: "" },
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
  layers: "layers", norm: "layer_norm",
  embedding: { tokens: "embed_tokens", positions: "embed_positions", norm: "layernorm_embedding" },
  self: { ...four("self_attn.", "q_proj k_proj v_proj out_proj"), norm: "self_attn_layer_norm" },
  cross: { ...four("encoder_attn.", "q_proj k_proj v_proj out_proj"), norm: "encoder_attn_layer_norm" },
  feed_forward: { expand: "fc1", contract: "fc2", norm: "final_layer_norm" },
};
const T5 = { // @: the feed-forward network is the second part of an encoder layer, and the third of a decoder layer
  layers: "block", embedding: { tokens: "embed_tokens" }, norm: "final_layer_norm",
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

/** Our name of a tensor: stack, layer, part and item, such as "self" and "query", and what it is of it. */
const OUR_NAME = /^(\w+coder)\.(?:layers\.(\d+)\.)?(?:(\w+)\.)?(\w+)\.(\w+)$/;
const JOINED = ["query", "key", "value"];

/**
 * Where a tensor is in a file of another library: its name there, and which part of the stored tensor it is. Old files
 * of BERT have other names. Names that are not ours, such as those of the way to the logits, stay.
 * @param {Weights} weights @param {Layout} layout @param {Sizes} config @returns {Weights["place"]}
 */
export function tensorPlaces({ entries }, { names, stacks, joined, root }, { d_model: D, head_width: K, ...config }) {
  const home = [...entries.keys()].some((name) => name.startsWith(root)) ? root : ""; // without a head, maybe no prefix
  const present = (name) => {
    const older = name.replace(/weight$/, "gamma").replace(/bias$/, "beta");
    return entries.has(older) ? older : name;
  };
  return (name) => {
    const short = name.replace(/_(attention|projection|residual)/g, "").replace(/(embedding|table)$/, "weight");
    const [, stack, layer, part, item, leaf] = OUR_NAME.exec(short) ?? [];
    if (!stack) return [present(name), {}];
    const path = (part ? names[part][item] : names[item]).replace("@", stack === "encoder" ? 1 : 2);
    const place = `${stacks ? `${stack}.` : ""}${layer ? `${names.layers}.${layer}.` : ""}`;
    const found = present(`${home}${place}${path}.${leaf}`), shared = `${home}shared.weight`;
    if (item === "tokens") return [!entries.has(found) && entries.has(shared) ? shared : found, {}];
    const { position_offset: offset = 0, stored_positions: stored } = config;
    if (part === "embedding") return [found, item === "positions" ? { rows: (o) => o + offset, stored } : {}];
    const third = JOINED.indexOf(item), unit = joined === "heads" ? K : D; // GPT-NeoX joins the heads one by one
    return [found, {
      transposed: joined === "columns", ...(joined && third >= 0 && {
        rows: (o) => (Math.floor(o / unit) * 3 + third) * unit + (o % unit), stored: 3 * D,
      }),
    }];
  };
}
