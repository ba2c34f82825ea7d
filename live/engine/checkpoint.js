// A checkpoint is a folder with `model.safetensors`, `config.json` and `tokenizer.json`. It contains no code.
import { EngineError, require } from "./errors.js";
import { Classifier } from "./network/classifier.js";
import { makeTranslator } from "./network/translators.js";
import { Weights } from "./safetensors.js";
import { BytePairTokenizer } from "./text/byte_pair.js";
import { PAD_ID } from "./text/vocab.js";

/**
 * @typedef {import("./network/translators.js").LayersConfig} LayersConfig
 * @typedef {{ weights: ArrayBuffer, config: string, tokenizer: string }} CheckpointFiles
 * @typedef {{ task: "translation", config: LayersConfig, model: import("./network/translators.js").Translator,
 *   tokenizer: BytePairTokenizer, languages: [string, string], figures: Record<string, number> }} Checkpoint
 * @typedef {Omit<Checkpoint, "task" | "model"> & { task: "classification", model: Classifier }} ClassifierCheckpoint
 */

const SIZES = ["d_model", "num_heads", "d_ff", "d_hidden", "num_encoder_layers", "num_decoder_layers", "max_length", "vocab_size", "source_vocab_size", "target_vocab_size"];
const NEEDED = {
  translation: ["d_model", "num_heads", "d_ff", "num_encoder_layers", "num_decoder_layers", "max_length", "source_vocab_size", "target_vocab_size"],
  recurrent: ["d_model", "d_hidden", "max_length", "source_vocab_size", "target_vocab_size"],
  classification: ["d_model", "num_heads", "d_ff", "num_encoder_layers", "max_length", "vocab_size"],
};
/** @type {Record<string, string[]>} */
const CHOICES = {
  norm: ["post", "pre"], activation: ["relu", "gelu"], attention: ["scaled_dot_product", "additive", "none"],
  positional: ["sinusoidal", "learned", "rotary"], tie_embeddings: ["none", "target", "all"], pooling: ["attention", "mean"],
};
const MAX_SIZE = 1 << 20, MAX_POSITIONS = 1 << 12;

/**
 * Read and check `config.json`.
 * @param {string} json
 */
export function readConfig(json) {
  let values;
  try {
    values = JSON.parse(json);
  } catch {
    throw new EngineError("config-damaged", "config.json is not JSON. Copy the checkpoint again.");
  }
  const { model, tokenizer, task = "translation", format } = values ?? {};
  require(format === 1 && model && tokenizer, "config-damaged", "config.json is not the configuration of a checkpoint of Headlight.");
  const needed = model.architecture === "recurrent" ? NEEDED.recurrent : Object.hasOwn(NEEDED, task) && NEEDED[task];
  require(needed, "config-unsupported", `The task ${task} is not known.`);
  for (const name of SIZES.filter((name) => needed.includes(name) || name in model)) {
    const limit = name === "max_length" ? MAX_POSITIONS : MAX_SIZE;
    require(Number.isInteger(model[name]) && model[name] > 0 && model[name] <= limit, "config-damaged", `${name} is ${model[name]}. It must be a whole number from 1 to ${limit}.`);
  }
  for (const [name, known] of Object.entries(CHOICES))
    require(!(name in model) || known.includes(model[name]), "config-unsupported", `${name} is ${model[name]}. It must be one of ${known.join(", ")}.`);
  require(!model.num_heads || model.d_model % model.num_heads === 0, "config-damaged", `d_model (${model.d_model}) must be divisible by num_heads (${model.num_heads}).`);
  require(task !== "classification" || (Array.isArray(model.labels) && model.labels.length > 1), "config-damaged", "A classifier needs at least two labels.");
  return { task, model, tokenizer, figures: values.figures ?? {} };
}

/**
 * Open a checkpoint from the contents of its files.
 * @param {CheckpointFiles} files
 * @returns {Checkpoint | ClassifierCheckpoint}
 */
export function readCheckpoint(files) {
  const { task, model: config, tokenizer: kind, figures } = readConfig(files.config);
  require(kind.kind === "bpe", "tokenizer-unsupported", "This checkpoint reads whole words by the rules of spaCy, which do not run in a browser. Choose a checkpoint with subwords.");
  const tokenizer = new BytePairTokenizer(files.tokenizer);
  for (const name of SIZES.filter((name) => name.endsWith("vocab_size") && name in config))
    require(config[name] === tokenizer.size, "config-damaged", `The tokenizer has ${tokenizer.size} tokens, but config.json says ${name} is ${config[name]}.`);
  const shared = { config, tokenizer, figures, languages: /** @type {[string, string]} */ ([kind.source_language, kind.target_language]) };
  return task === "classification"
    ? { ...shared, task, model: readModel(files.weights, (weights) => new Classifier(weights, config, PAD_ID)) }
    : { ...shared, task, model: readModel(files.weights, (weights) => makeTranslator(weights, config, PAD_ID)) };
}

/**
 * Make a model from a file. Every tensor of the file must belong to it.
 * @template M
 * @param {ArrayBuffer} buffer
 * @param {(weights: Weights) => M} make
 * @returns {M}
 */
export function readModel(buffer, make) {
  const weights = new Weights(buffer), model = make(weights);
  weights.requireAllTaken();
  return model;
}

/**
 * Download the files of a checkpoint.
 * @param {string} folder Its address.
 * @param {(bytes: number, total: number) => void} [report] Of the weights; the total is 0 if the server does not say it.
 * @param {AbortSignal} [signal]
 * @returns {Promise<CheckpointFiles>}
 */
export async function fetchCheckpoint(folder, report = () => {}, signal) {
  const get = async (name) => {
    const response = await fetch(`${folder.replace(/\/$/, "")}/${name}`, { signal }).catch((error) => {
      if (error.name === "AbortError") throw error;
      throw new EngineError("fetch-failed", `${name} of ${folder} could not be loaded. Check the connection, then try again.`);
    });
    require(response.ok, "fetch-failed", `${name} of ${folder} could not be loaded (${response.status}).`);
    return response;
  };
  const [config, tokenizer, weights] = await Promise.all(["config.json", "tokenizer.json", "model.safetensors"].map(get));
  return { config: await config.text(), tokenizer: await tokenizer.text(), weights: await readReported(weights, report) };
}

/** @param {Response} response @param {(bytes: number, total: number) => void} report */
async function readReported(response, report) {
  const total = Number(response.headers.get("content-length") ?? 0);
  if (!response.body) return response.arrayBuffer();
  /** @type {BlobPart[]} */
  const parts = [];
  let bytes = 0;
  for (const reader = response.body.getReader(); ; ) {
    const { done, value } = await reader.read();
    if (done) return new Blob(parts).arrayBuffer();
    bytes += value.length;
    require(bytes <= 512 << 20, "weights-too-large", "The weights have more than 512 MB. Choose a smaller model.");
    parts.push(value);
    report(bytes, total);
  }
}
