// The kind of attention, the layer and the head that the visitor chose. They follow the visitor from page to page.
import { SHARED } from "../app/shared.js";
import { kindsOf, namesOf, sectionOf } from "../pictures/maps.js";
import { times } from "../ui/numbers.js";
import { say } from "../ui/words.js";
import { atlasLink } from "./atlas_links.js";
import { list, segmented } from "./controls.js";

/**
 * @param {Chosen} chosen
 * @param {string} [wanted] The kind, if a page has a choice of its own for it.
 * @returns {{ kind: string, layer: number, head: any }} The head is a number from 0, "mean" or "max".
 */
export function chosenHead({ choices, info }, wanted = choices.kind) {
  const kinds = kindsOf(info.heads), kind = kinds.includes(wanted) ? wanted : kinds[0];
  const [layers, heads] = info.heads[kind];
  const layer = choices.layer && Number(choices.layer) >= 1 ? Math.min(Number(choices.layer), layers) - 1 : layers - 1;
  const head = ["mean", "max"].includes(choices.head)
    ? choices.head
    : Math.min(Math.max(Number(choices.head ?? 1), 1), heads) - 1;
  return { kind, layer, head };
}

/** As `chosenHead`, where a page has no use for an aggregate. @param {Chosen} chosen @param {string} [wanted] */
export function singleHead(chosen, wanted) {
  const found = chosenHead(chosen, wanted);
  return { ...found, head: typeof found.head === "number" ? found.head : 0 };
}

/**
 * The controls for the kind of attention, the layer and the head, and the link to the head in the atlas.
 * @param {App} app
 * @param {{ aggregates?: boolean, name?: string, wanted?: string }} [options] Offer the mean and the maximum of the
 *   heads too; the name of the choice of the kind, and its value.
 */
export function headLists(app, { aggregates = false, name = "kind", wanted } = {}) {
  const { kind, layer, head } = aggregates ? chosenHead(app) : singleHead(app, wanted);
  const [layers, heads] = app.info.heads[kind];
  const numbers = (count) => times(count, (i) => String(i + 1));
  /** @type {Option[]} */
  const more = aggregates && heads > 1 ? [["mean", say("mean")], ["max", say("maximum")]] : [];
  return [
    segmented(say("Attention"), kindsOf(app.info.heads).map((one) => [one, namesOf(one).title]), kind, app.set(name)),
    list(say("Layer"), numbers(layers), String(layer + 1), app.set("layer")),
    list(
      say("Head"), [...numbers(heads), ...more], typeof head === "number" ? String(head + 1) : head,
      app.set("head"),
    ),
    ...atlasLink(app, { kind, layer, head }),
  ];
}

// Which section of a large map is drawn. A map of a short sentence is drawn whole.

/**
 * The section that the visitor chose, and the lists to choose another one; no lists where the map is whole.
 * @param {App} app @param {MapView} view @returns {{ view: MapView, lists: Described[] }}
 */
export function chosenSection(app, view) {
  const { section: size } = SHARED.limits, lists = /** @type {Described[]} */ ([]);
  const first = (name, label, length) => {
    if (length <= size) return 0;
    const within = (start) => Math.max(0, Math.min(start, length - size));
    const start = within(Number(app.choices[name] ?? 1) - 1);
    const starts = [...new Set([...times(Math.ceil(length / size), (i) => within(i * size)), start])]
      .sort((a, b) => a - b);
    const names = starts.map((one) => /** @type {[string, string]} */ (
      [String(one + 1), say("{first} to {last}", { first: one + 1, last: one + size })]
    ));
    lists.push(list(label, names, String(start + 1), app.set(name)));
    return start;
  };
  const place = /** @type {[number, number]} */ ([
    first("window_row", say("Rows"), view.queries.length), first("window_column", say("Columns"), view.keys.length),
  ]);
  return { lists, view: lists.length ? sectionOf(view, place, size) : view };
}
