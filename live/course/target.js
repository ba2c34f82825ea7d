// A frame around the control or the picture that a step is about. The app names it by the key of a widget. The page
// scrolls to it when it appears.
import { keepInView } from "../ui/pointing.js";

/** @type {Record<string, string>} Key of the app → the element in these pages. */
export const TARGETS = {
  text: ".ask", set_text: ".ask", head_map: "[data-part=map]", overview: "[data-part=grid]", set_view: ".page .row",
  set_one_head: ".page .row",
  head_board: "[data-part=board]", stepper: "[data-part=steps]", products: "[data-part=steps]",
  weighted_values: "[data-part=steps]",
  scaled: ".page .row .switch", head_temperature: ".page .row label:has([type=range])",
  shuffle: ".page label:has(select)",
  wavelengths: "[data-part=waves]", matrix: "[data-part=matrix]", set_batch: ".page .two",
  stage_weights: "[data-part=weights]",
};

/** Draw the frame. It lies outside the element, so nothing moves. @param {string} target "" for none. */
export function markTarget(target) {
  const found = TARGETS[target] ? document.querySelector(`main ${TARGETS[target]}`) : null;
  for (const old of document.querySelectorAll("[data-target]")) if (old !== found) old.removeAttribute("data-target");
  found?.setAttribute("data-target", "");
}

/** Scroll to the frame, and stay there until the visitor acts. @param {Element} page */
export function showTarget(page) {
  return keepInView(page, () => document.querySelector("[data-target]"),
    () => document.querySelector(".lesson .outcome:not(:empty)"));
}
