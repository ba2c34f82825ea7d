// Numbers and colours, as they come from a server or from the engine of this browser.

/**
 * Numbers from a server: little-endian float32 as base64. Numbers that were computed in this browser stay as they are.
 * @param {string | Float32Array} numbers @returns {Float32Array}
 */
export function decodeFloats(numbers) {
  return typeof numbers === "string" ? new Float32Array(decodeBytes(numbers).buffer) : numbers;
}

/**
 * Bytes from a server as base64. Bytes of this browser stay as they are.
 * @param {string | Uint8Array} bytes @returns {Uint8Array}
 */
export function decodeBytes(bytes) {
  return typeof bytes === "string" ? Uint8Array.from(atob(bytes), (character) => character.charCodeAt(0)) : bytes;
}

/**
 * The colour of a number from 0 to 1 on a colour scale.
 * @param {string[]} stops Colours such as "#440154", at equal distances.
 * @param {number} share Smaller numbers count as 0, larger ones as 1.
 * @returns {string}
 */
export function colourAt(stops, share) {
  const position = Math.min(Math.max(share, 0), 1) * (stops.length - 1);
  const low = Math.min(Math.floor(position), stops.length - 2), rest = position - low;
  const channel = (hex, i) => Number.parseInt(hex.slice(1 + 2 * i, 3 + 2 * i), 16);
  const mixed = [0, 1, 2].map((i) => Math.round(
    channel(stops[low], i) * (1 - rest) + channel(stops[low + 1], i) * rest
  ));
  return `rgb(${mixed})`;
}

/**
 * Black or white, the one that contrasts more with a colour such as "rgb(230,159,0)" (WCAG 2.2, relative luminance).
 * @param {string} colour
 */
export function inkOn(colour) {
  const linear = (share) => (share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4);
  const [red, green, blue] = (colour.match(/\d+/g) ?? []).map((channel) => linear(Number(channel) / 255));
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.179 ? "#000000" : "#ffffff"; // equal contrast at 0.179
}

/**
 * The mean of the numbers that are not masked, −∞; −∞ if all are. It is NaN if one of them is.
 * @param {number[]} numbers
 */
export function meanOf(numbers) {
  const known = numbers.filter((number) => number !== -Infinity);
  return known.length ? known.reduce((sum, number) => sum + number, 0) / known.length : -Infinity;
}

/** A number within the indices of a list of this length. @param {number} value @param {number} length */
export function clamped(value, length) {
  return Math.min(Math.max(value, 0), length - 1);
}

/** Make so many values. @template T @param {number} count @param {(i: number) => T} make @returns {T[]} */
export function times(count, make) {
  return Array.from({ length: count }, (_, i) => make(i));
}

// The colours of the pictures. `viz_app/figures/colours.py` has the same ones; tests compare both.

/**
 * Weights from 0 to the largest, at equal distances (Viridis), a cell that its query may not attend to, and one that is
 * not a number.
 */
export const WEIGHTS = {
  scale: ["#440154", "#482878", "#3e4989", "#31688e", "#26828e", "#1f9e89", "#35b779", "#6ece58", "#b5de2b", "#fde725"],
  masked: "#8c8c8c",
  broken: "#ff2fb3",
};

/** Signed numbers: blue below 0, white at 0, red above. */
export const SIGNED = {
  scale: [
    "#053061", "#2166ac", "#4393c3", "#92c5de", "#d1e5f0", "#f7f7f7", "#fddbc7", "#f4a582", "#d6604d", "#b2182b",
    "#67001f",
  ],
  masked: WEIGHTS.masked,
  broken: WEIGHTS.broken,
};

/** Lines of several heads, each with the ink that is legible on it (Okabe and Ito 2008). @type {[string, string][]} */
export const LINES = [
  ["#0072b2", "#ffffff"], ["#e69f00", "#000000"], ["#009e73", "#000000"], ["#cc79a7", "#000000"],
  ["#56b4e9", "#000000"], ["#d55e00", "#000000"], ["#f0e442", "#000000"], ["#999999", "#000000"],
];

// Many numbers as a picture, a pixel for each. A number travels as a level, a byte: 0 to 253 on a colour scale, 254 not
// a number, 255 masked.

/** @typedef {{ scale: string[], masked: string, broken: string }} Colours */
/**
 * @typedef {{ width: number, height: number, data: Uint8ClampedArray<ArrayBuffer> }} Pixels Four bytes for each pixel.
 */

const MASKED = 255;
export const BROKEN = 254;

/**
 * The level of a number from 0 to 1.
 * @param {number} share −∞ is masked. Smaller numbers count as 0, larger ones as 1.
 */
export function levelOf(share) {
  if (!Number.isFinite(share)) return share === -Infinity ? MASKED : BROKEN;
  return Math.round(Math.min(Math.max(share, 0), 1) * (BROKEN - 1));
}

/** The pixel of every level. @param {Colours} colours @returns {Uint32Array} */
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
 * @param {Uint8Array} levels @param {number} width @param {Colours} colours @returns {Pixels}
 */
export function pixelsOf(levels, width, colours) {
  const known = palette(colours), pixels = Uint32Array.from(levels, (level) => known[level]);
  return { width, height: levels.length / width, data: new Uint8ClampedArray(pixels.buffer) };
}

/** Pixels as a data URL. @param {Pixels} pixels */
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

/** A colour such as "#1b2530" from its channels, 0 to 255. @param {number[]} channels */
export function hex(channels) {
  return `#${channels.map((channel) => Math.round(channel).toString(16).padStart(2, "0")).join("")}`;
}
