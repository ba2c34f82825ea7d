// The architectures: the Transformer and the recurrent network.
import { RecurrentTranslator } from "./recurrent.js";
import { Transformer } from "./transformer.js";

/** @param {WeightSource} weights @param {Sizes} config @returns {Model} */
export function makeModel(weights, config, padId) {
  return config.architecture === "recurrent"
    ? /** @type {any} */ (new RecurrentTranslator(/** @type {Weights} */ (weights), config, padId))
    : new Transformer(weights, config, padId);
}

/** How many layers of a model have a kind of attention. @param {Sizes} config */
export function numLayers({ architecture, attention, num_encoder_layers, num_decoder_layers = 0 }, kind) {
  if (architecture === "recurrent") return +(kind === "cross" && attention === "additive");
  if (kind === "encoder") return num_encoder_layers;
  return kind === "decoder" || num_encoder_layers ? num_decoder_layers : 0;
}

/** Every head of a model. @param {Sizes} config @returns {Head[]} */
export function allHeads(config, kinds) {
  return kinds.flatMap((kind) => Array.from({ length: numLayers(config, kind) }, (_, layer) => layer).flatMap((layer) =>
    Array.from({ length: config.num_heads ?? 1 }, (_, head) => ({ kind, layer, head }))));
}
