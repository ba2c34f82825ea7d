// Whether a visitor points at a part of the page, with a mouse, a finger or a key.

/** The part that a step names → its elements. @type {Record<string, string>} */
const PARTS = { writes: "[data-row=writes] .hl-chip", map: "[data-cell]" };

/** The events of pointing. */
export const POINTING = ["pointerover", "pointerdown", "focusin"];

/** @param {string} part "" for none. @param {Event} event */
export function isPointedAt(part, event) {
  return part in PARTS && event.composedPath().some((/** @type {any} */ one) => one.matches?.(PARTS[part]));
}
