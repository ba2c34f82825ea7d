// How the page gets its answers: from the engine, which reads the files of a checkpoint. In a report, `recorded.js`
// takes the place of this file.
import { startEngine } from "../engine/engine.js";
import { requireSize } from "../engine/safetensors.js";
import { decodeBytes } from "../ui/numbers.js";
import { fileOf } from "./held.js";

/**
 * The files of a checkpoint, from the site, from the page or from the visitor.
 * @param {Site} listed @param {Watching} watching Of the weights.
 * @returns {Promise<CheckpointFiles>}
 */
export async function filesOf({ name, files, held = [], own }, { report, signal }) {
  if (own) return own;
  /** @type {CheckpointFiles} */
  const found = { texts: {}, weights: {} };
  /** @type {Record<string, { bytes: number, total: number }>} */
  const parts = {};
  const sum = (of) => Object.values(parts).reduce((all, part) => all + part[of], 0);
  await Promise.all((files ? Object.keys(files) : held).map(async (file) => {
    const isWeights = file.endsWith(".safetensors");
    const watching = { signal, report: isWeights ? (part) => {
      parts[file] = part;
      requireSize(sum("bytes")); // of all files, before the rest is loaded
      report?.({ bytes: sum("bytes"), total: sum("total") });
    } : undefined };
    const content = await (files ? fileOf(files[file], watching) : inlined(`${file}-${name}`));
    if (isWeights) found.weights[file] = await content.blob();
    else found.texts[file] = await content.text();
  }));
  return found;
}

/** The engine of the page. Where the script of the page is a file, a worker can run it too. @returns {Engine} */
export function startAnswers() {
  return startEngine(/** @type {HTMLScriptElement | null} */ (document.querySelector("script[src^=app]"))?.src);
}

/** What a page that is one file holds under a name: gzip as base64. @param {string} id */
export async function inlined(id) {
  const bytes = decodeBytes(document.getElementById(id)?.textContent?.trim() ?? "");
  return new Response(new Blob([/** @type {any} */ (bytes)]).stream().pipeThrough(new DecompressionStream("gzip")));
}
