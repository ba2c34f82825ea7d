// The drawing of one attention map with its labels. The cell under the pointer or the arrow keys is framed, and its
// number is shown. A map is drawn once: when the pointer moves, one cell is looked up and one frame moves, however
// large the map is.
import { heightBelow } from "../streamlit/bridge.js";
import { announce, ARROWS, draw, el, find, singleTabStop } from "./dom.js";
import { availableWidth, component, zoomOf } from "./mounting.js";
import { clamped, colourAt, dataUrl, decodeBytes, decodeFloats, palette, SIGNED, times, WEIGHTS } from "./numbers.js";
import { onPage } from "./page_events.js";
import { headName, isolated, letters, say, shortened, spoken } from "./words.js";

const CELL = [15, 38], HIGHEST = 26; // pixels: the width of a cell, and its height if it is free
// pixels of a cell in a map with many columns, where not every key has a label: the least, and in a map that scrolls
const NARROWEST = 7, EASY = 10;
const WIDEST = 80, TALLEST = 54; // pixels of a cell in a map of a given height
const LENGTHS = [16, 12, 8]; // letters of a label: fewer where the map would scroll otherwise
const UPRIGHT = 18, SLANTED_FROM = 22; // pixels of an upright label; cell width for slanted labels
const LEGEND = 24; // pixels below a map with a cell that is not a number
const BAR = 12, STOPS = 32, LOW = 110; // pixels and steps of the colour bar; a lower one has fewer numbers
const DIGIT = 8, BESIDE = 48; // pixels of a digit beside the bar; of the bar with its margins and its unit

/**
 * The narrowest that a map can be, in pixels.
 * @param {string[]} queries @param {number} columns @param {{ bar?: boolean }} [options] Whether it has a colour bar.
 */
export const leastWidth = (queries, columns, { bar = false } = {}) => (
  labelWidth(queries) + 26 + EASY * columns + (bar ? BESIDE + 5 * DIGIT : 0)
);

const labelWidth = (labels, most = LENGTHS[0]) => Math.min(150, 12 + 8 * Math.max(
  ...labels.map((label) => Math.min(letters(label), most))
));

/** Whether a label is one Chinese or Korean letter, which fits into any column without a turn. */
const isSquare = (label) => letters(label) === 2 && [...label].length === 1;

/**
 * The sizes of a map in pixels. Its labels are as long as it can show without scrolling.
 * @param {MapPicture} map
 * @param {number} available The width for the whole picture.
 */
export function mapLayout(map, available) {
  const layouts = LENGTHS.map((most) => layoutWith(map, available, most));
  return layouts.find(({ right, beside }) => right + beside < available + 1) ?? layouts[0];
}

/** @param {MapPicture} map @param {number} available @param {number} most Letters of a label. */
function layoutWith(map, available, most) {
  const rows = map.queries.length, columns = map.keys.length;
  const ticks = map.bar ? DIGIT * Math.max(...map.bar.ticks.map(([, text]) => text.length)) : 0;
  const left = labelWidth(map.queries, most) + 22, beside = map.bar ? BESIDE + ticks : 8;
  const square = 2 * map.keys.filter(isSquare).length > columns;
  const fitting = Math.min(map.height ? WIDEST : CELL[1], (available - left - beside) / columns);
  const cell = fitting < NARROWEST ? EASY : fitting;
  const upright = cell < SLANTED_FROM; // slanted labels would overlap
  const below = labelWidth(map.keys, most) * (upright ? 1 : 0.75) + 24;
  const free = map.height ? Math.min(TALLEST, (map.height - below - 8) / rows) : Math.min(HIGHEST, cell);
  const forTitle = (7 * letters(map.query_title) - below) / rows; // a few rows would cut their own title
  const high = Math.max(CELL[0], Math.min(TALLEST, forTitle), free);
  const bottom = rows * high, right = left + columns * cell;
  // of the labels of the keys, those that fit
  const every = upright ? Math.ceil((square ? CELL[0] : UPRIGHT) / cell) : 1;
  return { left, right, bottom, below, beside, ticks, cell, high, upright, square, every, most };
}

/** @typedef {ReturnType<typeof mapLayout>} Layout */

/** Where a cell is in the picture. @param {Layout} layout @param {Cell} cell */
export function cellBox({ left, cell, high }, [t, s]) {
  return { x: left + s * cell, y: t * high, width: cell - 1, height: high - 1 };
}

/** What stands in place of a number that cannot be drawn, or an empty text. @param {number} number */
export function withoutNumber(number) {
  if (Number.isFinite(number)) return "";
  return number === -Infinity ? say("masked: weight exactly 0") : say("not a number");
}

