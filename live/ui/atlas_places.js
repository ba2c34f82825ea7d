// The rows of a head that an atlas keeps, each with its text: which ones are shown, and the weights on their words.
import { el } from "./dom.js";
import { onPage } from "./page_events.js";
import { directionOf, isolated, percent, say } from "./words.js";

export const STRONGEST = 10; // the group of the strongest rows; groups 0 to 9 are tenths of the strongest weight
const SIDE = 7, MOST_WORDS = 60; // tokens on each side of what matters in a long text; tokens of a text that is whole
const DEEPEST = 55; // percent of the colour at the weight 1
const CLOSE = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]/u; // words of these have no space between them

const WANTED = "headlight-sentences"; // an event of the page

/** Scroll to the sentences of the chosen head, which another component draws. */
export const showSentences = () => document.dispatchEvent(new Event(WANTED));
/** @param {() => void} show */
export const onSentencesWanted = (show) => onPage(WANTED, show);

/** The tokens of the rows and of the keys of a text. @param {any} text */
const sidesOf = ({ rows, keys }) => ({ rows: rows ?? keys, keys });

/**
 * The kept keys of a place without sinks: special tokens, punctuation and the first token. Their weights are divided by
 * what the kept sinks leave of the row.
 * @param {any} place @param {any} text @param {string[]} classes
 * @returns {{ keys: number[], weights: number[], taken: number }} `taken`: the weight of the sinks among the kept keys.
 */
export function withoutSinks({ keys, weights }, text, classes) {
  const isSink = (key) => key === 0 || ["special", "punctuation"].includes(classes[text.keys.classes[key]]);
  const taken = keys.reduce((all, key, i) => all + (isSink(key) ? weights[i] : 0), 0);
  const kept = keys.map((key, i) => ({ key, weight: weights[i] })).filter(({ key }) => !isSink(key));
  return { keys: kept.map(({ key }) => key), weights: kept.map(({ weight }) => weight / (1 - taken)), taken };
}

/**
 * What a place is like: the classes of its row and of its strongest key, and the distance in self-attention.
 * @param {any} place @param {any} text @param {string[]} classes
 * @returns {{ row: string, key: string, distance: number | null }}
 */
function likeOf({ row, keys }, text, classes) {
  const sides = sidesOf(text);
  return {
    row: classes[sides.rows.classes[row]], key: keys.length ? classes[text.keys.classes[keys[0]]] : "",
    distance: text.rows || !keys.length ? null : keys[0] - row,
  };
}

/**
 * The places that a visitor asks for.
 * @param {any} head With `places` and `texts`. @param {string[]} classes
 * @param {{ like: string, group: number }} wanted `like`: "first>later@-1", or "" for the places of a group.
 */
export function chosenPlaces({ places, texts }, classes, { like, group }) {
  if (!like) return places.filter((place) => place.group === group);
  const [, row, key, distance] = like.match(/^(\w+)>(\w+)(?:@(-?\d+))?$/) ?? [];
  const seen = new Set();
  return [...places].sort((a, b) => (b.weights[0] ?? 0) - (a.weights[0] ?? 0)).filter((place) => {
    const name = `${place.line} ${place.row}`, found = likeOf(place, texts[place.line], classes);
    if (seen.has(name) || found.row !== row || found.key !== key) return false;
    if (distance !== undefined && found.distance !== Number(distance)) return false;
    return seen.add(name); // a row can be in two groups
  });
}

/**
 * Which tokens of a text are drawn: all of a short one, else those near what matters. −1 stands for left-out tokens.
 * @param {number} length @param {number[]} matters
 */
export function drawnTokens(length, matters) {
  if (length <= MOST_WORDS) return Array.from({ length }, (_, i) => i);
  const near = new Set(matters.flatMap((at) => Array.from({ length: 2 * SIDE + 1 }, (_, i) => at - SIDE + i)));
  const kept = [...near].filter((i) => i >= 0 && i < length).sort((a, b) => a - b);
  return kept.flatMap((i, n) => (i > (n ? kept[n - 1] + 1 : 0) ? [-1, i] : [i]))
    .concat((kept.at(-1) ?? length) < length - 1 ? [-1] : []);
}

/**
 * A place as its text with the weights on the words.
 * @param {any} place @param {any} text
 * @param {{ classes: string[], sinks: boolean, open: (() => void) | null }} options
 */
export function placeElement(place, text, { classes, sinks, open }) {
  const { rows, keys } = sidesOf(text), isCross = Boolean(text.rows);
  const shown = sinks && isCross ? withoutSinks(place, text, classes) : { ...place, taken: 0 };
  const weights = new Map(shown.keys.map((key, i) => [key, shown.weights[i]]));
  const marks = [
    place.forced ? say("The model was forced to write this token.") : "",
    place.special ? say("A special token.") : "",
    sinks && isCross ? say("At least {share} of the weight was on sinks.", { share: percent(shown.taken) }) : "",
    place.keys.length ? "" : say("No key has 0.5\u00a0% of the weight."),
    place.keys.length && !shown.keys.length ? say("All kept keys are sinks.") : "",
  ].filter(Boolean);
  const line = (side, options) => el("p", { class: "words", dir: directionOf(side.tokens) }, drawnTokens(
    side.tokens.length, options.matters
  ).flatMap((i) => (i < 0 ? [el("span", {}, " … ")] : wordElements(side, i, options))));
  return el("li", { class: "place" }, [
    ...(isCross ? [line(rows, { row: place.row, matters: [place.row] })] : []),
    line(keys, { row: isCross ? -1 : place.row, weights, matters: [...(isCross ? [] : [place.row]), ...shown.keys] }),
    el("p", { class: "quiet" }, [
      el("span", {}, `${sentenceOf(place, shown, { rows, keys })} ${marks.join(" ")} `),
      ...(open ? [el("button", { type: "button", class: "plainly", onclick: open },
        say("See all maps of this sentence"))] : []),
    ]),
  ]);
}

/** A token of a text, after a space where a word begins: the row is framed, and a key has its weight as colour. */
function wordElements({ tokens, words }, i, { row, weights }) {
  const continues = i > 0 && words[i] >= 0 && words[i] === words[i - 1], weight = weights?.get(i);
  const text = continues ? tokens[i].replace(/^·/, "") : tokens[i];
  const space = i === 0 || continues ? "" : CLOSE.test(text) && CLOSE.test(tokens[i - 1]) ? "\u200b" : " ";
  return [...(space ? [el("span", {}, space)] : []), el("span", {
    class: i === row ? "word asks" : "word",
    ...(weight === undefined ? {} : { "data-weight": percent(weight), tabindex: -1, style: shadeOf(weight) }),
  }, text)];
}

/** The colour of a weight, as a style. @param {number} weight From 0 to 1. */
export function shadeOf(weight) {
  return `background:color-mix(in srgb, #e69f00 ${(DEEPEST * Math.min(weight, 1)).toFixed(0)}%, transparent)`;
}

/** Where the weight of a row lies, in words. */
function sentenceOf({ row }, shown, { rows, keys }) {
  const parts = shown.keys.slice(0, 3).map((key, i) => say("{share} on {key}", {
    share: percent(shown.weights[i]), key: isolated(keys.tokens[key]),
  }));
  return say("Row {row}: {weights}.", { row: isolated(rows.tokens[row]), weights: parts.join(", ") || "–" });
}
