// How the page gets its answers: from the engine, which reads the files of a checkpoint. In a report, `recorded.js`
// takes the place of this file.
import { serveEngine, startEngine } from "../engine/engine.js";
import { decodeBytes } from "../ui/numbers.js";
import { fileOf } from "./held.js";

/**
 * The files of a checkpoint, from the site or from the page.
 * @param {Site} listed @param {Watching} watching Of the weights.
 * @returns {Promise<CheckpointFiles>}
 */
export async function filesOf({ name, files }, { report, signal }) {
  const find = (part) => (files
    ? fileOf(files[part], { signal, report: part === "weights" ? report : undefined })
    : inlined(`${part}-${name}`));
  const [weights, config, tokenizer] = await Promise.all(["weights", "config", "tokenizer"].map(find));
  return {
    texts: { "config.json": await config.text(), "tokenizer.json": await tokenizer.text() },
    weights: { "model.safetensors": await weights.blob() },
  };
}

/** The engine of the page. Where the script of the page is a file, a worker can run it too. @returns {Engine} */
export function startAnswers() {
  return startEngine(/** @type {HTMLScriptElement | null} */ (document.querySelector("script[src]"))?.src);
}

/** Answer the page from its worker. @param {any} scope Of the worker. */
export function serveAnswers(scope) {
  serveEngine(scope);
}

/** A file of a checkpoint in a page that is one file: gzip as base64. @param {string} id */
async function inlined(id) {
  const bytes = decodeBytes(document.getElementById(id)?.textContent?.trim() ?? "");
  return new Response(new Blob([/** @type {any} */ (bytes)]).stream().pipeThrough(new DecompressionStream("gzip")));
}
