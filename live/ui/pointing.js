// A part of the page that a step of a lesson is about: whether the visitor points at it, and how it stays in view.
import { onPage } from "./page_events.js";

/** The part that a step names → its elements. @type {Record<string, string>} */
const PARTS = { writes: "[data-row=writes] .hl-chip", map: "[data-cell]" };

/** The events of pointing. */
export const POINTING = ["pointerover", "pointerdown", "focusin"];

/**
 * Whether a visitor points at a part of the page, with a mouse, a finger or a key.
 * @param {string} part "" for none. @param {Event} event
 */
export function isPointedAt(part, event) {
  return part in PARTS && event.composedPath().some((/** @type {any} */ one) => one.matches?.(PARTS[part]));
}

const GAP = 12; // pixels
const ACTS = ["wheel", "touchmove", "pointerdown", "keydown"];

/**
 * Scroll to an element, and again when the page below or above it grows, until the visitor acts.
 * @param {Element} page Its height changes when a part of it does.
 * @param {() => any} find The element; null while it is not drawn.
 * @param {() => any} bar What covers the top of the window; null if there is nothing.
 * @returns {Stop}
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
