// What a link asks for, and what of it this site or this model does not have.
import { chosenHead } from "../controls/heads.js";
import { KINDS } from "../engine/trace.js";
import { kindsOf } from "../pictures/maps.js";
import { say, shortened } from "../ui/words.js";
import { SHARED } from "./shared.js";

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

// The visitor's changes inside the model as text for a link. The form is that of `Intervention.code` in
// model/interventions.py, such as `off.cross.3.1-2~paint.encoder.1.4.2.3.0.75`. Numbers in it count from 1.

const KIND = Object.keys(KINDS).join("|"), NUMBER = "[1-9]\\d{0,4}";
const HEADS = new RegExp(`^(off|uniform)\\.(${KIND})\\.(${NUMBER})\\.(${NUMBER}(?:-${NUMBER})*)$`);
const CELL = new RegExp(
  `^paint\\.(${KIND})\\.(${NUMBER})\\.(${NUMBER})\\.(${NUMBER})\\.(${NUMBER})\\.(1|0(?:\\.\\d{1,6})?)$`
);

/** @returns {Changes} */
export function noChanges() {
  return { ablated: [], uniform: [], painted: [], positions: true };
}

/** @param {string} text @returns {Changes | null} null if a part of the text makes no sense. */
export function readChanges(text) {
  const changes = noChanges();
  for (const part of text ? text.split("~") : []) {
    const heads = part.match(HEADS), cell = part.match(CELL);
    if (heads) {
      const [, word, kind, layer, numbers] = heads;
      const named = [...new Set(numbers.split("-"))]
        .map((number) => ({ kind, layer: Number(layer) - 1, head: Number(number) - 1 }));
      changes[word === "off" ? "ablated" : "uniform"].push(...named);
    } else if (cell) {
      const [layer, head, query, key] = cell.slice(2, 6).map((number) => Number(number) - 1);
      changes.painted.push({ kind: cell[1], layer, head, query, key, weight: Number(cell[6]) });
    } else if (part === "nopositions") changes.positions = false;
    else return null;
  }
  const rows = changes.painted.map((cell) => [cell.kind, cell.layer, cell.head, cell.query].join());
  return new Set(rows).size === rows.length ? changes : null; // at most one painted weight in a row
}

/** @param {Changes} changes */
export function writeChanges({ ablated, uniform, painted, positions }) {
  const named = /** @type {[string, Head[]][]} */ ([["off", ablated], ["uniform", uniform]]);
  const parts = named.flatMap(([word, heads]) => {
    /** @type {Map<string, number[]>} */
    const byLayer = new Map();
    for (const { kind, layer, head } of inOrderOfHeads(heads))
      byLayer.set(`${kind}.${layer + 1}`, [...(byLayer.get(`${kind}.${layer + 1}`) ?? []), head + 1]);
    return [...byLayer].map(([place, numbers]) => `${word}.${place}.${numbers.join("-")}`);
  });
  const cells = inOrderOfHeads(painted).map(({ kind, layer, head, query, key, weight }) =>
    `paint.${kind}.${layer + 1}.${head + 1}.${query + 1}.${key + 1}.${Number(weight.toFixed(6))}`);
  return [...parts, ...cells, ...(positions ? [] : ["nopositions"])].join("~");
}

/** @template {Head} H @param {H[]} heads */
export function inOrderOfHeads(heads) {
  return [...heads].sort((a, b) => a.kind.localeCompare(b.kind) || a.layer - b.layer || a.head - b.head);
}

/** Whether two describe the same head. @param {Head} a @param {Head} b */
export function sameHead(a, b) {
  return a.kind === b.kind && a.layer === b.layer && a.head === b.head;
}

/**
 * Silence a head or make it uniform; a second time undoes it.
 * @param {Changes} changes @param {Head} head @param {"ablated" | "uniform"} how
 */
export function toggled(changes, head, how) {
  const other = how === "ablated" ? "uniform" : "ablated";
  const without = (heads) => heads.filter((one) => !sameHead(one, head));
  const present = changes[how].some((one) => sameHead(one, head));
  return {
    ...changes, [how]: present ? without(changes[how]) : [...changes[how], head], [other]: without(changes[other])
  };
}

/**
 * The changes to heads that a model has.
 * @param {Changes} changes
 * @param {Record<string, number[]>} sizes Kind → layers and heads.
 */
export function within(changes, sizes) {
  const known = ({ kind, layer, head }) => layer < (sizes[kind]?.[0] ?? 0) && head < sizes[kind][1];
  const [ablated, uniform, painted] = [changes.ablated, changes.uniform, changes.painted]
    .map((heads) => heads.filter(known));
  return { ...changes, ablated, uniform, painted: /** @type {PaintedCell[]} */ (painted) };
}