/** @param {MapPicture} map @param {Layout} layout */
function cellElements(map, layout) {
  const position = map.position ?? map.weight, { scale, masked, broken } = map.colours;
  const colour = (t, s) => (
    Number.isFinite(map.weight(t, s)) ? colourAt(scale, position(t, s)) : map.weight(t, s) === -Infinity ? masked
      : broken
  );
  return map.queries.flatMap((_, t) => map.keys.map((_, s) => el("rect", {
    ...cellBox(layout, [t, s]), "data-cell": `${t},${s}`, fill: colour(t, s),
  })));
}

/** @param {MapPicture} map */
function isBroken({ queries, keys, weight }) {
  return queries.some((_, t) => keys.some((_, s) => !Number.isFinite(weight(t, s)) && weight(t, s) !== -Infinity));
}

/** The legend of the cells that are not a number. @param {MapPicture} map @param {Layout} layout */
function legend({ colours }, { left, bottom, below }) {
  const y = bottom + below + 10;
  return el("g", { class: "legend" }, [
    el("rect", { x: left, y, width: 12, height: 12, fill: colours.broken }),
    el("text", { x: left + 18, y: y + 11 }, say("not a number")),
  ]);
}

/** @param {MapPicture} map @param {Layout} layout */
function queryLabels(map, { left, bottom, below, high, most }) {
  // keeps a long title whole
  const middle = Math.max(bottom / 2, Math.min(4 * letters(map.query_title), (bottom + below) / 2));
  return el("g", { class: "stays" }, [
    paper(0, left - 2, bottom),
    ...map.queries.map((query, t) => el("text", {
      x: left - 6, y: (t + 0.5) * high + 5, "text-anchor": "end", lang: map.languages.query || false,
    }, isolated(shortened(query, most)))),
    el("text", { x: 14, y: middle, "text-anchor": "middle", transform: `rotate(-90 14 ${middle})` }, map.query_title),
  ]);
}

/** What lies behind labels that stay in view, so that no cell shines through. */
const paper = (x, width, height) => el("rect", { x, y: 0, width, height, fill: "var(--st-background-color)" });

/** @param {MapPicture} map @param {Layout} layout */
function keyLabels(map, { left, right, bottom, below, cell, upright, square, every, most }) {
  const columns = map.keys.filter((_, s) => s % every === 0).map((key, i) => {
    const x = left + (i * every + 0.5) * cell, y = bottom + 14;
    if (square && isSquare(key))
      return el("text", { x, y: y + 4, "text-anchor": "middle", lang: map.languages.key || false }, key);
    return el("text", {
      x: upright ? x + 5 : x, y, "text-anchor": "end", transform: `rotate(${upright ? -90 : -45} ${x} ${y})`,
      lang: map.languages.key || false,
    }, isolated(shortened(key, most)));
  });
  return [...columns, el("text", { x: (left + right) / 2, y: bottom + below, "text-anchor": "middle" }, map.key_title)];
}

/** @param {MapPicture} map @param {Layout} layout */
function colourBar({ bar, colours }, { right, bottom, beside, ticks }) {
  if (!bar) return [];
  const x = right + 10, step = bottom / STOPS, every = bottom < LOW ? 2 : 1;
  const title = [x + BAR + ticks + 12, bottom / 2]; // beside the longest number
  return [el("g", { class: "stays bar" }, [
    paper(right, beside, bottom),
    ...times(STOPS, (i) => el("rect", {
      x, y: i * step, width: BAR, height: step + 0.5, fill: colourAt(colours.scale, 1 - (i + 0.5) / STOPS),
    })),
    ...bar.ticks.filter((_, i) => i % every === 0)
      .map(([share, text]) => el("text", { x: x + BAR + 4, y: Math.max(13, (1 - share) * bottom) }, text)),
    el(
      "text", { x: title[0], y: title[1], "text-anchor": "middle", transform: `rotate(90 ${title.join(" ")})` },
      bar.unit,
    ),
  ])];
}

/**
 * A map in the element `home`.
 * @param {any} home
 * @param {(sentence: string) => void} showReadout Called with the description of the cell that is pointed at.
 */
