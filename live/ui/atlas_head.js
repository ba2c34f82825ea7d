// One head of an atlas, or two side by side: its numbers, its rows with their texts, what it attends to, and the heads
// that are like it.
import { chosenPlaces, onSentencesWanted, placeElement, shadeOf, STRONGEST } from "./atlas_places.js";
import { numberNames, readTable, titleOf } from "./atlas_table.js";
import { shownNumber } from "./atlas.js";
import { draw, el, find, select, singleTabStop, tableOf } from "./dom.js";
import { component } from "./mounting.js";
import { decodeFloats } from "./numbers.js";
import { decimal, headName, percent, say } from "./words.js";

const UNBOUNDED = ["entropy", "distance", "importance"]; // numbers that are no shares
const STEPS = ["row", "key"];

/** Class of tokens → its name. @type {Record<string, () => string>} */
const CLASS_TITLES = {
  special: () => say("special token"), punctuation: () => say("punctuation"), number: () => say("number"),
  first: () => say("first token of a word"), later: () => say("later token of a word"),
};
const classTitle = (name) => (Object.hasOwn(CLASS_TITLES, name) ? CLASS_TITLES[name]() : name);

/**
 * The names of the bins of distances, from their smallest distances: the outer ones have no end.
 * @param {number[]} smallest
 */
export function distanceNames(smallest) {
  const signed = (number) => String(number).replace("-", "−");
  return smallest.map((low, i) => {
    if (i === smallest.length - 1) return `≥ ${signed(low)}`;
    const high = smallest[i + 1] - 1;
    if (i === 0) return `≤ ${signed(high)}`;
    return low === high ? signed(low) : say("{first} to {last}", { first: signed(low), last: signed(high) });
  });
}

