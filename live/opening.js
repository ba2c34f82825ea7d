// How the page gets its answers: from the engine, which reads the files of a checkpoint. In a report, `recorded.js`
// takes the place of this file.
import { serveEngine, startEngine } from "./engine/engine.js";
import { fileOf } from "./held.js";
import { inlined } from "./inlined.js";

/**
 * The files of a checkpoint, from the site or from the page.
 * @param {import("./session.js").Site} listed @param {Watching} watching Of the weights.
 * @returns {Promise<CheckpointFiles>}
 */
export async function filesOf({ name, files }, { report, signal }) {
  const find = (part) => (files
    ? fileOf(files[part], { signal, report: part === "weights" ? report : undefined })
    : inlined(`${part}-${name}`));
  const [weights, config, tokenizer] = await Promise.all(["weights", "config", "tokenizer"].map(find));
  return { weights: await weights.arrayBuffer(), config: await config.text(), tokenizer: await tokenizer.text() };
}

/** The engine of the page. Where the script of the page is a file, a worker can run it too. @returns {Engine} */
export function startAnswers() {
  return startEngine(/** @type {HTMLScriptElement | null} */ (document.querySelector("script[src]"))?.src);
}

/** Answer the page from its worker. @param {any} scope Of the worker. */
export function serveAnswers(scope) {
  serveEngine(scope);
}
