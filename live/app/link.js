// What a link asks for, and what of it this site or this model does not have.
import { chosenHead } from "../controls/heads.js";
import { noChanges, readChanges, writeChanges } from "../engine/changes.js";
import { kindsOf } from "../pictures/maps.js";
import { say, shortened } from "../ui/words.js";
import { SHARED } from "./shared.js";

const KINDS_OF_PAGES = ["kind", "mask_kind", "steps_kind"];

/**
 * Read a link. A checkpoint, a language and lessons that the site does not have are unknown. `closed` is the name of a
 * checkpoint that was a visitor's own model; "" for any other one. A model of a hub waits on the page Models until the
 * visitor opens it, and then on the page `next`.
 * @param {string} hash @param {App} app
 */
export function readLink(hash, { site: { checkpoints, course, words, hub }, pages, own: models }) {
  const { page: next, choices, unknown } = readAddress(hash, pages);
  const opened = checkpoints.find(({ own }) => own?.hub && own.hub === choices.hub), isOfHub = hub && choices.hub;
  if (isOfHub) choices.checkpoint = opened?.name ?? "";
  const { checkpoint = "" } = choices, isOwn = models?.kept.has(checkpoint) || history.state?.own;
  const closed = isOwn && checkpoints.every(({ name }) => name !== checkpoint) ? checkpoint : "";
  const has = {
    hub: () => hub,
    checkpoint: (name) => checkpoints.some((one) => one.name === name), lang: (code) => Object.hasOwn(words, code),
    lesson: () => course,
  };
  for (const name of Object.keys(has))
    if (choices[name] && !has[name](choices[name])) {
      if (choices[name] !== closed) unknown.push(`${name}=${choices[name]}`);
      delete choices[name];
    }
  return { page: isOfHub && !opened ? "checkpoints" : next, next, choices, unknown, closed };
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

// What the visitor chose, and the link that holds it. After `#` it has the form of an address of the app, such as
// `#translate?text=Hello&layer=3`, with the same names and values (shared.json).

/** Whether a choice can have a value. @param {string} name @param {string} value */
function isKnown(name, value) {
  if (!Object.hasOwn(SHARED.choices, name)) return false;
  const { form, published = "(?!)", always } = SHARED.choices[name];
  if (form === "intervention" && readChanges(value) === null) return false;
  return value === always || new RegExp(`^(?:${published})$`, form === "switch" ? "i" : "").test(value);
}

/**
 * Read a link, also one that a person wrote: a sign that is not encoded belongs to its text.
 * @param {string} hash Of an address, with or without `#`.
 * @param {string[]} pages Their names, the first one for an address without a page.
 * @returns {{ page: string, choices: Choices, unknown: string[] }} `unknown`: what makes no sense, as the link writes
 *   it.
 */
export function readAddress(hash, pages) {
  const [, name, query] = /** @type {RegExpMatchArray} */ (hash.match(/^#?\/?([^?]*)\??(.*)$/s));
  const page = pages.includes(name) ? name : pages[0];
  /** @type {Choices} */
  const choices = {}, unknown = name && page !== name ? [name] : [];
  const joined = query.replace(/&(?!\w+=|$)/g, "%26"), hasSpaces = / |%20/.test(query); // then a plus is no space
  for (const [key, value] of new URLSearchParams(hasSpaces ? joined.replaceAll("+", "%2B") : joined)) {
    if (!isKnown(key, value)) unknown.push(`${key}=${value}`);
    else choices[key] = SHARED.choices[key].form === "switch" ? String(/^(true|1)$/i.test(value)) : value;
  }
  return { page, choices, unknown };
}

/** Whether a link names a choice. A sentence of a batch may be empty. @param {[string, string | undefined]} choice */
export function isChosen([name, value]) {
  return value !== undefined && (value !== "" || name.startsWith("batch_"));
}

/** @param {string} page @param {Choices} choices */
export function writeAddress(page, choices) {
  const chosen = Object.entries(choices).filter(isChosen);
  const query = new URLSearchParams(chosen).toString();
  return `#${page}${query ? `?${query}` : ""}`;
}

/**
 * Forced tokens from a link.
 * @param {string} text `position.token`, joined by "-".
 * @returns {Map<number, number>}
 */
export function readForced(text) {
  return new Map(
    text ? text.split("-").map((pair) => /** @type {[number, number]} */ (pair.split(".").map(Number))) : []
  );
}

/** @param {Map<number, number>} forced */
export function writeForced(forced) {
  return [...forced].sort(([a], [b]) => a - b).map((pair) => pair.join(".")).join("-");
}
