// How the page gets its answers: from the engine, which reads the files of a checkpoint. In a report, `recorded.js` takes the
// place of this file.
import { serveEngine, startEngine } from "./engine/engine.js";

/** The bytes of a checkpoint that is a part of the page: gzip as base64. @param {string} id */
async function inlined(id) {
  const text = document.getElementById(id)?.textContent ?? "";
  const bytes = Uint8Array.from(atob(text.trim()), (character) => character.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
}

/** Where the files of a checkpoint are: the address of its folder, or its files if the page holds them. */
export async function sourceOf({ name, source }) {
  if (source) return new URL(source, document.baseURI).href;
  const [weights, config, tokenizer] = await Promise.all(["weights", "config", "tokenizer"].map((part) => inlined(`${part}-${name}`)));
  const text = (bytes) => new TextDecoder().decode(bytes);
  return { weights, config: text(config), tokenizer: text(tokenizer) };
}

/** The engine of the page, in a worker where the page names one. @returns {Engine} */
export function startAnswers() {
  const worker = document.querySelector("meta[name=worker]")?.getAttribute("content");
  return startEngine(worker ? new URL(worker, document.baseURI) : undefined);
}

/** Answer the page from its worker. @param {any} scope Of the worker. */
export function serveAnswers(scope) {
  serveEngine(scope);
}
