// Opens our own checkpoints: folders with `model.safetensors`, `config.json` and `tokenizer.json`, without code.
import { readSizes, settingsOf } from "./config/model.js";
import { N_, require, shown } from "./errors.js";
import { makeModel } from "./network/translators.js";
import { BytePairTokenizer } from "./text/tokenizers.js";
import { AROUND_OURS, BANNED, BOS_ID, EOS_ID, PAD_ID } from "./text/vocab.js";

const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

/**
 * Read and check `config.json`. Sizes that do not fit the weights are found when the model takes its tensors.
 * @param {Record<string, string>} texts By the names of their files.
 */
export function readConfig(texts) {
  const { format, task = "translation", model, tokenizer, figures = {} } = settingsOf(texts, "config.json");
  require(format === 1 && [model, tokenizer, figures].every(isObject), "config-damaged", N_(
    "config.json is not the configuration of a checkpoint of Headlight. Copy it again."
  ));
  require(
    ["translation", "classification"].includes(task), "config-unsupported", N_("The task {task} is not known."),
    { task: shown(task) },
  );
  for (const name of ["kind", "source_language", "target_language"])
    require(
      typeof tokenizer[name] === "string", "config-damaged", N_("{name} in config.json is {value}. It must be a text."),
      { name, value: shown(tokenizer[name]) },
    );
  return { task, model: readSizes(task, model), tokenizer, figures };
}

/** The tokenizer of one of our own checkpoints. @param {Record<string, string>} texts @param {Sizes} config */
function tokenizerOf(texts, config) {
  const { tokenizer: { kind } } = readConfig(texts);
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
  return tokenizer;
}

/** @type {Opener} */
export const OURS = {
  describe(texts) {
    const { task, model: config, tokenizer: { source_language, target_language }, figures } = readConfig(texts);
    return {
      family: "headlight", task, config, figures, languages: [source_language, target_language], segments: 0,
      specials: { start: BOS_ID, ends: [EOS_ID], banned: BANNED },
    };
  },

  modelOf({ config }, weights) {
    const model = makeModel(weights, config, PAD_ID);
    weights.requireAllTaken();
    return /** @type {any} */ (model);
  },

  tokenizerOf,

  specialsOf: ({ specials }) => ({ ...AROUND_OURS, ...specials }),
};