export const atlasHead = component((root) => {
  let data, report, table = /** @type {any} */ (null), group = STRONGEST;
  const drafts = { row: "", key: "" }; // the classes of a filter that is not whole yet
  const show = () => find(root, ".atlas-head").scrollIntoView();
  const stop = onSentencesWanted(show);

  function update(next, setTriggerValue) {
    report = setTriggerValue;
    const isOpened = !data;
    if (next.table.values !== data?.table.values) table = readTable(next.table);
    data = next;
    const [, row = "", key = ""] = data.like.match(/^(\w+)>(\w+)/) ?? [];
    Object.assign(drafts, { row, key });
    redraw();
    if (isOpened && data.like) requestAnimationFrame(show); // the visitor followed a link to these rows
  }

  function choose(choices) {
    for (const [name, value] of Object.entries(choices))
      if (name === "atlas_like" || name === "atlas_sinks") data[name.replace("atlas_", "")] = value;
    report("change", choices);
    redraw();
  }

  const nameOf = ({ kind, layer, head }) => `${kind}.${layer + 1}.${head + 1}`;

  function redraw() {
    const isCross = data.heads.some(({ kind }) => kind === "cross");
    draw(root, [el("div", { class: "atlas" }, [
      el("div", { class: "bar" }, [
        besideList(),
        ...STEPS.map(classList),
        ...(data.like ? [
          el("button", { type: "button", onclick: () => choose({ atlas_like: "" }) }, say("All rows")),
        ] : []),
        ...(isCross ? [sinksSwitch()] : []),
      ]),
      el("div", { class: "atlas-heads" }, data.heads.map(headElement)),
    ])]);
    for (const places of root.querySelectorAll(".places")) singleTabStop(places, ".word[tabindex]");
  }

  function sinksSwitch() {
    return el("button", {
      type: "button", role: "switch", "aria-checked": String(data.sinks === "out"),
      title: say(
        "Leave out special tokens, punctuation and the first token. The other weights are divided by their sum."
      ),
      onclick: () => choose({ atlas_sinks: data.sinks === "out" ? "" : "out" }),
    }, `${data.sinks === "out" ? "✓ " : ""}${say("Take out sinks")}`);
  }

  /** The list of heads that can stand beside the first one. */
  function besideList() {
    const first = nameOf(data.heads[0]), second = data.heads[1] ? nameOf(data.heads[1]) : "";
    const others = table.heads.filter(({ name }) => name !== first).map((head) => [head.name, titleOf(head)]);
    return el("label", {}, [el("span", {}, say("Beside it")), select(
      [["", say("no other head")], ...others], second, (name) => choose({ atlas_second: name })
    )]);
  }

  /** The list for the class of the row or of the strongest key of the places that are shown. */
  function classList(side) {
    const label = side === "row" ? say("Class of the row") : say("Class of the strongest key");
    const classes = data.table.classes.map((name) => [name, classTitle(name)]);
    return el("label", {}, [el("span", {}, label), select([["", say("any")], ...classes], drafts[side], (name) => {
      drafts[side] = name;
      if (drafts.row && drafts.key) choose({ atlas_like: `${drafts.row}>${drafts.key}` });
      else if (data.like) choose({ atlas_like: "" });
      else redraw();
    })]);
  }

  function headElement(head) {
    return el("section", { class: "atlas-head", "aria-label": titleOf(head) }, [
      el("h3", {}, titleOf(head)),
      ...placesOf(head),
      ...numbersOf(head),
      ...profileOf(head),
      ...pairsOf(head),
      ...similarTo(head),
    ]);
  }

  const title = (text, about) => el("div", { class: "title" }, [
    el("h4", {}, text), el("span", { class: "quiet" }, about),
  ]);

  function placesOf(head) {
    const { classes } = data.table, [like, distance] = data.like.split("@");
    const exact = chosenPlaces(head, classes, { like: data.like, group });
    const found = exact.length ? exact : chosenPlaces(head, classes, { like, group });
    const counts = (one) => head.places.filter((place) => place.group === one).length;
    const name = (one) => (one === STRONGEST ? say("strongest rows") : `${10 * one}–${10 * one + 10}\u00a0%`);
    const groups = [STRONGEST, ...Array.from({ length: STRONGEST }, (_, i) => STRONGEST - 1 - i)];
    return [
      title(say("Its sentences"), data.like
        ? say(
          "The row is framed; a darker key has more weight. Of {total} kept rows of this head, {n} are like this.",
          { n: found.length, total: head.places.length },
        )
        : say("The row is framed; a darker key has more weight. Choose how large the strongest weight of the row is.")),
      ...(exact.length && distance ? [el("p", {}, say(
        "Distance of the strongest key (key minus row, in tokens): {distance}.", {
          distance: decimal(Number(distance), 0),
        },
      ))] : []),
      ...(found.length && !exact.length
        ? [el("p", {}, say("No kept row has this distance too. These rows have the same classes."))] : []),
      ...(data.like ? [] : [el("div", { class: "choices" }, groups.map((one) => el("button", {
        type: "button", "aria-pressed": String(one === group), "aria-disabled": counts(one) ? false : "true",
        onclick: () => { if (counts(one)) { group = one; redraw(); } },
      }, name(one))))]),
      found.length
        ? el("ol", { class: "scroll tall places", tabindex: 0 }, found.map((place) => {
          const { text } = head.texts[place.line], { kind, layer, head: number } = head;
          const open = data.open && text ? () => report("text", { text, kind, layer, head: number }) : null;
          return placeElement(place, head.texts[place.line], { classes, sinks: data.sinks === "out", open });
        }))
        : el("p", {}, data.like ? say("The atlas keeps no such row of this head.") : say("No row has such a weight.")),
    ];
  }

  /** The numbers of a head, each with its interval on a line from 0 to 1. */
  function numbersOf(head) {
    const { at } = table.heads.find(({ name }) => name === nameOf(head));
    const known = table.numbers.filter((name) => Number.isFinite(table.value(at, name)));
    const bar = (low, high) => el("span", { class: "interval", "aria-hidden": "true" }, [
      el("span", { style: `left:${100 * low}%;width:max(3px, ${100 * (high - low)}%)` }),
    ]);
    return [
      title(say("Its numbers"), say("Means over all rows, with 95\u00a0% intervals. The line goes from 0 to 1.")),
      el("dl", { class: "numbers-of-head" }, known.flatMap((name) => {
        const [value, low, high] = ["", "_low", "_high"].map((end) => table.value(at, name + end));
        const { title: label, meaning } = numberNames(name), ends = Number.isFinite(low) ? [low, high] : [value, value];
        const isShare = !UNBOUNDED.includes(name), shown = [value, low, high].map(shownNumber);
        const text = Number.isFinite(low)
          ? say("{value} ({low} to {high})", { value: shown[0], low: shown[1], high: shown[2] }) : shown[0];
        return [el("dt", { title: meaning || false }, label), el("dd", {}, [
          el("span", {}, text), ...(isShare ? [bar(ends[0], ends[1])] : []),
        ])];
      })),
    ];
  }

  const cell = (value, largest, more) => el(
    "td", { style: value > 0 && shadeOf(value / largest), title: more || false },
    Number.isFinite(value) ? (value < 0.005 ? "·" : percent(value)) : "–",
  );

  /** The name of a table among those of two heads. */
  const labelOf = (head, text) => `${titleOf(head)}: ${text}`;

  /** The mean weight of a row by distance and class of the key. */
  function profileOf(head) {
    const values = decodeFloats(head.profile), { classes, distances } = data.table, width = classes.length;
    const names = values.length > width ? distanceNames(distances) : [say("all keys")];
    const largest = Math.max(...values, 1e-9);
    return [
      title(say("What it attends to"), names.length > 1
        ? say("The mean weight of a row by distance (key minus row, in tokens) and class of the key.")
        : say("The mean weight of a row by class of the key.")),
      tableOf(labelOf(head, say("What it attends to")),
        [names.length > 1 ? say("distance") : "", ...classes.map(classTitle)],
        names.map((name, i) => [name, ...classes.map((_, c) => cell(values[i * width + c], largest, ""))])),
    ];
  }

  /** The mean weight from rows of a class to keys of a class. */
  function pairsOf(head) {
    const values = decodeFloats(head.pairs), { classes } = data.table, n = classes.length;
    const at = (row, key) => [0, 1, 2].map((end) => values[(row * n + key) * 3 + end]);
    return [el("details", {}, [
      el("summary", {}, say("By class of the row and of the key")),
      tableOf(labelOf(head, say("By class of the row and of the key")),
        [say("row \\ key"), ...classes.map(classTitle)],
        classes.map((name, row) => [classTitle(name), ...classes.map((_, key) => {
          const [value, low, high] = at(row, key);
          return cell(value, 1, Number.isFinite(low)
            ? say("95\u00a0% interval {low} to {high}", { low: percent(low), high: percent(high) }) : "");
        })])),
    ])];
  }

  function similarTo(head) {
    const named = ({ by, checkpoint }) => {
      if (checkpoint) return say("In {checkpoint}, by what it attends to", { checkpoint });
      return by === "writes" ? say("By what it writes") : say("By what it attends to");
    };
    const beside = data.others.includes(data.beside) ? data.beside : data.others[0];
    const isShown = ({ checkpoint }) => !checkpoint || checkpoint === beside;
    return [
      title(say("Heads like this"), say("The number is the cosine of both profiles, at most 1.")),
      ...(data.others.length ? [el("label", {}, [el("span", {}, say("In another checkpoint")), select(
        data.others, beside, (name) => choose({ atlas_beside: name })
      )])] : []),
      ...head.like.filter(isShown).map((one) => el("div", {}, [
        el("span", { class: "quiet" }, named(one)),
        el("div", { class: "choices" }, one.heads.map(({ layer, head: number, value }) => {
          const text = `${headName(layer, number)} · ${decimal(value, 2)}`;
          const name = nameOf({ kind: head.kind, layer, head: number }), { checkpoint } = one;
          return checkpoint
            ? el("button", {
              type: "button", class: "plainly", title: say("Open the atlas of {checkpoint}", { checkpoint }),
              onclick: () => report("change", { checkpoint, atlas_head: name, atlas_second: "" }),
            }, text)
            : el("button", { type: "button", onclick: () => choose({ atlas_second: name }) }, text);
        })),
      ])),
    ];
  }

  return { update, redraw, stop };
});
