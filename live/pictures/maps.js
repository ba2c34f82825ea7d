// What the pictures need of the maps of a translation. Nothing here computes attention.
import { SHARED } from "../app/shared.js";
import { tokenRows } from "../controls/tokens.js";
import { KINDS } from "../engine/trace.js";
import { scalePosition } from "../ui/maps.js";
import { BROKEN, levelOf, times, WEIGHTS } from "../ui/numbers.js";
import { headName, say } from "../ui/words.js";

const ALLOWED = { scale: ["#56b4e9", "#56b4e9"], masked: WEIGHTS.masked, broken: WEIGHTS.broken };
const NO_LINES = {
  title: "", weights: new Float32Array(0), queries: 0, keys: 0, query_row: "none", query_from: 0, key_row: "nothing",
  key_from: 0, in_map: false,
};

/**
 * @param {Result} translation @param {string} kind
 * @param {{ hideSpecial?: boolean }} [options] Leave out the rows and columns of special tokens.
 * @returns {MapView}
 */
export function viewOf(translation, kind, { hideSpecial = false } = {}) {
  const { data, shape: [layers, heads, T, S] } = translation.maps[kind];
  const { queries, keys } = KINDS[kind], mayAttend = maskOf(translation, kind);
  const shown = (tokens) => {
    const all = tokens.map((_, i) => i), words = all.filter((i) => tokens[i].word >= 0);
    return hideSpecial && words.length ? words : all;
  };
  const rows = shown(translation[queries]), columns = shown(translation[keys]);
  const at = (layer, head, t, s) => data[((layer * heads + head) * T + rows[t]) * S + columns[s]];
  const weight = (layer, head, t, s) => {
    if (!mayAttend(layer, rows[t], columns[s])) return -Infinity;
    if (typeof head === "number") return at(layer, head, t, s);
    const all = times(heads, (i) => at(layer, i, t, s));
    return head === "max" ? Math.max(...all) : all.reduce((sum, one) => sum + one, 0) / heads;
  };
  return {
    kind, layers, heads, rows, columns, weight,
    queries: rows.map((i) => labelOf(translation[queries][i])), keys: columns.map((i) => labelOf(translation[keys][i])),
    notes: kind === "encoder" ? [] : rows.map((i) => say("after reading “{read}”, writes “{written}”", {
      read: translation.read[i].text, written: translation.written[i].text,
    })),
    axes: axesOf(kind, translation.languages, namesOf(kind, translation)),
  };
}

/** What the rows and columns of a map are, and their languages. @param {string} kind @param {string[]} languages */
export function axesOf(kind, [source, target], { query, key } = namesOf(kind)) {
  return {
    query_title: say("query: {what}", { what: query }), key_title: say("key: {what}", { what: key }),
    languages: { query: kind === "encoder" ? source : target, key: kind === "decoder" ? target : source },
  };
}

/**
 * A section of maps that are too large to be drawn whole.
 * @param {MapView} view
 * @param {[number, number]} first The first row and the first column, counted from 0.
 * @param {number} size The most rows and columns.
 * @returns {MapView}
 */
export function sectionOf(view, [row, column], size) {
  const down = (list) => list.slice(row, row + size), across = (list) => list.slice(column, column + size);
  return {
    ...view, rows: down(view.rows), columns: across(view.columns), queries: down(view.queries), keys: across(view.keys),
      notes: down(view.notes),
    weight: (layer, head, t, s) => view.weight(layer, head, t + row, s + column),
  };
}

/**
 * The weights of one map, (T, S) row by row.
 * @param {MapView} view @param {number} layer @param {number | string} head
 */
export function weightsOf(view, layer, head) {
  const weights = new Float32Array(view.queries.length * view.keys.length);
  for (let t = 0, i = 0; t < view.queries.length; t++)
    for (let s = 0; s < view.keys.length; s++) weights[i++] = view.weight(layer, head, t, s);
  return weights;
}

