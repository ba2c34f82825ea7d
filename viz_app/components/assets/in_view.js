// Keeps a part of the page in view while the page is still drawn.
import { onPage } from "./page_events.js";

const GAP = 12; // pixels
const ACTS = ["wheel", "touchmove", "pointerdown", "keydown"];

/**
 * Scroll to an element, and again when the page below or above it grows, until the visitor acts.
 * @param {Element} page Its height changes when a part of it does.
 * @param {() => any} find The element; null while it is not drawn.
 * @param {() => any} bar What covers the top of the window; null if there is nothing.
 * @returns {import("./page_events.js").Stop}
 */
export function keepInView(page, find, bar) {
  const watcher = new ResizeObserver(() => {
    const element = find(), above = bar();
    if (!element) return;
    const first = (above ? above.offsetHeight + parseFloat(getComputedStyle(above).top) : 0) + GAP;
    const { top, bottom, height } = element.getBoundingClientRect();
    if (top >= first && bottom <= innerHeight) return;
    element.style.scrollMarginTop = `${first}px`;
    element.scrollIntoView({ block: height < innerHeight - first ? "center" : "start" });
  });
  const stop = () => {
    watcher.disconnect();
    forget();
  };
  const forget = onPage(ACTS, stop, { capture: true, passive: true });
  watcher.observe(page);
  return stop;
}
