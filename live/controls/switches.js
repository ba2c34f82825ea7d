// The switches of a published page. shared.json says of each one its text, and what it changes.
import { SHARED } from "../app/shared.js";
import { say } from "../ui/words.js";
import { toggle } from "./controls.js";

/**
 * What all switches that are on change in the view, by name; a later switch changes the same name again.
 * @param {Choices} choices
 * @returns {Record<string, any>}
 */
export function switchedOn(choices) {
  const { choices: known } = SHARED;
  return Object.assign({}, ...Object.keys(known).map((name) => choices[name] === "true" && known[name].view));
}

/** The switches of a published page, which change the view. @param {App} app */
export function switches(app) {
  return Object.entries(SHARED.choices).flatMap(([name, { label = "", help = "", view }]) => (view
    ? toggle(say(label), app.choices[name] === "true", app.set(name), say(help).replaceAll("`", ""))
    : []));
}
