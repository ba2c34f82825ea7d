// All heads of one kind of attention as one image, with a button over each head.
import { WEIGHTS } from "./colours.js";
import { decodeBytes, times } from "./numbers.js";
import { el } from "./dom.js";
import { headName } from "./format.js";
import { dataUrl, palette } from "./pixels.js";
import { say } from "./words.js";

// pixels: of a row of heads, of the line of numbers below them, of a number
const GAP = 0.08; // between two tiles, as a share of a tile
const LOWEST_ROW = 44, LABELS = 30, LINE = 16;

/**
 * The grid: a row for each layer, a column for each head.
 * @param {object} grid
 * @param {number} grid.layers
 * @param {number} grid.heads
 * @param {string} grid.picture The image, as a data URL.
 * @param {(layer: number, head: number) => boolean} grid.isChosen
 * @param {(layer: number, head: number) => void} grid.open Called when the button of a head is pressed.
 * @returns {import("./dom.js").Described}
 */
export function gridOfHeads({ layers, heads, picture, isChosen, open }) {
  const at = (area) => `grid-area:${area}`;
  const buttons = times(layers * heads, (i) => {
    const [layer, head] = [Math.floor(i / heads), i % heads], chosen = isChosen(layer, head), name = headName(i, heads);
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
 * @param {any} element
 * @param {{ layers: number, heads: number, rows: number, columns: number }} grid
 * @param {number} highest Pixels.
 */
export function fitGrid(element, grid, highest) {
  element.style.height = `${gridHeight(grid, element.clientWidth, highest)}px`;
}

/** @typedef {{ levels: Uint8Array | string, layers: number, heads: number, rows: number, columns: number }} Tiles */

/**
 * The pixels of all heads: a row of tiles for each layer, with a clear gap below and on the right of each tile.
 * @param {Tiles} tiles Its levels are (L, H, rows, columns), as bytes or as their base64; see `pixels.js`.
 * @returns {import("./pixels.js").Pixels}
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

/**
 * The picture of all heads as a data URL.
 * @param {Tiles} tiles
 */
export function headPicture(tiles) {
  return dataUrl(headPixels(tiles));
}
