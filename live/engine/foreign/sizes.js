// The values of a config.json of another library, checked, and the sizes that all families have.
import { requireKnown, requireNumber, requireWhole } from "../config/model.js";
import { N_, require } from "../errors.js";
import { ACTIVATIONS } from "../network/layers.js";

const UNLIMITED = 512; // tokens in a model that has no largest position

/** The name that config.json uses, by default the last one. @param {Values} values @param {string[]} names */
export function nameIn(values, names) {
  return names.find((name) => values[name] != null) ?? names[names.length - 1];
}

/** The first of these values in config.json that is not null. @param {Values} values @param {string[]} names */
export function valueIn(values, names, otherwise) {
  return values[nameIn(values, names)] ?? otherwise;
}

/**
 * A size that config.json has under one of several names.
 * @param {Values} values @param {string[]} names @param {number} [most] @param {number} [otherwise]
 */
export function sizeIn(values, names, most, otherwise) {
  const name = nameIn(values, names), value = values[name] ?? otherwise;
  require(
    value !== undefined, "config-damaged", N_("config.json does not say {name}. Copy the file again."), { name },
  );
  requireWhole(name, value, most);
  return value;
}

/** A number within limits, or the usual one. */
export function numberIn(values, names, otherwise, least = 0, most = Infinity) {
  const value = valueIn(values, names, otherwise);
  requireNumber(nameIn(values, names), value, least, most);
  return value;
}

/** Yes or no. @param {Values} values */
export function flagIn(values, name, otherwise = false) {
  const value = values[name] ?? otherwise;
  requireKnown(name, value, [true, false]);
  return value;
}

/** What all families say, under different names. @param {Values} values */
export function sizesOf(values) {
  const width = ["n_embd", "dim", "d_model", "hidden_size"], d_model = sizeIn(values, width);
  const heads = ["n_head", "n_heads", "encoder_attention_heads", "num_heads", "num_attention_heads"];
  const widths = ["n_inner", "hidden_dim", "encoder_ffn_dim", "d_ff", "intermediate_size"];
  const layers = ["n_layer", "n_layers", "encoder_layers", "num_layers", "num_hidden_layers"];
  const activations = ["activation_function", "hidden_activation", "hidden_act", "activation"];
  const activation = valueIn(values, activations, "gelu"), length = ["n_positions", "max_position_embeddings"];
  requireKnown(nameIn(values, activations), activation, [...ACTIVATIONS.keys()]);
  return {
    d_model, num_heads: sizeIn(values, heads, 1000), d_ff: sizeIn(values, widths, undefined, 4 * d_model),
    layers: sizeIn(values, layers, 1000), rows: sizeIn(values, ["vocab_size"]), activation,
    positions: sizeIn(values, length, undefined, UNLIMITED),
    norm_eps: numberIn(values, ["layer_norm_epsilon", "layer_norm_eps", "rms_norm_eps"], 1e-5, 0, 1),
    names: {
      d_model: nameIn(values, width), num_heads: nameIn(values, heads), num_kv_heads: "num_key_value_heads",
      max_length: nameIn(values, length),
    },
  };
}

/** A list with an entry for each layer, or undefined. @param {Values} values @returns {unknown[] | undefined} */
export function listIn(values, name) {
  const found = values[name] ?? undefined;
  require(
    found === undefined || Array.isArray(found), "config-damaged",
    N_("{name} in config.json is {value}. It must be a list."),
    { name, value: typeof found },
  );
  return found;
}
