// What a site holds beside its script: in the page, or in a file of its own.
import { EngineError, N_, require } from "../engine/errors.js";
import { requireSize } from "../engine/safetensors.js";
import { openStore, whole } from "./files.js";

/**
 * A file of the site. Once loaded, it is kept.
 * @param {string} file @param {Watching} [watching] `report` gets `{ bytes, total }`.
 * @returns {Promise<Response>}
 */
export async function fileOf(file, watching) {
  const store = await openStore(new URL(".", document.baseURI).href);
  const kept = await store?.match(file);
  const found = kept ?? (await download(file, watching).catch(
    (error) => { if (error.code === "weights-too-large") throw error; }
  ));
  require(!watching?.signal?.aborted, "cancelled", N_("The work was cancelled."));
  if (!found) return missing(file);
  if (!kept) store?.put(file, found.clone()).catch(() => {}); // the disk may be full
  return found;
}

/** Load a file past the browser's own cache. `total` is 0 if the server does not say it. */
async function download(file, { report, signal } = /** @type {Watching} */ ({})) {
  const found = await fetch(file, { cache: "no-cache", signal }), total = Number(found.headers.get("content-length"));
  const content = found.body && await collected(found.body, (bytes) => {
    requireSize(bytes);
    report?.({ bytes, total });
  });
  return whole(file, new Response(content, found));
}

/**
 * What a stream gives.
 * @param {ReadableStream} stream @param {(bytes: number) => void} watch Gets the bytes so far. An error that it throws
 *   ends the stream.
 */
export async function collected(stream, watch) {
  let bytes = 0, problem = /** @type {any} */ (null); // a browser replaces the error of a stream by its own
  const counted = new TransformStream({ transform(part, next) {
    bytes += part.length;
    try {
      watch(bytes);
    } catch (error) {
      problem = error;
      throw error;
    }
    next.enqueue(part);
  } });
  return new Response(stream.pipeThrough(counted)).blob().catch((error) => { throw problem ?? error; });
}

/** @param {any} source The content, or a file with it as JSON. @returns {Promise<any>} */
export async function contentOf(source) {
  return typeof source === "string" ? (await fileOf(source)).json().catch(() => missing(source)) : source;
}

/**
 * What a script of the site exports, after its style sheet is there.
 * @param {string} file @param {string} [style] @returns {Promise<any>}
 */
export async function partOf(file, style) {
  if (style && !document.querySelector(`link[href="${style}"]`)) await loadStyle(style);
  return (await import(`./${file}`).catch(() => missing(file))).default[0];
}

/** @param {string} file */
async function loadStyle(file) {
  const link = Object.assign(document.createElement("link"), { rel: "stylesheet", href: file });
  await new Promise((done) => {
    link.onload = done;
    link.onerror = () => { link.remove(); done(missing(file)); };
    document.head.append(link);
  });
}

/**
 * Say why a file of the site cannot be loaded.
 * @param {string} file @param {string} [named] The file that the page names; it leads to the other one.
 * @returns {Promise<never>}
 */
export async function missing(file, named = file) {
  const page = await fetch("index.html", { cache: "no-store" }).then((found) => found.text()).catch(() => "");
  require(!page.includes("Headlight Live") || page.includes(named), "new-version", N_(
    "A new version of this page was published. Load the page again to use it."
  ));
  throw new EngineError(
    "fetch-failed", N_("{address} could not be loaded. Check the connection, then try again."), { address: file }
  );
}

/** The script of the service worker, if the page names one. @returns {string | undefined} */
const offlineScript = () => /** @type {any} */ (document.querySelector("meta[name=offline]"))?.content;

/** Start the service worker, where the browser has one and the page names its script: the site opens offline then. */
export async function offerOffline() {
  const address = offlineScript();
  if (!address) return;
  try {
    await navigator.serviceWorker.register(address);
  } catch {
    // Without it the site works too. A browser may refuse it, for example in a private window.
  }
}

/**
 * Load the newest version of the page, though pages of an older one may be open. A service worker of a folder above
 * this site belongs to another one, and stays.
 */
export async function renew() {
  try {
    const found = await navigator.serviceWorker.getRegistration(), home = new URL(".", document.baseURI).href;
    if (offlineScript() && found?.scope === home) await found.unregister();
  } finally {
    location.reload();
  }
}