/**
 * What the rows of a map sum to. A silenced head, or a model with attention sinks, has smaller sums.
 * @param {MapView} view @param {number} layer @param {number | string} head
 */
export function sumsOf(view, layer, head) {
  if (head === "max") return say("Each cell is the largest of {n} weights.", { n: view.heads });
  const sums = view.queries.map((_, t) => view.keys.reduce(
    (sum, _key, s) => sum + Math.max(view.weight(layer, head, t, s), 0), 0
  ));
  const [lowest, highest] = [Math.min(...sums), Math.max(...sums)];
  if (Number.isNaN(lowest)) return say("Some weights are not a number.");
  if (Math.max(1 - lowest, highest - 1) < 1e-3) return say("Each row sums to 1.");
  return say("The rows sum to {lowest} to {highest}.", { lowest: lowest.toFixed(2), highest: highest.toFixed(2) });
}

/** The name of a map: "layer 3, head 1". @param {number} layer @param {number | string} head */
export function mapName(layer, head) {
  if (typeof head === "number") return headName(layer, head);
  return head === "max"
    ? say("layer {layer}, maximum of the heads", { layer: layer + 1 })
    : say("layer {layer}, mean of the heads", { layer: layer + 1 });
}

/**
 * The data of the component attention_map.
 * @param {MapView} view @param {number} layer @param {number | string} head @param {boolean} logarithmic
 */
export function largeMap(view, layer, head, logarithmic) {
  const title = `${namesOf(view.kind).fullName}, ${mapName(layer, head)}`;
  return {
    ...view.axes, queries: view.queries, keys: view.keys, notes: view.notes,
    weights: weightsOf(view, layer, head), unit: say("attention weight"), largest: 1, logarithmic, title,
    alt: say("Heatmap of the attention weights of {title}", { title }),
  };
}

/**
 * The data of the component head_grid, without the chosen map.
 * @param {MapView} view @param {boolean} logarithmic
 */
export function smallMaps(view, logarithmic) {
  const [down, across] = [view.queries, view.keys].map(({ length }) => Math.ceil(length / SHARED.limits.tile));
  const rows = Math.ceil(view.queries.length / down), columns = Math.ceil(view.keys.length / across);
  const name = namesOf(view.kind).fullName;
  const levels = new Uint8Array(view.layers * view.heads * rows * columns);
  for (let l = 0, i = 0; l < view.layers; l++)
    for (let h = 0; h < view.heads; h++)
      for (let r = 0; r < rows; r++)
        for (let c = 0; c < columns; c++)
          levels[i++] = levelOf(scalePosition(
            largestIn(view, l, h, [r * down, down], [c * across, across]), logarithmic
          ));
  return {
    layers: view.layers, heads: view.heads, rows, columns, levels, broken: levels.includes(BROKEN),
    title: say("All heads, {name}", { name }),
    alt: say("{layers} × {heads} small heatmaps, one for each layer and head of the {name}", {
      layers: view.layers, heads: view.heads, name,
    }),
  };
}

/** The largest weight of a block of cells; −∞ if all are masked, NaN if one is not a number. */
function largestIn(view, layer, head, [top, down], [left, across]) {
  let largest = -Infinity;
  for (let t = top; t < Math.min(top + down, view.queries.length); t++)
    for (let s = left; s < Math.min(left + across, view.keys.length); s++) {
      largest = Math.max(largest, view.weight(layer, head, t, s));
    }
  return largest;
}

/**
 * The data of the component word_lines: lines between the chips.
 * @param {Result} translation @param {string} kind @param {number} layer @param {number | string} head @param
 *   {boolean} inMap
 */
