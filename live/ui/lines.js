// Attention as lines from queries (left) to keys (right), as in BertViz. The thickness of a line is a weight.
import { buttonRows, draw, el } from "./dom.js";
import { brokenLegend } from "./maps.js";
import { availableWidth, component } from "./mounting.js";
import { decodeFloats, LINES, times } from "./numbers.js";
import { onPage, onPageChange } from "./page_events.js";
import { isolated, say, shortened } from "./words.js";

const DASHES = [false, "10 8", "1 9"];
const ROW_HEIGHT = 22, GAP = 8, MIN_WIDTH = 280, NARROW = 460; // pixels

/** A line: [weight, query, key, map]. @typedef {[number, number, number, number]} Line */
/** A token: its side and its number, counted from 0. @typedef {{ side: "query" | "key", index: number }} TokenPlace */

/** Side → the token of a line on this side. @type {Record<"query" | "key", (line: Line) => number>} */
const END = { query: (line) => line[1], key: (line) => line[2] };

/**
 * The lines that are thick enough.
 * @param {object} maps
 * @param {ArrayLike<number>} maps.weights (M, T, S), row by row.
 * @param {number} maps.queries @param {number} maps.keys
 * @param {Iterable<number>} maps.selected The maps to draw.
 * @param {number} maps.smallest The smallest weight with a line.
 * @param {number} maps.best How many of the largest weights of each query are kept; 0 keeps all.
 * @returns {Line[]}
 */
export function visibleLines({ weights, queries, keys, selected, smallest, best }) {
  /** @type {Line[]} */
  const lines = [];
  for (const map of selected)
    for (let t = 0; t < queries; t++) {
      /** @type {Line[]} */
      const row = times(keys, (s) => [weights[(map * queries + t) * keys + s], t, s, map]);
      const kept = best ? row.sort((a, b) => b[0] - a[0]).slice(0, best) : row;
      lines.push(...kept.filter(([weight]) => weight >= Math.max(smallest, 1e-6)));
    }
  return lines;
}

/**
 * The dash pattern of a map: the maps of one layer share a pattern, other layers have others.
 * @param {number} layer
 * @param {Iterable<number>} layers The layers that are drawn.
 */
export function dashOf(layer, layers) {
  return DASHES[[...new Set(layers)].sort((a, b) => a - b).indexOf(layer) % DASHES.length];
}

