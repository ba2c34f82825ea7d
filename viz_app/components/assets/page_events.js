// Listeners on the whole page. Each function returns the function that ends what it has begun.

/** @typedef {() => void} Stop */

/**
 * Listen to events of the whole page.
 * @param {string | string[]} types
 * @param {(event: any) => void} listener
 * @param {AddEventListenerOptions} [options]
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

/**
 * A component without data and without a view, such as one that listens to keys.
 * @param {() => Stop[]} begin
 * @returns {import("./mounting.js").Component}
 */
export function listening(begin) {
  /** @type {WeakMap<Element, Stop>} */
  const running = new WeakMap();
  return ({ parentElement }) => {
    const present = running.get(parentElement);
    if (present) return present;
    const stops = begin();
    const stop = () => {
      for (const one of stops) one();
      running.delete(parentElement);
    };
    running.set(parentElement, stop);
    return stop;
  };
}
