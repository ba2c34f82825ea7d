// The service worker of a site. It keeps the files of one version, so that the site opens without a network. The file of
// a checkpoint is kept when it is loaded for the first time. A new version of the site replaces the old one.
const VERSION = "{version}", FILES = ["{files}"];
const scope = /** @type {any} */ (self), own = `headlight ${scope.registration.scope} `, cacheName = own + VERSION;

async function install() {
  const store = await caches.open(cacheName);
  await store.addAll(FILES.map((file) => new Request(file, { cache: "no-cache" })));
  await scope.skipWaiting();
}

async function activate() {
  const names = await caches.keys();
  await Promise.all(names.filter((one) => one.startsWith(own) && one !== cacheName).map((one) => caches.delete(one)));
  await scope.clients.claim();
}

/** What is kept, else what the network has; files of checkpoints are then kept. */
async function answer(request) {
  const store = await caches.open(cacheName), kept = await store.match(request, { ignoreSearch: true });
  if (kept) return kept;
  const found = await fetch(request);
  if (found.ok && found.type === "basic" && request.url.startsWith(`${scope.registration.scope}checkpoints/`)) await store.put(request, found.clone());
  return found;
}

/** Keep the files of a checkpoint that was loaded before this worker was there. */
async function keep(addresses) {
  const store = await caches.open(cacheName);
  for (const address of addresses)
    if (address.startsWith(`${scope.registration.scope}checkpoints/`) && !(await store.match(address))) await store.add(address);
}

scope.addEventListener("install", (event) => event.waitUntil(install()));
scope.addEventListener("activate", (event) => event.waitUntil(activate()));
scope.addEventListener("fetch", (event) => {
  if (event.request.method === "GET" && event.request.url.startsWith(scope.registration.scope)) event.respondWith(answer(event.request));
});
scope.addEventListener("message", (event) => event.waitUntil(keep(event.data)));