export const attentionLines = component((root) => {
  let data = /** @type {any} */ (null), weights, selected, threshold = 0.05, best = 0;
  let pointed = /** @type {TokenPlace | null} */ (null), focused = /** @type {TokenPlace | null} */ (null);

  function update(next) {
    if (next.selection !== data?.selection) [selected, pointed, focused] = [new Set(next.chosen), null, null];
    [data, weights] = [next, decodeFloats(next.weights)];
    redraw();
  }

  /** A head keeps its colour when other heads are turned on. */
  const colour = (map) => LINES[map % LINES.length];
  const layerOf = (map) => Math.floor(map / data.columns);

  function picture() {
    const active = pointed ?? focused;
    const all = visibleLines({
      weights, queries: data.queries.length, keys: data.keys.length, selected, smallest: threshold * data.largest, best,
    });
    const lines = active ? all.filter((line) => END[active.side](line) === active.index) : all;
    const width = Math.max(availableWidth(root), MIN_WIDTH), side = Math.min(190, width * 0.32);
    const narrow = width < NARROW;
    const top = narrow ? 50 : 30, height = top + ROW_HEIGHT * Math.max(data.queries.length, data.keys.length) + 10;
    const y = (i) => top + ROW_HEIGHT * (i + 0.5), place = { width, side, y };
    const names = [...selected].map((map) => data.names[map]).join("; ");
    return el("svg", { width, height, role: "group",
      "aria-label": say("{name}: {value}", { name: data.alt, value: names }), "data-lines": lines.length }, [
      el("g", {}, [
        el("text", { x: 0, y: 16 }, data.query_title),
        el("text", { x: width, y: narrow ? 36 : 16, "text-anchor": "end" }, data.key_title),
      ]),
      el("g", {}, lines.map((line) => lineElement(line, place))),
      el("g", {}, data.queries.map((label, i) => tokenElement(label, { side: "query", index: i }, lines, place))),
      el("g", {}, data.keys.map((label, i) => tokenElement(label, { side: "key", index: i }, lines, place))),
    ]);
  }

  function lineElement([weight, t, s, map], { width, side, y }) {
    const share = weight / data.largest, [query, key] = [data.queries[t], data.keys[s]].map(isolated);
    return el("line", {
      x1: side, y1: y(t), x2: width - side, y2: y(s), stroke: colour(map)[0], "stroke-linecap": "round",
      "stroke-dasharray": dashOf(layerOf(map), [...selected].map(layerOf)),
      "stroke-width": (0.4 + 5.6 * share).toFixed(2), "stroke-opacity": (0.25 + 0.75 * share).toFixed(2),
    }, [el("title", {}, `${data.names[map]}: ${query} → ${key}: ${weight.toFixed(6)}`)]);
  }

  /** A token; next to the tokens on the other side of the active one is the mean of their weights over the maps. */
  function tokenElement(label, { side: name, index }, lines, { width, side, y }) {
    const active = pointed ?? focused, query = name === "query";
    const across = active && active.side !== name ? lines.filter((line) => END[name](line) === index) : [];
    const mean = across.reduce((sum, [weight]) => sum + weight, 0) / selected.size;
    const chosen = active && active.side === name && active.index === index;
    const note = across.length ? mean.toFixed(3) : "";
    const text = shortened(label, Math.max(4, Math.min(18, Math.floor((side - GAP) / 7.5) - (note ? 6 : 0))));
    return el("text", {
      x: query ? side - GAP : width - side + GAP, y: y(index) + 5, "text-anchor": query ? "end" : "start",
      class: `token${chosen ? " chosen" : active && !across.length ? " aside" : ""}`, tabindex: 0, role: "img",
      "aria-label": tokenName(shortened(label, 40), name, index), lang: data.languages[name] || false,
      "data-side": name, "data-index": index,
      onfocus: () => activate(pointed, { side: name, index }), onblur: () => activate(pointed, null),
    }, (query ? `${note}  ${isolated(text)}` : `${isolated(text)}  ${note}`).trim());
  }

  function tokenName(token, side, index) {
    const values = { token: isolated(token), n: index + 1 };
    return side === "query" ? say("{token}, query {n}", values) : say("{token}, key {n}", values);
  }

  /** The token under the pointer is active, or else the token with the focus. */
  function activate(underPointer, withFocus) {
    if (JSON.stringify([underPointer, withFocus]) === JSON.stringify([pointed, focused])) return;
    [pointed, focused] = [underPointer, withFocus];
    redraw();
  }

  function toggle(map) {
    if (!selected.delete(map)) selected.add(map);
    if (!selected.size) selected.add(map);
    redraw();
  }

  function switches() {
    return data.rows.map((name, row) => [name, times(data.columns, (column) => {
      const map = row * data.columns + column, on = selected.has(map);
      const [background, ink] = on ? colour(map) : [];
      return el("button", {
        type: "button", role: "switch", "aria-checked": String(on), "aria-label": data.names[map],
          title: data.names[map],
        style: on && `background:${background};color:${ink}`, onclick: () => toggle(map),
      }, data.labels[map]);
    })]);
  }

  function slider(label, range, value, shown, change) {
    const oninput = (event) => {
      change(Number(event.target.value));
      redraw();
    };
    return el("label", {}, [
      el("span", {}, label), el("input", {
        type: "range", "aria-label": label, ...range, oninput, value,
      }), el("output", { "aria-live": "off" }, shown),
    ]);
  }

  function redraw() {
    const most = Math.min(data.keys.length, 10);
    const sliders = [
      slider(
        say("Threshold"), { min: 0, max: 1, step: 0.01 }, threshold, threshold.toFixed(2),
        (value) => { threshold = value; },
      ),
      slider(
        say("Largest weights per query"), { min: 0, max: most, step: 1 }, best, best ? String(best) : say("all"),
        (value) => { best = value; },
      ),
    ];
    draw(root, [
      el("div", { class: "bar" }, data.names.length > 1 ? [buttonRows(switches()), ...sliders] : sliders),
      picture(),
      ...(isBroken() ? [brokenLegend()] : []),
    ]);
  }

  /** Whether a chosen map has a weight that is not a number, so that its line is missing. */
  function isBroken() {
    const size = data.queries.length * data.keys.length;
    return [...selected].some((map) => weights.subarray(map * size, (map + 1) * size).some(
      (weight) => !Number.isFinite(weight)
    ));
  }

  function tokenAt(target) {
    const token = target.closest("[data-side]");
    return token && { side: token.dataset.side, index: Number(token.dataset.index) };
  }

  root.onpointerover = (event) => activate(tokenAt(event.target), focused);
  root.onpointerleave = () => activate(null, focused);
  return { update, redraw, picture: () => root.querySelector("svg") };
});

