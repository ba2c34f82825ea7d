// All heads of one kind of attention as one picture, a pixel for each weight.
import { WEIGHTS } from "./colours.js";
import { decodeBytes } from "./numbers.js";
import { dataUrl, palette } from "./pixels.js";

const GAP = 0.08; // between two tiles, as a share of a tile

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
