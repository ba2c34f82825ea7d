// Atlas: what every head does in a corpus. The table and the heads are parts of the site, so no model needs to be open.
import { inlined } from "../app/answers.js";
import { contentOf, missing, offerOffline } from "../app/held.js";
import { beside, button, caption, heading, mount, note, place } from "../controls/controls.js";
import { largeMap, mapName, namesOf, viewOf } from "../pictures/maps.js";
import { atlasHeads } from "../ui/atlas.js";
import { atlasHead } from "../ui/atlas_head.js";
import { readTable } from "../ui/atlas_table.js";
import { announce, draw, el, find } from "../ui/dom.js";
import { attentionMap, leastWidth } from "../ui/maps.js";
import { say } from "../ui/words.js";

const KEPT = 16; // parts that are kept in memory
/** @type {Map<string, Promise<any>>} Where a part is → its content. The latest ones are last. */
const kept = new Map();

/** @param {Element} root @param {App} app */
export async function showAtlas(root, app) {
  const { choices, listed } = app;
  if (!listed.atlas) {
    draw(root, [note(say("{name} has no atlas on this page. Choose another checkpoint.", { name: listed.name }))]);
    return;
  }
  const table = await app.ifCurrent(partOfAtlas(listed, listed.atlas));
  const { atlas_head: head = "", atlas_second: second = "" } = choices;
  const wanted = [...new Set([head, second])].filter(Boolean);
  const known = wanted.filter((name) => Object.hasOwn(table.parts, name));
  const missing = wanted.filter((name) => !known.includes(name));
  draw(root, [
    place("atlas heads"),
    el("div", { class: "row" }, [button(say("Save the table as CSV"), () => saveTable(table))]),
    el("div", { class: "notes" }, missing.map((name) => note(say("This model has no head {name}.", { name })))),
    el("div", { role: "status" }),
    ...(known.length ? [heading(known.length > 1 ? say("The chosen heads") : say("The chosen head"))] : []),
    ...(known.length ? [place("atlas head")] : []),
    ...(known.length > 1 ? [el("div", { class: "both" })] : []),
  ]);
  const report = (name, value) => {
    if (name === "text") openText(app, value);
    else if (value.checkpoint) app.choose(value.checkpoint, "atlas", value);
    else app.change(value);
  };
  const { atlas_rule: rule = "", atlas_x: x = "", atlas_y: y = "" } = choices;
  mount(root, "atlas heads", atlasHeads, { ...table, rule, x, y, head, second }, report);
  const heads = known.length ? await headsOf(root, app, known.map((name) => table.parts[name])) : null;
  if (!heads) return;
  const others = app.site.checkpoints.filter((one) => one.atlas && one !== listed).map(({ name }) => name);
  const { atlas_like: like = "", atlas_sinks: sinks = "", atlas_beside: besides = "" } = choices;
  mount(root, "atlas head", atlasHead, { table, heads, like, sinks, beside: besides, others, open: true }, report);
  showFirst(root, known[0], heads[0]);
  if (listed.files) keepOthers(listed.atlas);
  if (heads.length > 1) await showBoth(root, app, heads);
}

/** Show a head that was not shown before: it is below the table. @param {Element} root @param {string} name */
function showFirst(root, name, { kind, layer, head }) {
  const home = find(root, "[data-part='atlas head']");
  if (home.dataset.head === name) return;
  home.dataset.head = name;
  home.previousElementSibling.scrollIntoView();
  announce(`${namesOf(kind).title}, ${mapName(layer, head)}`);
}

/**
 * The parts of heads. What the page shows stays until they are there; if they cannot be loaded, a sentence says so.
 * @param {Element} root @param {App} app @param {string[]} places @returns {Promise<any[] | null>}
 */
async function headsOf(root, app, places) {
  const status = find(root, "[role=status]");
  draw(status, places.every((one) => kept.has(one)) ? [] : [caption(say("Loading the head …"))]);
  try {
    const heads = await app.ifCurrent(Promise.all(places.map((one) => partOfAtlas(app.listed, one))));
    draw(status, []);
    return heads;
  } catch (error) {
    const { code, template, values } = /** @type {any} */ (error);
    if (code !== "fetch-failed") throw error;
    draw(status, [el("div", { class: "problem" }, [
      el("p", {}, say(template, values)), button(say("Try again"), app.redraw),
    ])]);
    return null;
  }
}

/** Have the other heads kept too, when the page has nothing to do. @param {string} table Where the table is. */
function keepOthers(table) {
  const { serviceWorker, connection } = /** @type {any} */ (navigator);
  const ask = async () => (await serviceWorker?.ready)?.active.postMessage(table);
  if (!connection?.saveData) (globalThis.requestIdleCallback ?? setTimeout)(ask);
}

/**
 * A part of the atlas of a checkpoint.
 * @param {Site} listed @param {string} where Its address, or its name in the page.
 */
function partOfAtlas({ files, atlas }, where) {
  if (!kept.has(where)) void offerOffline();
  const found = kept.get(where) ?? (files
    ? contentOf(where).catch(() => missing(where, atlas))
    : inlined(where).then((content) => content.json()));
  kept.delete(where);
  kept.set(where, found);
  found.catch(() => kept.delete(where));
  if (kept.size > KEPT) kept.delete([...kept.keys()][0]);
  return found;
}

/** Open the sentence of a place on the page Translate. @param {App} app */
function openText(app, { text, kind, layer, head }) {
  app.change({ text, kind, layer: String(layer + 1), head: String(head + 1) }, { page: "translate" });
}

/**
 * The maps of two heads for the sentence of the visitor, where the model is open.
 * @param {Element} root @param {App} app @param {any[]} heads
 */
async function showBoth(root, app, heads) {
  const home = find(root, ".both"), { session, listed } = app;
  const title = heading(say("Both heads on one sentence"));
  if (!app.info) {
    const open = () => session.open(listed, () => {}).then(app.redraw, (error) => app.fail(error));
    draw(home, [title, el("div", { class: "row" }, [button(say("Open the model"), open)])]);
    return;
  }
  const result = await app.ifCurrent(app.result()), views = heads.map(({ kind }) => viewOf(result, kind));
  const width = Math.max(...views.map(({ queries, keys }) => leastWidth(queries, keys.length, { bar: true })));
  draw(home, [title, el("div", { class: "notes" }, app.notesOf(result)), beside(2, width, heads.map(
    ({ kind, layer, head }, i) => el("div", {}, [
      heading(`${namesOf(kind).title}, ${mapName(layer, head)}`), place(`map ${i}`),
    ])
  ))]);
  for (const [i, { layer, head }] of heads.entries())
    mount(root, `map ${i}`, attentionMap, largeMap(views[i], layer, head, false));
}

/** Save the table of all heads: a row for each head, each number with the ends of its interval. @param {any} data */
function saveTable(data) {
  const { heads, columns, value } = readTable(data);
  const numberOf = (at) => (name) => (Number.isFinite(value(at, name)) ? Number(value(at, name).toPrecision(7)) : "");
  const rows = heads.map(({ at, kind, layer, head }) => [kind, layer + 1, head + 1, ...columns.map(numberOf(at))]);
  const text = [["kind", "layer", "head", ...columns], ...rows].map((row) => `${row.join(",")}\r\n`).join("");
  Object.assign(document.createElement("a"), {
    download: `headlight-atlas-${data.checkpoint}.csv`, href: `data:text/csv;charset=utf-8,${encodeURIComponent(text)}`,
  }).click();
}
