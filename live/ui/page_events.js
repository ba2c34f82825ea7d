// What happens on the whole page. A function that begins something returns the function that ends it.

/**
 * Listen to events of the whole page.
 * @param {string | string[]} types @param {(event: any) => void} listener @param {AddEventListenerOptions} [options]
 * @returns {Stop}
 */
export function onPage(types, listener, options = {}) {
  const all = [types].flat();
  for (const type of all) document.addEventListener(type, listener, options);
  return () => { for (const type of all) document.removeEventListener(type, listener, options); };
}

/**
 * Call a function now and after each change of the elements of the page.
 * @param {() => void} changed
 * @param {string[]} [attributes] Changes of these attributes count too.
 * @returns {Stop}
 */
export function onPageChange(changed, attributes) {
  const watcher = new MutationObserver(changed);
  watcher.observe(document.body, {
    childList: true, subtree: true, ...(attributes && { attributeFilter: attributes }),
  });
  changed();
  return () => watcher.disconnect();
}

const MARGIN = 8; // pixels

function keepInside({ target }) {
  const tip = target.closest?.(".hl-chip")?.querySelector(".hl-tip");
  if (!tip) return;
  tip.style.left = tip.style.top = ""; // a translation would leave the page as wide as before
  const { right, bottom, height } = tip.getBoundingClientRect();
  const above = tip.parentElement.getBoundingClientRect().top - height - MARGIN;
  tip.style.left = `${-Math.max(0, right + MARGIN - document.documentElement.clientWidth)}px`;
  if (bottom + MARGIN > innerHeight && above > 0) tip.style.top = `${-height - MARGIN}px`;
}

/** Keep the small tables below the token chips inside the window. */
export const tooltips = () => onPage(["pointerover", "focusin"], keepInside);
