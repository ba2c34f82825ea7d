// A checkpoint is a folder with `model.safetensors`, `config.json` and `tokenizer.json`. It contains no code.
import { readSizes } from "./config/model.js";
import { N_, require } from "./errors.js";
import { describeForeign, layoutOf } from "./foreign/architecture.js";
import { ForeignWeights } from "./foreign/blocks.js";
import { settingsOf } from "./foreign/sizes.js";
import { makeModel } from "./network/translators.js";
import { Weights } from "./safetensors.js";
import { BytePairTokenizer } from "./text/byte_pair.js";
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
 * Find out what a checkpoint is, from its files. The numbers of its model come with `checkpoint.weights.read()`.
 * @param {CheckpointFiles} files @returns {Promise<Checkpoint | ClassifierCheckpoint>}
 */
export async function openCheckpoint({ texts, weights: blobs }) {
  const description = describe(texts), { task, config, languages, figures } = description;
  const { tokenizer: { kind } } = readConfig(texts["config.json"]);
  require(kind === "bpe", "tokenizer-unsupported", N_(
    "This checkpoint reads whole words by the rules of spaCy, which do not run in a browser. Choose a checkpoint "
    + "with subwords."
  ));
  const tokenizer = new BytePairTokenizer(texts["tokenizer.json"]);
  for (const name of Object.keys(config).filter((name) => name.endsWith("vocab_size")))
    require(
      config[name] === tokenizer.size, "config-damaged",
      N_("The tokenizer has {found} tokens, but config.json says {name} is {size}."),
      { found: tokenizer.size, name, size: config[name] },
    );
  const weights = await Weights.open(blobs, texts["model.safetensors.index.json"]);
  const model = modelOf(description, weights), { notFinite } = weights;
  return /** @type {any} */ ({ task, config, model, tokenizer, figures, notFinite, weights, languages });
}

/**
 * Open a checkpoint, and read its numbers.
 * @param {CheckpointFiles} files @param {(progress: { bytes: number, total: number }) => void} [report]
 */
export async function readCheckpoint(files, report) {
  const checkpoint = await openCheckpoint(files);
  await checkpoint.weights.read(report);
  return checkpoint;
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
