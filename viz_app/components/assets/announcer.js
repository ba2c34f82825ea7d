// What a screen reader reads aloud. A page has one place for it, so that announcements do not interrupt each other.
import { draw, el } from "./dom.js";

const HIDDEN = "position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%);white-space:nowrap";

/**
 * The element that a screen reader reads aloud when it changes. It cannot be seen.
 * @returns {HTMLElement}
 */
export function announcer() {
  const present = document.querySelector("[data-announcer]");
  if (present instanceof HTMLElement) return present;
  const place = document.createElement("div");
  place.dataset.announcer = "";
  place.setAttribute("role", "status"); // a polite live region
  place.style.cssText = HIDDEN;
  document.body.append(place);
  return place;
}

/**
 * Let a screen reader read a sentence aloud, and after it a text in its own language.
 * @param {string} sentence
 * @param {string} [text]
 * @param {string} [lang]
 */
export function announce(sentence, text = "", lang = "") {
  draw(announcer(), [el("span", {}, sentence), el("bdi", { lang: lang || false }, text && ` ${text}`)]);
}
