// Open a checkpoint: its description, its tokenizer, its model, and then the numbers of its weights.
import { describe, modelOf, readConfig } from "./checkpoint.js";
import { N_, require } from "./errors.js";
import { Weights } from "./safetensors.js";
import { BytePairTokenizer } from "./text/byte_pair.js";
import { AROUND_OURS } from "./text/vocab.js";

/**
 * Find out what a checkpoint is, from its files. The numbers of its model come with `checkpoint.weights.read()`.
 * @param {CheckpointFiles} files @returns {Promise<AnyCheckpoint>}
 */
export async function openCheckpoint({ texts, weights: blobs }) {
  const description = describe(texts), { family, task, config, languages = ["", ""], figures } = description;
  const tokenizer = tokenizerOf(texts, config);
  const weights = await Weights.open(blobs, texts["model.safetensors.index.json"]);
  return {
    family, task, config, figures, languages, tokenizer, target: tokenizer, weights,
    model: modelOf(description, weights), specials: { ...AROUND_OURS, ...description.specials },
    get notFinite() { return weights.notFinite; },
  };
}

/** The tokenizer of one of our own checkpoints. @param {Record<string, string>} texts @param {Sizes} config */
function tokenizerOf(texts, config) {
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
  return tokenizer;
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
