// Lines between the token chips of a page: from each written token to the tokens that it attends to. Pointing at a chip
// highlights the row or column of the large map, and pointing at a cell of the map highlights its chips.
import { draw, el } from "./dom.js";
import { component } from "./mounting.js";
import { decodeFloats } from "./numbers.js";
import { onPage, onPageChange } from "./page_events.js";
import { say } from "./words.js";

const AT_REST = 0.2, SELECTED = 0.02; // the smallest weight with a line: without a selection, and of the selected token
const ONE_ROW = 44; // pixels: a higher row of chips has wrapped, and lines would cross words

/**
 * The selected token: a query (row) or a key (column), counted from 0.
 * @typedef {{ query?: number, key?: number } | null} Selection
 */

/**
 * The lines to draw, as [query, key, weight].
 * @param {Float32Array} weights (T, S), row by row.
 * @param {number} queries
 * @param {number} keys
 * @param {Selection} selection With a selection, only its lines, and thinner ones too.
 * @returns {[number, number, number][]}
 */
export function linesToDraw(weights, queries, keys, selection) {
  const smallest = selection ? SELECTED : AT_REST;
  /** @type {[number, number, number][]} */
  const lines = [];
  for (let t = 0; t < queries; t++)
    for (let s = 0; s < keys; s++) {
      const weight = weights[t * keys + s], included = !selection || selection.query === t || selection.key === s;
      if (included && weight >= smallest) lines.push([t, s, weight]);
    }
  return lines;
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
  let data, weights, selection = /** @type {Selection} */ (null), home = /** @type {any} */ (null);
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
      lines.flatMap(([t, s, weight]) => {
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
    for (const [t, s, weight] of lines) {
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

  /** @param {Selection} next */
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
