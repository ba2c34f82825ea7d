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