export function lineData(translation, kind, layer, head, inMap) {
  const { reads: read, writes: written } = tokenRows(translation), given = translation.prompt_length ?? 0;
  if (Math.max(read.length, written.length) > SHARED.limits.chips) return NO_LINES;
  const view = viewOf(translation, kind), reads = { row: "reads", from: 0 }, writes = { row: "writes", from: -given };
  const afterFirst = { row: "writes", from: -given - 1 };
  const [query, key] = { cross: [writes, reads], decoder: [writes, afterFirst] }[kind] ?? [reads, reads];
  return {
    title: say("Weights between the tokens: {name}", { name: `${namesOf(kind).fullName}, ${mapName(layer, head)}` }),
    weights: weightsOf(view, layer, head), queries: view.queries.length, keys: view.keys.length,
    query_row: query.row, query_from: query.from, key_row: key.row, key_from: key.from, in_map: inMap,
  };
}

/**
 * The data of the component attention_lines.
 * @param {MapView} view @param {number} layer @param {number | string} head
 */
export function lines(view, layer, head) {
  const { layers, heads, queries, keys } = view, name = namesOf(view.kind).fullName;
  const many = typeof head === "number" && heads > 1;
  /** @type {[number, number | string][]} */
  const maps = typeof head === "number"
    ? times(layers * heads, (i) => [Math.floor(i / heads), i % heads])
    : [[layer, head]];
  const weights = new Float32Array(maps.length * queries.length * keys.length);
  for (const [i, [l, h]] of maps.entries())
    weights.set(
      weightsOf(view, l, h).map((weight) => (weight === -Infinity ? 0 : weight)), i * queries.length * keys.length
    );
  const names = maps.map(([l, h]) => mapName(l, h)), chosen = maps.findIndex(([l, h]) => l === layer && h === head);
  return {
    ...view.axes, queries, keys, weights, names, columns: many ? heads : 1,
    labels: many ? maps.map(([, h]) => String(Number(h) + 1)) : names,
    rows: many ? times(layers, (l) => say("layer {layer}", { layer: l + 1 })) : [""],
    chosen: [chosen], selection: [view.kind, queries, keys, layer, head].join("|"), largest: 1,
    alt: say("Lines between keys and queries of the {name}", { name }),
  };
}

/**
 * The data of the component attention_map for a mask.
 * @param {any} axes The tokens and titles of its rows and columns.
 * @param {Float32Array} numbers (T, S), -Infinity where masked.
 * @param {string} title
 */
export function maskMap(axes, numbers, title) {
  const stateAt = (number) => (number === -Infinity ? say("masked")
    : Number.isNaN(number) ? say("not a number") : say("may attend"));
  return {
    ...axes, weights: numbers, colours: ALLOWED, largest: 1, title, alt: title,
    describe: (t, s) => say("query: {query}; key: {key}; {state}", {
      query: axes.queries[t], key: axes.keys[s], state: stateAt(numbers[t * axes.keys.length + s]),
    }),
  };
}

/**
 * The names of a kind of attention, and what its maps show.
 * @param {string} kind
 * @param {Result} [translation] A model with only one text has neither a source nor a target.
 */
export function namesOf(kind, translation) {
  const { title, full_name: fullName, shows, query, key, one_query, one_key } = SHARED.kinds[kind];
  const single = translation && !(translation.source.length && translation.written.length);
  return {
    title: say(title), fullName: say(fullName), shows: say(shows), query: say(single ? one_query : query),
    key: say(single ? one_key : key),
  };
}

/**
 * Whether a query of a layer may attend to a key. A model may have other masks than the usual ones, such as windows.
 * @param {Result} translation @param {string} kind
 * @returns {(layer: number, query: number, key: number) => boolean}
 */
export function maskOf({ masks, maps }, kind) {
  const own = masks?.[kind], [, , T, S] = maps[kind].shape;
  return own
    ? (layer, query, key) => own.data[(layer * T + query) * S + key] > 0
    : (_layer, query, key) => kind !== "decoder" || key <= query;
}

/** A token as pictures name it: in a pair of texts with the name of its text. @param {Token} token */
const labelOf = ({ text, part }) => (part ? `${part}: ${text}` : text);

/** The kinds of attention that a model has. @param {Record<string, number[]>} heads Kind → layers and heads. */
export function kindsOf(heads) {
  return Object.keys(KINDS).filter((kind) => heads[kind]?.[0]);
}
