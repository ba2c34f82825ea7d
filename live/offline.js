// The service worker of a site: after the first visit, the site opens without a network.

/**
 * Start it, where the browser has one and the site is not a file. It keeps the checkpoint that is open.
 * @param {string} folder Of the checkpoint; "" if the page holds its files.
 */
export async function offerOffline(folder) {
  const address = document.querySelector("meta[name=offline]")?.getAttribute("content");
  if (!address || !folder || !location.protocol.startsWith("http")) return;
  try {
    await navigator.serviceWorker.register(new URL(address, document.baseURI));
    const { active } = await navigator.serviceWorker.ready;
    const files = ["config.json", "tokenizer.json", "model.safetensors"].map((name) => new URL(`${folder}/${name}`, document.baseURI).href);
    active?.postMessage(files);
  } catch {
    // Without it the site works too. A browser may refuse it, for example in a private window.
  }
}