// Lines between the token chips of a page: from each written token to the tokens that it attends to. Pointing at a chip
// highlights the row or column of the large map, and pointing at a cell of the map highlights its chips.

const AT_REST = 0.2, SELECTED = 0.02; // the smallest weight with a line: without a selection, and of the selected token
const ONE_ROW = 44; // pixels: a higher row of chips has wrapped, and lines would cross words

/**
 * The lines to draw.
 * @param {Float32Array} weights (T, S), row by row.
 * @param {number} queries @param {number} keys
 * @param {MapSelection} selection With a selection, only its lines, and thinner ones too.
 */
export function linesToDraw(weights, queries, keys, selection) {
  const smallest = selection ? SELECTED : AT_REST;
  const lines = visibleLines({ weights, queries, keys, selected: [0], smallest, best: 0 });
  return lines.filter(([, t, s]) => !selection || selection.query === t || selection.key === s);
}

/** A line from the top chip to the bottom chip; `box` is the picture around both. */
function lineBetween(top, bottom, box, weight) {
  return el("line", {
    x1: top.left + top.width / 2 - box.left, y1: top.bottom - box.top + 1,
    x2: bottom.left + bottom.width / 2 - box.left, y2: bottom.top - box.top - 1,
    "stroke-width": (0.8 + 3.2 * weight).toFixed(2), "stroke-opacity": (0.75 + 0.25 * weight).toFixed(2),
  });
}