export function mapDrawing(home, showReadout) {
  let map = /** @type {MapPicture} */ (/** @type {unknown} */ (null));
  let layout = /** @type {Layout} */ (/** @type {unknown} */ (null));
  let at = /** @type {Cell | null} */ (null); // the cell that is pointed at
  const report = (detail) => home.dispatchEvent(new CustomEvent(
    "headlight-cell", { bubbles: true, composed: true, detail }
  ));

  /** @param {MapPicture} next */
  function show(next) {
    if (map && (next.queries.length !== map.queries.length || next.keys.length !== map.keys.length)) at = null;
    map = next;
    redraw();
  }

  function redraw() {
    layout = mapLayout(map, availableWidth(home));
    const { right, bottom, below, beside } = layout, broken = isBroken(map);
    draw(home, [el("svg", {
      width: right + (map.bar ? beside : 4), height: bottom + below + 8 + (broken ? LEGEND : 0), tabindex: 0,
        role: "group", class: "map",
      "data-title": map.title, onkeydown: walk,
      "aria-label": say("{picture}. Rows are queries, columns are keys. Arrow keys move from cell to cell.", {
        picture: map.label.replace(/[.。]$/, ""),
      }),
    }, [
      el("g", {}, cellElements(map, layout)),
      el("g", {}, [
        el("rect", { class: "pointed", fill: "none" }), el("rect", { class: "pointed marked", fill: "none" }),
      ]),
      queryLabels(map, layout),
      ...colourBar(map, layout),
      el("g", {}, keyLabels(map, layout)), // a slanted label reaches below the labels of the queries
      ...(broken ? [legend(map, layout)] : []),
    ])]);
    keepInView();
    point(at);
    mark(null);
  }

  /**
   * The labels of the queries and the colour bar stay in view while the map scrolls, if they leave it half of the
   * width.
   */
  function keepInView() {
    const { left, right, beside } = layout, wide = availableWidth(home), scrolled = home.scrollLeft / zoomOf(home);
    for (const part of home.querySelectorAll(".stays")) {
      const isBar = part.matches(".bar"), fits = 2 * (left + (isBar ? beside : 0)) < wide;
      part.style.translate = fits ? `${scrolled - (isBar ? Math.max(0, right + beside - wide) : 0)}px` : "";
    }
  }

  /** Put a frame around a box, or hide the frame. */
  function frame(selector, box) {
    const element = find(home, selector);
    element.style.display = box ? "" : "none";
    for (const [name, value] of Object.entries(box ?? {})) element.setAttribute(name, value);
  }

  /** Frame a whole row or column. @param {MapSelection} line */
  function mark(line) {
    if (!line) return frame(".marked", null);
    const first = cellBox(layout, [line.query ?? 0, line.key ?? 0]);
    const last = cellBox(layout, [line.query ?? map.queries.length - 1, line.key ?? map.keys.length - 1]);
    frame(".marked", {
      x: first.x, y: first.y, width: last.x + last.width - first.x, height: last.y + last.height - first.y,
    });
  }

  function walk(event) {
    if (at && (event.key === "Enter" || event.key === " "))
      find(home, `[data-cell="${at}"]`).dispatchEvent(new MouseEvent("click", { bubbles: true, composed: true }));
    const direction = ARROWS[event.key];
    if (!direction) return;
    event.preventDefault(); // the key must not scroll the page
    event.stopPropagation(); // nor go to another step
    const [right, down] = direction;
    /** @type {Cell} */
    const next = at ? [clamped(at[0] + down, map.queries.length), clamped(at[1] + right, map.keys.length)] : [0, 0];
    point(next);
    announce(spoken(factsOf(next)));
  }

  function factsOf([t, s]) {
    if (map.describe) return [map.describe(t, s)];
    const number = withoutNumber(map.weight(t, s))
      || say("attention weight: {number}", { number: map.weight(t, s).toFixed(6) });
    return [
      say("query: {token}", { token: isolated(map.queries[t]) }), say("key: {token}", { token: isolated(map.keys[s]) }),
      number
    ];
  }

  function point(cell) {
    at = cell;
    frame(".pointed", cell && cellBox(layout, cell));
    showReadout(readout());
  }

  function readout() {
    if (!at) return say("Point at a cell to see its number.");
    const [t, s] = at;
    if (map.describe) return map.describe(t, s);
    const number = withoutNumber(map.weight(t, s)) || map.weight(t, s).toFixed(6);
    return `${isolated(map.queries[t])} → ${isolated(map.keys[s])}: ${number}`;
  }

  home.addEventListener("pointerover", ({ target }) => {
    const cell = target.closest("[data-cell]");
    if (!cell) return;
    const [t, s] = cell.dataset.cell.split(",").map(Number);
    point([t, s]);
    report({ query: t });
  });
  home.addEventListener("scroll", keepInView);
  home.addEventListener("pointerleave", () => report(null));
  return { show, redraw, mark };
}

// One attention map, large. Pointing at a cell highlights its tokens above the map, and pointing at a token its row or
// column in the map.

