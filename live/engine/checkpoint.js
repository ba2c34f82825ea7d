// A checkpoint is a folder with `model.safetensors`, `config.json` and `tokenizer.json`. It contains no code.
import { readSizes } from "./config/model.js";
import { N_, require } from "./errors.js";
import { describeForeign, layoutOf } from "./foreign/architecture.js";
import { ForeignWeights } from "./foreign/blocks.js";
import { settingsOf } from "./foreign/sizes.js";
import { makeModel } from "./network/translators.js";
import { BANNED, BOS_ID, EOS_ID, PAD_ID } from "./text/vocab.js";

const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

/** Read and check `config.json`. Sizes that do not fit the weights are found when the model takes its tensors. */
export function readConfig(json) {
  let values;
  try {
    values = JSON.parse(json);
  } catch {
    values = null;
  }
  const { format, task = "translation", model, tokenizer, figures = {} } = values ?? {};
  require(format === 1 && [model, tokenizer, figures].every(isObject), "config-damaged", N_(
    "config.json is not the configuration of a checkpoint of Headlight. Copy it again."
  ));
  require(
    ["translation", "classification"].includes(task), "config-unsupported", N_("The task {task} is not known."),
    { task },
  );
  for (const name of ["kind", "source_language", "target_language"])
    require(
      typeof tokenizer[name] === "string", "config-damaged", N_("{name} is {value}. It must be a text."),
      { name, value: tokenizer[name] },
    );
  return { task, model: readSizes(task, model), tokenizer, figures };
}

/**
 * What a checkpoint is, from its texts alone: nothing is read from its weights.
 * @param {Record<string, string>} texts By their names: "config.json", and the files of settings beside it.
 * @returns {Description}
 */
export function describe(texts) {
  if (!("format" in settingsOf(texts["config.json"]))) return describeForeign(texts);
  const { task, model: config, tokenizer: { source_language, target_language }, figures } = readConfig(
    texts["config.json"]
  );
  return {
    family: "headlight", task, config, figures, languages: [source_language, target_language], segments: 0,
    specials: { start: BOS_ID, ends: [EOS_ID], banned: BANNED },
  };
}

/**
 * Make a model. Its numbers come with `weights.read()`.
 * @param {Description} description @param {Weights} weights
 * @returns {Model}
 */
export function modelOf(description, weights) {
  const { family, config } = description;
  if (family !== "headlight") // a text has no padding, whatever its ids, and a file may have more tensors
    return makeModel(new ForeignWeights(weights, layoutOf(description), config), config, -1);
  const model = makeModel(weights, config, PAD_ID);
  weights.requireAllTaken();
  return /** @type {any} */ (model);
}