export const wordLines = component(() => {
  // home: where the chips are
  let data, weights, selection = /** @type {MapSelection} */ (null), home = /** @type {any} */ (null);
  const chipsOnPage = () => document.querySelector(".hl-looks");
  const chip = (row, i) => home?.querySelector(`.hl-row[data-row=${row}] [data-i="${i}"]`);
  const queryChip = (t) => chip(data.query_row, t + data.query_from);
  const keyChip = (s) => chip(data.key_row, s + data.key_from);

  function drawLines(lines) {
    home.querySelector(":scope > svg")?.remove();
    const wrapped = [...home.querySelectorAll(".hl-chips")].some((row) => row.clientHeight > ONE_ROW);
    if (data.query_row === data.key_row || (wrapped && !selection)) return;
    const box = home.getBoundingClientRect(), holder = document.createElement("div");
    draw(holder, [el("svg", { width: box.width, height: box.height, "aria-hidden": "true" },
      lines.flatMap(([weight, t, s]) => {
      const [from, to] = [keyChip(s), queryChip(t)].map((one) => one?.getBoundingClientRect());
      return from && to ? [lineBetween(from, to, box, weight)] : [];
    }))]);
    home.append(holder.firstChild);
  }

  /** Tokens whose weights are not a number have no lines. */
  function markBroken() {
    for (let t = 0; t < data.queries; t++) {
      const row = weights.subarray(t * data.keys, (t + 1) * data.keys);
      const broken = row.some((weight) => !Number.isFinite(weight) && weight !== -Infinity);
      queryChip(t)?.classList.toggle("hl-broken", broken);
      if (broken) queryChip(t)?.setAttribute("aria-description", say("not a number"));
      else queryChip(t)?.removeAttribute("aria-description");
    }
  }

  function highlightChips(lines) {
    for (const one of home.querySelectorAll(".hl-looked, .hl-asks")) {
      one.classList.remove("hl-looked", "hl-asks");
      one.style.removeProperty("--hl-weight");
    }
    if (!selection) return;
    const ofQuery = selection.query !== undefined;
    const selected = ofQuery ? queryChip(selection.query) : keyChip(selection.key);
    selected?.classList.add("hl-asks");
    for (const [weight, t, s] of lines) {
      const other = ofQuery ? keyChip(s) : queryChip(t);
      if (other === selected) continue;
      other?.classList.add("hl-looked");
      other?.style.setProperty("--hl-weight", `${Math.round(15 + 40 * weight)}%`);
    }
  }

  function redraw() {
    if (!home) return;
    const lines = linesToDraw(weights, data.queries, data.keys, selection);
    markBroken();
    highlightChips(lines);
    drawLines(lines);
  }

  /** Leave the chips as they were: the next page may keep them. */
  function forget() {
    selection = null;
    if (!home) return;
    highlightChips([]);
    home.querySelector(":scope > svg")?.remove();
    delete home.dataset.title;
  }

  /** Let the large map frame the row or the column of the selected token. */
  function frameInMap() {
    document.dispatchEvent(new CustomEvent("headlight-mark", { detail: data.in_map ? selection : null }));
  }

  /** @param {MapSelection} next */
  function select(next, framed = true) {
    if (JSON.stringify(next) === JSON.stringify(selection)) return;
    selection = next;
    redraw();
    if (framed) frameInMap();
  }

  const clear = () => select(null);

  function pointed(event) {
    const one = event.target.closest?.(".hl-looks [data-i]");
    if (!one) return clear();
    const row = one.closest(".hl-row").dataset.row, i = Number(one.dataset.i);
    const [t, s] = [i - data.query_from, i - data.key_from];
    if (row === data.query_row && t >= 0 && t < data.queries) return select({ query: t });
    select(row === data.key_row && s >= 0 && s < data.keys ? { key: s } : null);
  }

  function update(next) {
    [data, weights, selection, home] = [next, decodeFloats(next.weights), null, null];
    findChips();
    frameInMap(); // the old frame is of another map
  }

  /** The chips may arrive later than these data, and new chips may replace them. */
  function findChips() {
    if (!data || (home && home === chipsOnPage())) return;
    home = chipsOnPage();
    sizes.disconnect();
    if (!home) return;
    home.dataset.title = data.title;
    const until = { signal: ended.signal }; // adding the same listener twice has no effect
    for (const type of ["pointerover", "focusin"]) home.addEventListener(type, pointed, until);
    for (const type of ["pointerleave", "focusout"]) home.addEventListener(type, clear, until);
    sizes.observe(home); // this draws at once
  }

  const ended = new AbortController(), sizes = new ResizeObserver(redraw);
  const stops = [
    onPageChange(findChips),
    onPage("headlight-cell", ({ detail }) => { if (data?.in_map) select(detail, false); }),
    () => document.fonts.removeEventListener("loadingdone", redraw),
    () => sizes.disconnect(),
    () => ended.abort(),
    forget,
  ];
  document.fonts.addEventListener("loadingdone", redraw); // chips move when their font arrives
  return { update, redraw, stop: () => { for (const stop of stops) stop(); } };
});
