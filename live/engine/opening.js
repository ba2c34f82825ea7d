// Open a checkpoint: its description, its tokenizer, its model, and then the numbers of its weights.
import { OURS } from "./checkpoint.js";
import { settingsOf } from "./config/model.js";
import { N_, require } from "./errors.js";
import { FOREIGN } from "./foreign/open.js";
import { Weights } from "./safetensors.js";

/**
 * What opens a folder: one of ours, or one of another library.
 * @param {CheckpointFiles} files @returns {Promise<Opener>}
 */
async function openerOf({ texts, script }) {
  if ("format" in settingsOf(texts, "config.json")) return OURS;
  if (FOREIGN) return FOREIGN;
  // A site has it in a script of its own, loaded with the first such folder.
  const found = await import(`./${script}`).catch((error) => console.error(error));
  require(
    found, "fetch-failed", N_("{address} could not be loaded. Check the connection, then try again."),
    { address: script },
  );
  return found.default[0];
}

/**
 * Find out what a checkpoint is, from its files. The numbers of its model come with `checkpoint.weights.read()`.
 * @param {CheckpointFiles} files @returns {Promise<AnyCheckpoint>}
 */
export async function openCheckpoint(files) {
  const { texts, weights: blobs } = files, opener = await openerOf(files), description = opener.describe(texts);
  const tokenizer = opener.tokenizerOf(texts, description.config), { languages = ["", ""] } = description;
  const weights = await Weights.open(blobs, texts["model.safetensors.index.json"]);
  return {
    ...description, languages, tokenizer, weights, model: opener.modelOf(description, weights),
    specials: opener.specialsOf(description, tokenizer), get notFinite() { return weights.notFinite; },
  };
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
