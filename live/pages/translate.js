// Translate: a sentence, its translation, and every attention map that the model computed for it.
import { rowsOfChips } from "../chips.js";
import { attentionLines } from "../assets/attention_lines.js";
import { attentionMap } from "../assets/attention_map.js";
import { draw, el } from "../assets/dom.js";
import { headGrid } from "../assets/head_grid.js";
import { wordLines } from "../assets/word_lines.js";
import { chosenHead, headLists } from "../chosen_head.js";
import { heading, mount, note, place, segmented, table, toggle } from "../controls.js";
import { chosenSection } from "../map_section.js";
import { kindsOf, namesOf } from "../kinds.js";
import { largeMap, lineData, lines, mapName, smallMaps, sumsOf, viewOf } from "../maps.js";
import { say } from "../assets/words.js";

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
    Object.assign(latest, { translation, name, view, grid: smallMaps(view, 0, 0, logarithmic) });
  }
  return latest;
}

/**
 * @param {Element} root
 * @param {import("../app.js").App} app
 */
export async function showTranslate(root, app) {
  const { choices } = app, work = app.translate();
  const translation = work instanceof Promise ? await app.ifCurrent(work) : work;
  if (!kindsOf(app.info.heads).length) {
    draw(root, [...written(app, translation), note(say("This model has no attention."))]);
    return;
  }
  const { kind, layer, head } = chosenHead(app), hideSpecial = choices.hide_special === "true";
  const logarithmic = choices.logarithmic === "true";
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
        (value) => app.change({ view: value }),
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
        place("map"),
        table(say("Numbers"), () => numbers(view, layer, head), app.opened, app.redraw)]),
    ]),
    el("div", { class: "row" }, [
      toggle(
        say("Logarithmic colours"), logarithmic, (on) => app.change({ logarithmic: String(on) }),
        say("Makes small weights visible."),
      ),
      toggle(
        say("Hide special tokens"), hideSpecial, (on) => app.change({ hide_special: String(on) }),
        say("Leave out <s> and </s>."),
      ),
    ]),
    place("between", "hidden"),
  ]);
  const open = (_, chosen) => app.change({ layer: String(chosen.layer + 1), head: String(chosen.head + 1) });
  if (asLines) mount(root, "lines", attentionLines, lines(view, layer, head));
  else mount(root, "grid", headGrid, { ...grid, chosen: [layer, typeof head === "number" ? head : null] }, open);
  mount(root, "map", attentionMap, largeMap(view, layer, head, logarithmic));
  mount(root, "between", wordLines, lineData(translation, kind, layer, head, !hideSpecial && !lists.length));
}

/**
 * The tokens, and the text that the model wrote.
 * @param {import("../app.js").App} app @param {Translation} translation
 */
function written(app, translation) {
  return [
    rowsOfChips(translation),
    el(
      "p", { class: "written", lang: translation.languages[1] || false },
      translation.text || say("(the model wrote nothing)"),
    ),
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
