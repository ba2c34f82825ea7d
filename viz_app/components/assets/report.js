// Builds the pictures of a report. Nothing is fetched, and nothing is sent.
import attentionLines from "./attention_lines.js";
import attentionMaps from "./attention_maps.js";
import savePictures from "./save_pictures.js";
import stepper from "./stepper.js";

/** @type {Record<string, import("./mounting.js").Component>} */
const components = { attention_lines: attentionLines, attention_maps: attentionMaps, save_pictures: savePictures, stepper };

/** Build each picture of the page at its place, from the numbers that the page holds. */
export function buildReport() {
  for (const place of document.querySelectorAll("[data-component]")) {
    if (!(place instanceof HTMLElement)) continue;
    const { component = "", numbers = "" } = place.dataset;
    const data = JSON.parse(document.getElementById(numbers)?.textContent ?? "null");
    const build = () => { components[component]({ data, parentElement: place, setTriggerValue: () => {} }); };
    const folded = place.closest("details:not([open])");
    if (folded) folded.addEventListener("toggle", build, { once: true }); // its width is known only when it is open
    else build();
  }
}
