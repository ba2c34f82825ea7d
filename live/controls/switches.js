// The switches of a page: shared.json says of each one its text, and what it changes in the view or in the run.
import { SHARED } from "../app/shared.js";
import { say } from "../ui/words.js";
import { toggle } from "./controls.js";

/**
 * What all switches that are on change together, by name; a later switch changes the same name again.
 * @param {"view" | "run"} part @param {Choices} choices
 * @returns {Record<string, any>}
 */
export function switchedOn(part, choices) {
  return Object.assign({}, ...Object.entries(SHARED.choices).map(
    ([name, choice]) => (choices[name] === "true" ? choice[part] : null)
  ));
}

/** The switches of a published page that change the view or the run. @param {"view" | "run"} part @param {App} app */
export function switches(part, app) {
  return Object.entries(SHARED.choices).filter(([, choice]) => choice[part] && choice.published).map(
    ([name, { label = "", help = "" }]) => toggle(
      say(label), app.choices[name] === "true", app.set(name), say(help).replaceAll("`", "")
    )
  );
}
