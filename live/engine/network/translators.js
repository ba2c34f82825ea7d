// The architectures that translate: the Transformer and the recurrent network.
import { RecurrentTranslator } from "./recurrent.js";
import { Transformer } from "./transformer.js";

/**
 * The sizes in config.json; a model has those of its architecture.
 * @typedef {{ d_model: number, num_heads: number, d_ff: number, num_encoder_layers: number, num_decoder_layers: number,
 *   norm: string, activation: string, attention: string, positional: string, max_length: number, d_hidden: number,
 *   source_vocab_size: number, target_vocab_size: number, tie_embeddings: string, architecture?: string,
 *   vocab_size: number, labels: string[], pooling: string }} LayersConfig
 * @typedef {{ states: import("../tensor.js").Tensor, source: number[] }} Memory What the encoder read and computed.
 * @typedef {import("./cache.js").DecoderCache | import("./recurrent.js").RecurrentCache} AnyCache
 * @typedef {Transformer | RecurrentTranslator} Translator
 */

/**
 * @param {import("../safetensors.js").Weights} weights
 * @param {LayersConfig} config
 * @param {number} padId
 */
export function makeTranslator(weights, config, padId) {
  return config.architecture === "recurrent" ? new RecurrentTranslator(weights, config, padId) : new Transformer(weights, config, padId);
}

/**
 * How many layers of a model have a kind of attention.
 * @param {LayersConfig} config
 * @param {string} kind One of `KINDS`.
 */
export function numLayers(config, kind) {
  if (config.architecture === "recurrent") return Number(kind === "cross" && config.attention === "additive");
  return (kind === "encoder" ? config.num_encoder_layers : config.num_decoder_layers) ?? 0;
}

/** @param {LayersConfig} config */
export function numHeads(config) {
  return config.num_heads ?? 1;
}