// pixels of the page below the picture; powers of ten on a logarithmic scale, quarters on another
const BELOW = 60, DECADES = 4;

/**
 * Where a weight is on the colour scale, from 0 to 1.
 * @param {number} share The weight divided by the largest one.
 * @param {boolean} logarithmic
 */
export function scalePosition(share, logarithmic) {
  return logarithmic && Number.isFinite(share) ? 1 + Math.log10(Math.max(share, 10 ** -DECADES)) / DECADES : share;
}

/**
 * The numbers beside the colour bar: where each is on it, and its text.
 * @param {number} largest @param {boolean} logarithmic
 * @param {boolean} [signed] The scale begins at minus the largest number.
 * @returns {[number, string][]}
 */
function scaleTicks(largest, logarithmic, signed = false) {
  const shares = times(DECADES + 1, (i) => (logarithmic ? 10 ** -i : i / DECADES));
  return shares.map((share) => [
    scalePosition(share, logarithmic), String(Number(((signed ? 2 * share - 1 : share) * largest).toPrecision(2))),
  ]);
}

export const attentionMap = component((root) => {
  let data = /** @type {any} */ (null), weights, report;
  let map = /** @type {ReturnType<typeof mapDrawing> | null} */ (null);

  function update(next, setTriggerValue) {
    [data, weights, report] = [next, decodeFloats(next.weights), setTriggerValue];
    redraw();
  }

  const weight = (t, s) => weights[t * data.keys.length + s];

  function describe(t, s) {
    const sign = data.signed && weight(t, s) > 0 ? "+" : "";
    const number = withoutNumber(weight(t, s))
      || say("{name}: {value}", { name: data.unit, value: sign + weight(t, s).toFixed(6) });
    const cell = say("query: {query}; key: {key}; {number}", {
      query: data.notes[t] ?? isolated(data.queries[t]), key: isolated(data.keys[s]), number,
    });
    return data.action ? `${cell}; ${data.action}` : cell;
  }

  /** Report the cell that was pressed, if cells can be chosen. */
  function choose({ target }) {
    const cell = target.dataset.cell?.split(",").map(Number);
    if (data.choosable && cell && weight(cell[0], cell[1]) !== -Infinity) report("cell", cell);
  }

  /** The key chooses a cell, and must not scroll. */
  function keepPlace(event) {
    if (data.choosable && event.key === " ") event.preventDefault();
  }

  function redraw() {
    const parts = [el("output", { "aria-live": "off", class: "says" }), el("div", {
      class: `scroll picture${data.choosable ? " choosable" : ""}`, onclick: choose, onkeydown: keepPlace,
    })];
    // Beside other pictures the map itself ends on the first screen, so what is said about a cell stands below it.
    draw(root, data.least ? parts.reverse() : parts);
    const readout = find(root, ".says"), picture = find(root, ".picture");
    map ??= mapDrawing(picture, (text) => { readout.textContent = text; });
    map.show({
      label: data.alt, weight, describe, colours: data.signed ? SIGNED : WEIGHTS,
      position: (t, s) => {
        const share = weight(t, s) / data.largest;
        return data.signed ? (share + 1) / 2 : scalePosition(share, data.logarithmic);
      },
      ...(data.unit && {
        height: Math.max(data.least ?? 0, heightBelow(picture) / zoomOf(picture) - BELOW),
        bar: { unit: data.unit, ticks: scaleTicks(data.largest, data.logarithmic, data.signed) },
      }),
      ...data, // a mask has colours and descriptions of its own
    });
  }

  const stop = onPage("headlight-mark", ({ detail }) => map?.mark(detail));
  return { update, redraw, stop, picture: () => root.querySelector("svg.map") };
});

// All heads of one kind of attention as one image, with a button over each head.

// pixels: of a row of heads, of the line of numbers below them, of a number
const GAP = 0.08; // between two tiles, as a share of a tile
const LOWEST_ROW = 44, LABELS = 30, LINE = 16;

/**
 * The grid: a row for each layer, a column for each head.
 * @param {object} grid @param {number} grid.layers @param {number} grid.heads
 * @param {string} grid.picture The image, as a data URL.
 * @param {(layer: number, head: number) => boolean} grid.isChosen
 * @param {(layer: number, head: number) => void} grid.open Called when the button of a head is pressed.
 * @returns {Described}
 */
