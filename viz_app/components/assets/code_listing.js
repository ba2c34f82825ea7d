// The code of one part of the model, in which the lines of a step are marked.
import { el } from "./dom.js";
import { say } from "./words.js";

/**
 * @param {any[][]} listings Each is a list of lines with their words, and the step of a line.
 * @param {string} name
 * @param {(step: string, name: string) => Record<string, any>} belongingTo The attributes of an element that belongs to
 *   a step.
 */
export function codeListings(listings, name, belongingTo) {
  const line = ({ words, step }) => {
    const content = [...words.map(([text, kind]) => el("span", { class: kind }, text)), el("span", {}, "\n")];
    return el("span", step ? belongingTo(step, "line marked") : { class: "line" }, content);
  };
  return el("div", { class: "listing" }, listings.map((lines) =>
    el("pre", { tabindex: 0, role: "region", "aria-label": say("Code: {name}", { name }) }, lines.map(line))));
}
