// The service worker of a site. It keeps the files of its version, so that the site opens without a network. A new
// version is loaded as a whole, and takes over when no page of the old one is open. Files that both versions have are
// loaded once.
import { openStore, whole } from "./files.js";

const PAGE = "{page}", LIST = "{list}";
const MOST_OF_ATLASES = 8 * 2 ** 20; // bytes that are kept of heads that nobody has opened
const scope = /** @type {any} */ (self), home = scope.registration.scope, isFirst = !scope.registration.active;
/** @type {Promise<any>} */
const opened = openStore(home);
const addressOf = (file) => new URL(file, home).href;

/** @throws {TypeError} The host does not have this version as a whole, or the disk is full. */
async function keep(file, from = file) {
  const store = await opened, address = addressOf(file);
  if (!(await store.match(address)))
    await store.put(address, await whole(address, await fetch(addressOf(from), { cache: "no-cache" })));
}

/** The files of this version whose names have a hash. */
async function ownFiles() {
  await keep(LIST, "headlight-live.json");
  const { files } = await (await (await opened).match(addressOf(LIST))).json();
  return files.filter((file) => /\.[\da-f]{16}\./.test(file));
}

/** What of a checkpoint is kept together: its model, and each part of its atlas. @param {string} path */
const partOf = (path) => path.replace(/(\/checkpoints\/[^/]+\/atlas\/.*)\.[\da-f]{16}\..*|[^/]*$/, "$1");

/** Keep the page, its files, and of each checkpoint what this browser has kept in an older version. */
async function install() {
  const kept = (await (await opened).keys()).map(({ url }) => partOf(url));
  const files = (await ownFiles()).filter(
    (file) => !file.startsWith("checkpoints/") || kept.includes(partOf(addressOf(file)))
  );
  await Promise.all([keep(PAGE, "index.html"), ...files.map((file) => keep(file))]);
  if (isFirst) await scope.skipWaiting();
}

/** Remove the files of older versions, and the stores that each version had before there was one for all. */
async function activate() {
  const store = await opened, own = [PAGE, LIST, ...(await ownFiles())].map(addressOf);
  for (const { url } of await store.keys()) if (!own.includes(url)) await store.delete(url);
  for (const name of await caches.keys())
    if (name.includes(` ${home} `) && !name.endsWith("files")) await caches.delete(name);
  if (isFirst) await scope.clients.claim();
}

/**
 * What is kept, else what the network has. The page is kept without a redirect, which no browser takes from a service
 * worker.
 */
async function answer(request) {
  const isPage = request.mode === "navigate" && /^(index(\.html)?)?([?#]|$)/.test(request.url.slice(home.length));
  return (await (await opened)?.match(isPage ? addressOf(PAGE) : request.url)) ?? fetch(request);
}

/**
 * Keep the heads of an atlas that nobody has opened, one after the other, while the parts of all atlases are not too
 * large together.
 * @param {string} table The address of its table.
 */
async function keepHeads(table) {
  const store = await opened, isHead = (url) => url.includes("/atlas/"), folder = table.replace(/[^/]*$/, "");
  const sizeOf = async (url) => (await (await store.match(url)).arrayBuffer()).byteLength;
  let bytes = 0;
  for (const { url } of await store.keys()) if (isHead(url)) bytes += await sizeOf(url);
  for (const file of (await ownFiles()).filter((file) => isHead(file) && file.startsWith(folder))) {
    const url = addressOf(file);
    if (await store.match(url)) continue;
    if (bytes > MOST_OF_ATLASES) return;
    await keep(file);
    bytes += await sizeOf(url);
  }
}

scope.addEventListener("install", (event) => event.waitUntil(install()));
scope.addEventListener("activate", (event) => event.waitUntil(activate()));
scope.addEventListener("message", (event) => event.waitUntil(keepHeads(event.data).catch(() => {}))); // or offline
scope.addEventListener("fetch", (event) => { // a page with a hub asks that host itself
  if (event.request.url.startsWith(home)) event.respondWith(answer(event.request));
});
