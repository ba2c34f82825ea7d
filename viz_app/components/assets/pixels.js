// Many numbers as a picture, a pixel for each. A number travels as a level, a byte: 0 to 253 on a colour scale, 254 not
// a number, 255 masked.
import { colourAt } from "./numbers.js";

/** @typedef {{ scale: string[], masked: string, broken: string }} Colours */
/**
 * @typedef {{ width: number, height: number, data: Uint8ClampedArray<ArrayBuffer> }} Pixels Four bytes for each pixel.
 */

export const MASKED = 255;
export const BROKEN = 254;

/**
 * The level of a number from 0 to 1.
 * @param {number} share −∞ is masked. Smaller numbers count as 0, larger ones as 1.
 */
export function levelOf(share) {
  if (!Number.isFinite(share)) return share === -Infinity ? MASKED : BROKEN;
  return Math.round(Math.min(Math.max(share, 0), 1) * (BROKEN - 1));
}

/**
 * The pixel of every level.
 * @param {Colours} colours
 * @returns {Uint32Array}
 */
export function palette({ scale, masked, broken }) {
  const bytes = new Uint8Array(4 * (MASKED + 1)).fill(255);
  for (let level = 0; level <= MASKED; level++) {
    const flat = level === MASKED ? masked : broken;
    const colour = level < BROKEN ? colourAt(scale, level / (BROKEN - 1)) : colourAt([flat, flat], 0);
    bytes.set(colour.match(/\d+/g)?.map(Number) ?? [], 4 * level);
  }
  return new Uint32Array(bytes.buffer);
}

/**
 * Levels (height, width) as pixels.
 * @param {Uint8Array} levels
 * @param {number} width
 * @param {Colours} colours
 * @returns {Pixels}
 */
export function pixelsOf(levels, width, colours) {
  const known = palette(colours), pixels = Uint32Array.from(levels, (level) => known[level]);
  return { width, height: levels.length / width, data: new Uint8ClampedArray(pixels.buffer) };
}

/**
 * Pixels as a data URL.
 * @param {Pixels} pixels
 */
export function dataUrl({ width, height, data }) {
  const canvas = document.createElement("canvas");
  Object.assign(canvas, { width, height });
  canvas.getContext("2d")?.putImageData(new ImageData(data, width, height), 0, 0);
  return canvas.toDataURL();
}

/**
 * A block of pixels of one colour; `right` and `bottom` are the first pixels after it.
 * @typedef {{ colour: string, left: number, right: number, top: number, bottom: number }} Block
 */

/**
 * The blocks of a picture: runs of one colour in a row, joined with the same run in the rows below. Transparent pixels
 * are in no block.
 * @param {{ data: Uint8ClampedArray, width: number, height: number }} pixels Red, green, blue and opacity of each.
 * @returns {Block[]}
 */
export function blocksOf({ data, width, height }) {
  const words = new Uint32Array(data.buffer), blocks = [];
  let above = new Map();
  for (let y = 0; y < height; y++) {
    const row = new Map();
    for (let x = 0, end = 0; x < width; x = end) {
      const start = y * width, word = words[start + x];
      end = x + 1;
      while (end < width && words[start + end] === word) end++;
      const [red, green, blue, opacity] = data.subarray(4 * (start + x), 4 * (start + x) + 4);
      if (!opacity) continue;
      const name = `${x},${end},${word}`;
      const block = above.get(name) ?? { colour: hex([red, green, blue]), left: x, right: end, top: y, bottom: y };
      if (!above.has(name)) blocks.push(block);
      block.bottom = y + 1;
      row.set(name, block);
    }
    above = row;
  }
  return blocks;
}

/**
 * A colour such as "#1b2530" from its channels, 0 to 255.
 * @param {number[]} channels
 */
export function hex(channels) {
  return `#${channels.map((channel) => Math.round(channel).toString(16).padStart(2, "0")).join("")}`;
}
