// What a link asks for, and what of it this site or this model does not have.
import { shortened } from "./assets/format.js";
import { say } from "./assets/words.js";
import { noChanges, readChanges, writeChanges } from "./changes.js";
import { readAddress, readForced, writeForced } from "./choices.js";
import { chosenHead } from "./chosen_head.js";
import { kindsOf } from "./kinds.js";

/** @typedef {import("./app.js").App} App */

const KINDS_OF_PAGES = ["kind", "mask_kind", "steps_kind"];

/**
 * Read a link. A checkpoint, a language and lessons that the site does not have are unknown.
 * @param {string} hash @param {App} app
 */
export function readLink(hash, { site: { checkpoints, course, words }, pages }) {
  const { page, choices, unknown } = readAddress(hash, pages);
  const has = {
    checkpoint: (name) => checkpoints.some((one) => one.name === name), lang: (code) => Object.hasOwn(words, code),
    lesson: () => course,
  };
  for (const name of Object.keys(has))
    if (choices[name] && !has[name](choices[name])) {
      unknown.push(`${name}=${choices[name]}`);
      delete choices[name];
    }
  return { page, choices, unknown };
}

/** A sentence about what the link asks for in vain; "" where it has everything. @param {App} app */
export function linkNote(app) {
  const missing = app.unknown
    ? [...app.unknown, ...(app.info ? beyondModel(app) : [])].map((one) => shortened(one, 60))
    : [];
  return missing.length
    ? say("The link asks for what this page does not have: {choices}.", { choices: missing.join(", ") })
    : "";
}

/** What the open model does not have, as a link writes it. @param {App} app */
function beyondModel(app) {
  const { choices, info, session } = app, { forced = "", intervention = "" } = choices, kinds = kindsOf(info.heads);
  if (!kinds.length) return [];
  const { layer, head } = chosenHead(app), own = {
    ...Object.fromEntries(KINDS_OF_PAGES.map((name) => [name, kinds.find((kind) => kind === choices[name])])),
    layer: layer + 1, head: typeof head === "number" ? head + 1 : head, width: info.config.d_model,
    forced: writeForced(app.forced), intervention: writeChanges(session.changes(intervention)),
  };
  const asked = {
    ...choices, forced: writeForced(readForced(forced)),
    intervention: writeChanges(readChanges(intervention) ?? noChanges()),
  };
  return Object.keys(own).flatMap(
    (name) => (asked[name] && asked[name] !== String(own[name]) ? [`${name}=${asked[name]}`] : [])
  );
}