export function gridOfHeads({ layers, heads, picture, isChosen, open }) {
  const at = (area) => `grid-area:${area}`;
  const buttons = times(layers * heads, (i) => {
    const layer = Math.floor(i / heads), head = i % heads, chosen = isChosen(layer, head), name = headName(layer, head);
    return el("button", {
      type: "button", class: `over${chosen ? " lit" : ""}`, "aria-pressed": String(chosen), "aria-label": name,
        title: name,
      onclick: () => open(layer, head), style: at(`${layer + 1} / ${head + 2}`),
    }, "");
  });
  const name = (text, area) => el("span", { class: "quiet name", style: at(area) }, text);
  const numbers = (count, area) => times(count, (i) => name(String(i + 1), area(i)));
  return el("div", { class: "sheet",
    style: `grid-template:repeat(${layers}, minmax(0, 1fr)) auto / auto repeat(${heads}, minmax(0, 1fr))` }, [
    el("img", { src: picture, alt: "", style: at(`1 / 2 / ${layers + 1} / ${heads + 2}`) }),
    ...buttons,
    name(say("layer {layer}", { layer: 1 }), "1 / 1"),
    ...numbers(layers, (i) => `${i + 1} / 1`).slice(1),
    name(say("head"), `${layers + 1} / 1`), // a column may be too narrow for "head 1"
    ...numbers(heads, (i) => `${layers + 1} / ${i + 2}`),
  ]);
}

/** The legend of the colour that stands for "not a number". */
export function brokenLegend() {
  return el("div", { class: "quiet" }, [
    el("span", { style: `color:${WEIGHTS.broken}`, "aria-hidden": "true" }, "■ "), el("span", {}, say("not a number")),
  ]);
}

/**
 * The height of a grid whose cells are squares, if it is not higher than allowed. Each row has the height of its
 * number.
 * @param {{ layers: number, heads: number, rows: number, columns: number }} grid Each head has rows × columns cells.
 * @param {number} width Pixels.
 * @param {number} highest Pixels.
 */
export function gridHeight({ layers, heads, rows, columns }, width, highest) {
  const square = ((width / heads) * rows) / columns;
  return Math.max(LINE * layers, Math.min(highest, Math.max(LOWEST_ROW, square) * layers)) + LABELS;
}

/**
 * Give a grid its height, after it has its width.
 * @param {any} element @param {{ layers: number, heads: number, rows: number, columns: number }} grid
 * @param {number} highest Pixels.
 */
export function fitGrid(element, grid, highest) {
  element.style.height = `${gridHeight(grid, element.clientWidth, highest)}px`;
}

/** @typedef {{ levels: Uint8Array | string, layers: number, heads: number, rows: number, columns: number }} Tiles */

/**
 * The picture of all heads: a row of tiles for each layer, with a clear gap below and right of each tile.
 * @param {Tiles} tiles Its levels are (L, H, rows, columns), as bytes or as their base64; see `levelOf`.
 * @returns {import("./numbers.js").Pixels}
 */
export function headPixels({ levels, layers, heads, rows, columns }) {
  const bytes = decodeBytes(levels), colours = palette(WEIGHTS);
  const below = Math.max(1, Math.round(rows * GAP)), beside = Math.max(1, Math.round(columns * GAP));
  const width = heads * (columns + beside), height = layers * (rows + below), pixels = new Uint32Array(width * height);
  for (let i = 0; i < bytes.length; i++) {
    const s = i % columns, t = Math.floor(i / columns) % rows, tile = Math.floor(i / (columns * rows));
    const x = (tile % heads) * (columns + beside) + s, y = Math.floor(tile / heads) * (rows + below) + t;
    pixels[y * width + x] = colours[bytes[i]];
  }
  return { width, height, data: new Uint8ClampedArray(pixels.buffer) };
}

// Every layer and head of one kind of attention, small. The page opens the one that is pressed.

const LOWEST = 200, BELOW_GRID = 90; // pixels: of the picture, and of the page below it

export const headGrid = component((root) => {
  let data = /** @type {any} */ (null), picture = "", report;

  function update(next, setTriggerValue) {
    if (next.levels !== data?.levels) picture = dataUrl(headPixels(next));
    [data, report] = [next, setTriggerValue];
    redraw();
  }

  function redraw() {
    const [layer, head] = data.chosen;
    draw(root, [el("div", { role: "figure", "aria-label": data.alt, "data-title": data.title }, [gridOfHeads({
      ...data, picture,
      isChosen: (l, h) => l === layer && (head === null || h === head),
      open: (l, h) => report("open", { layer: l, head: h }),
    }), ...(data.broken ? [brokenLegend()] : [])])]);
    fitGrid(find(root, ".sheet"), data, Math.max(LOWEST, heightBelow(root) / zoomOf(root) - BELOW_GRID));
    singleTabStop(root, ".over");
  }

  return { update, redraw, picture: () => root.firstChild };
});
