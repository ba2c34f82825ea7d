// Open a checkpoint: its description, its tokenizer, its model, and then the numbers of its weights.
import { describe, modelOf, readConfig } from "./checkpoint.js";
import { N_, require } from "./errors.js";
import { Weights } from "./safetensors.js";
import { BytePairTokenizer } from "./text/byte_pair.js";
import { readTokenizer } from "./text/tokenizer.js";
import { AROUND_OURS } from "./text/vocab.js";

/**
 * Find out what a checkpoint is, from its files. The numbers of its model come with `checkpoint.weights.read()`.
 * @param {CheckpointFiles} files @returns {Promise<AnyCheckpoint>}
 */
export async function openCheckpoint({ texts, weights: blobs }) {
  const description = describe(texts), { family, task, config, languages = ["", ""], figures } = description;
  const isOurs = family === "headlight", tokenizer = isOurs ? ownTokenizer(texts, config) : foreignTokenizer(texts);
  const weights = await Weights.open(blobs, texts["model.safetensors.index.json"]);
  return {
    family, task, config, figures, languages, tokenizer, target: tokenizer, weights,
    model: modelOf(description, weights),
    specials: isOurs ? { ...AROUND_OURS, ...description.specials } : allSpecialsOf(description, tokenizer),
    get notFinite() { return weights.notFinite; },
  };
}

/**
 * The special tokens of a model of another library: those of its settings, and those of its tokenizer.
 * @param {Description} description @param {any} tokenizer @returns {AllSpecials}
 */
function allSpecialsOf({ task, specials, config }, { size, specials: found }) {
  const rows = config.source_vocab_size ?? config.vocab_size ?? config.target_vocab_size;
  require(
    size <= rows, "tokenizer-damaged", N_("The tokenizer has {size} tokens, and the model has embeddings for {rows}."),
    { size, rows },
  );
  const { before, after, separator, unknown, mask, start, end, marks } = found, translates = task === "translation";
  const writes = translates || task === "continuation";
  const own = [...marks].filter((id) => id !== unknown && id !== mask);
  return {
    ...specials, unknown, before, mask: task === "filling" ? mask : null,
    start: translates ? specials.start : start ?? end ?? 0,
    after: task === "continuation" ? [] : after, // it would end the text
    separator: writes ? [] : separator,
    marks: [...new Set([...own, ...(translates ? [specials.start] : []), ...specials.ends])],
  };
}

/** The tokenizer of a model of another library. Its texts have no spaces around them. */
function foreignTokenizer(texts) {
  const tokenizer = readTokenizer(texts), decode = tokenizer.decode.bind(tokenizer);
  return Object.assign(tokenizer, { decode: (ids) => decode(ids).trim() });
}

/** The tokenizer of one of our own checkpoints. @param {Record<string, string>} texts @param {Sizes} config */
function ownTokenizer(texts, config) {
  const { tokenizer: { kind } } = readConfig(texts["config.json"]);
  require(kind === "bpe", "tokenizer-unsupported", N_(
    "This checkpoint reads whole words by the rules of spaCy, which do not run in a browser. Choose a checkpoint "
    + "with subwords."
  ));
  const tokenizer = BytePairTokenizer.read(texts["tokenizer.json"]);
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
