// The architectures: the Transformer and the recurrent network.
import { KINDS } from "../trace.js";
import { RecurrentTranslator } from "./recurrent.js";
import { Transformer } from "./transformer.js";

/** @param {Weights} weights @param {Sizes} config @returns {Model} */
export function makeModel(weights, config, padId) {
  return config.architecture === "recurrent"
    ? /** @type {any} */ (new RecurrentTranslator(weights, config, padId))
    : new Transformer(weights, config, padId);
}

/** How many layers of a model have a kind of attention. @param {Sizes} config */
export function numLayers({ architecture, attention, num_encoder_layers, num_decoder_layers = 0 }, kind) {
  if (architecture === "recurrent") return +(kind === "cross" && attention === "additive");
  if (kind === "encoder") return num_encoder_layers;
  return kind === "decoder" || num_encoder_layers ? num_decoder_layers : 0;
}

/** Kind → its layers, and the heads of each. @param {Sizes} config @returns {Record<string, [number, number]>} */
export function headsOf(config) {
  return Object.fromEntries(Object.keys(KINDS).map((kind) => [kind, [numLayers(config, kind), config.num_heads ?? 1]]));
}
