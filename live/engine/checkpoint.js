// A checkpoint is a folder with `model.safetensors`, `config.json` and `tokenizer.json`. It contains no code.
import { N_, require } from "./errors.js";
import { Classifier } from "./network/classifier.js";
import { makeTranslator } from "./network/translators.js";
import { Weights } from "./safetensors.js";
import { BytePairTokenizer } from "./text/byte_pair.js";
import { PAD_ID } from "./text/vocab.js";

const MAX_SIZE = 1 << 20, MAX_POSITIONS = 1 << 12, MAX_LAYERS = 1000, MAX_TABLE = 1 << 24;
/** @type {Record<string, unknown[]>} */
const CHOICES = {
  architecture: ["recurrent"], norm: ["post", "pre"], activation: ["relu", "gelu"], pooling: ["attention", "mean"],
  attention: ["scaled_dot_product", "additive", "none"], positional: ["sinusoidal", "learned", "rotary"],
  tie_embeddings: ["none", "target", "all"],
  score_cap: [0], attention_sinks: [false],
};

/**
 * What `config.json` must say about a model: the names of its choices, and of its sizes.
 * @returns {[string[], string[]]}
 */
function namesNeeded(task, { architecture }) {
  const isTranslator = task === "translation";
  const ends = isTranslator ? ["source_vocab_size", "target_vocab_size"] : ["vocab_size"];
  if (architecture) return [["attention", "tie_embeddings"], ["d_model", "d_hidden", "max_length", ...ends]];
  const layers = isTranslator ? ["num_encoder_layers", "num_decoder_layers"] : ["num_encoder_layers"];
  return [
    ["norm", "activation", "attention", "positional", isTranslator ? "tie_embeddings" : "pooling"],
    ["d_model", "d_ff", "max_length", "num_heads", ...layers, ...ends],
  ];
}

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
  const [choices, sizes] = namesNeeded(task, model);
  for (const [name, known] of Object.entries({ ...CHOICES, num_kv_heads: [0, model.num_heads] }))
    require(
      known.includes(model[name]) || !(name in model || choices.includes(name)), "config-unsupported",
      N_("{name} is {value}. The browser runs {known}. Open this model in the app."),
      { name, value: model[name], known: known.join(", ") },
    );
  for (const name of sizes) {
    const most = name === "max_length" ? MAX_POSITIONS : name.startsWith("num_") ? MAX_LAYERS : MAX_SIZE;
    const size = model[name];
    require(
      Number.isInteger(size) && size > 0 && size <= most, "config-damaged",
      N_("{name} is {value}. It must be a whole number from 1 to {most}."), { name, value: size, most },
    );
  }
  require(
    model.d_model * model.max_length <= MAX_TABLE, "config-damaged",
    N_("d_model times max_length is {size}. The limit is {limit}."),
    { size: model.d_model * model.max_length, limit: MAX_TABLE },
  );
  require(
    model.d_model % (model.num_heads ?? 1) === 0, "config-damaged",
    N_("d_model ({d_model}) must be divisible by num_heads ({num_heads})."),
    { d_model: model.d_model, num_heads: model.num_heads },
  );
  require(
    task === "translation" || (Array.isArray(model.labels) && model.labels.length > 1), "config-damaged",
    N_("A classifier needs at least two labels."),
  );
  for (const name of ["kind", "source_language", "target_language"])
    require(
      typeof tokenizer[name] === "string", "config-damaged", N_("{name} is {value}. It must be a text."),
      { name, value: tokenizer[name] },
    );
  return { task, model, tokenizer, figures };
}

/**
 * Open a checkpoint from the contents of its files.
 * @param {CheckpointFiles} files @returns {Checkpoint | ClassifierCheckpoint}
 */
export function readCheckpoint(files) {
  const {
    task, model: config, tokenizer: { kind, source_language, target_language }, figures,
  } = readConfig(files.config);
  require(kind === "bpe", "tokenizer-unsupported", N_(
    "This checkpoint reads whole words by the rules of spaCy, which do not run in a browser. Choose a checkpoint "
    + "with subwords."
  ));
  const tokenizer = BytePairTokenizer.read(files.tokenizer);
  for (const name of Object.keys(config).filter((name) => name.endsWith("vocab_size")))
    require(
      config[name] === tokenizer.size, "config-damaged",
      N_("The tokenizer has {found} tokens, but config.json says {name} is {size}."),
      { found: tokenizer.size, name, size: config[name] },
    );
  const weights = new Weights(files.weights), model = modelOf(task, config, weights), { notFinite } = weights;
  return /** @type {any} */ ({
    task, config, model, tokenizer, figures, notFinite, languages: [source_language, target_language],
  });
}

/**
 * Make a model from a file. Every tensor of the file must belong to it.
 * @param {Sizes} config @param {ArrayBuffer} buffer
 */
export function readModel(task, config, buffer) {
  return modelOf(task, config, new Weights(buffer));
}

/** @param {Sizes} config @param {Weights} weights */
function modelOf(task, config, weights) {
  const model = task === "translation"
    ? makeTranslator(weights, config, PAD_ID)
    : new Classifier(weights, config, PAD_ID);
  weights.requireAllTaken();
  return model;
}
