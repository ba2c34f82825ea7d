// The architectures that translate: the Transformer and the recurrent network.
import { RecurrentTranslator } from "./recurrent.js";
import { Transformer } from "./transformer.js";

/** @param {Weights} weights @param {Sizes} config @returns {Writes} */
export function makeTranslator(weights, config, padId) {
  return config.architecture === "recurrent"
    ? new RecurrentTranslator(weights, config, padId)
    : new Transformer(weights, config, padId);
}

/** How many layers of a model have a kind of attention. @param {Sizes} config */
export function numLayers({ architecture, attention, num_encoder_layers, num_decoder_layers = 0 }, kind) {
  if (architecture === "recurrent") return +(kind === "cross" && attention === "additive");
  return kind === "encoder" ? num_encoder_layers : num_decoder_layers;
}

/** Every head of a model. @param {Sizes} config @returns {Head[]} */
export function allHeads(config, kinds) {
  return kinds.flatMap((kind) => Array.from({ length: numLayers(config, kind) }, (_, layer) => layer).flatMap((layer) =>
    Array.from({ length: config.num_heads ?? 1 }, (_, head) => ({ kind, layer, head }))));
}
