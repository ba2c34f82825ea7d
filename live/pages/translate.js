// Translate: a sentence, its translation, and every attention map that the model computed for it.
import { rowsOfChips, writtenText } from "../controls/tokens.js";
import { attentionLines, wordLines } from "../ui/lines.js";
import { headGrid } from "../ui/maps.js";
import { draw, el } from "../ui/dom.js";
import { mountLinked } from "../controls/atlas_links.js";
import { chosenHead, chosenSection, headLists } from "../controls/heads.js";
import { caption, heading, mount, note, place, segmented, table } from "../controls/controls.js";
import { switchedOn, switches } from "../controls/switches.js";
import { kindsOf, largeMap, lineData, lines, mapName, namesOf, smallMaps, sumsOf, viewOf } from "../pictures/maps.js";
import { percent, say } from "../ui/words.js";

/** @type {{ view: any, name: string, translation: any, grid: any }} */
const latest = { view: null, name: "", translation: null, grid: null };

/**
 * The maps as shown and their small pictures, computed once for each setting. They have words in the language of the
 * visitor.
 */
function shownMaps(translation, kind, hideSpecial, logarithmic, language) {
  const name = `${kind} ${hideSpecial} ${logarithmic} ${language}`;
  if (latest.translation !== translation || latest.name !== name) {
    const view = viewOf(translation, kind, { hideSpecial });
    Object.assign(latest, { translation, name, view, grid: smallMaps(view, logarithmic) });
  }
  return latest;
}

/** @param {Element} root @param {App} app */
export async function showTranslate(root, app) {
  const { choices } = app, work = app.result();
  const translation = work instanceof Promise ? await app.ifCurrent(work) : work;
  if (!kindsOf(app.info.heads).length) {
    draw(root, [...written(app, translation), note(say("This model has no attention."))]);
    return;
  }
  const { kind, layer, head } = chosenHead(app);
  const { hide_special: hideSpecial, logarithmic } = switchedOn(choices);
  const { view: whole, grid } = shownMaps(translation, kind, hideSpecial, logarithmic, app.language);
  const asLines = choices.view === "lines";
  const { view, lists } = chosenSection(app, whole);
  draw(root, [
    ...written(app, translation),
    el("div", { class: "row" }, [
      ...headLists(app, { aggregates: true }),
      ...lists,
      segmented(
        say("View"), [["heatmaps", say("Heatmaps")], ["lines", say("Lines")]], asLines ? "lines" : "heatmaps",
        app.set("view"),
      ),
    ]),
    el("div", { class: "two" }, [
      el("div", {}, asLines
        ? [
          heading(say("Lines"), say(
            "Each line joins a query (left) and a key (right). A thicker line has more weight."
          )),
          place("lines"),
        ]
        : [heading(say("Every layer and head"), `${namesOf(kind).shows} ${say("Choose a map to enlarge it.")}`),
          place("grid")]),
      el("div", {}, [heading(mapName(layer, head), hideSpecial || lists.length ? "" : sumsOf(view, layer, head)),
        place("map"), el("p", { class: "like" }),
        table(say("Numbers"), () => numbers(view, layer, head), app)]),
    ]),
    el("div", { class: "row" }, switches(app)),
    place("between", "hidden"),
  ]);
  const open = (_, chosen) => app.change({ layer: String(chosen.layer + 1), head: String(chosen.head + 1) });
  if (asLines) mount(root, "lines", attentionLines, lines(view, layer, head));
  else mount(root, "grid", headGrid, { ...grid, chosen: [layer, typeof head === "number" ? head : null] }, open);
  mountLinked(root, "map", largeMap(view, layer, head, logarithmic), app, translation, view, layer, head);
  mount(root, "between", wordLines, lineData(translation, kind, layer, head, !hideSpecial && !lists.length));
}

/** The tokens, and the text that the model wrote. @param {App} app @param {Result} translation */
function written(app, translation) {
  const { task, mask } = app.listed, writes = app.isReport || task === "translation" || task === "continuation";
  return [
    rowsOfChips(translation),
    ...(writes || translation.text ? [writtenText(translation)] : []),
    ...(translation.probabilities ? [caption(translation.probabilities.map(
      ([label, share]) => `${label} ${percent(share)}`
    ).join(" · "))] : []),
    ...(mask && !translation.text
      ? [caption(say("Type {mask} in place of a word, and the model fills the gap.", { mask }))]
      : []),
    el("div", { class: "notes" }, app.notesOf(translation)),
  ];
}

function numbers(view, layer, head) {
  const text = (t, s) => {
    const weight = view.weight(layer, head, t, s);
    return weight === -Infinity ? "–" : Number.isNaN(weight) ? say("not a number") : weight.toFixed(4);
  };
  return { head: [say("query \\ key"), ...view.keys], rows: view.queries.map(
    (query, row) => [query, ...view.keys.map((_, s) => text(row, s))]
  ) };
}
