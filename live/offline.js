// The service worker of a site: after the first visit, the site opens without a network.

/** Start it, where the browser has one and the page names its script. */
export async function offerOffline() {
  const address = /** @type {HTMLMetaElement | null} */ (document.querySelector("meta[name=offline]"))?.content;
  if (!address) return;
  try {
    await navigator.serviceWorker.register(address);
  } catch {
    // Without it the site works too. A browser may refuse it, for example in a private window.
  }
}

/** Load the newest version of the page, though pages of an older one may be open. */
export async function renew() {
  try {
    await (await navigator.serviceWorker.getRegistration())?.unregister();
  } finally {
    location.reload();
  }
}
