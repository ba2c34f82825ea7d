// Numbers and colours, as they come from a server or from the engine of this browser.

/**
 * Numbers from a server: little-endian float32 as base64. Numbers that were computed in this browser stay as they are.
 * @param {string | Float32Array} numbers
 * @returns {Float32Array}
 */
export function decodeFloats(numbers) {
  return typeof numbers === "string" ? new Float32Array(decodeBytes(numbers).buffer) : numbers;
}

/**
 * Bytes from a server as base64. Bytes of this browser stay as they are.
 * @param {string | Uint8Array} bytes
 * @returns {Uint8Array}
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

/**
 * A number within the indices of a list of this length.
 * @param {number} value
 * @param {number} length
 */
export function clamped(value, length) {
  return Math.min(Math.max(value, 0), length - 1);
}

/**
 * Make so many values.
 * @template T
 * @param {number} count
 * @param {(i: number) => T} make
 * @returns {T[]}
 */
export function times(count, make) {
  return Array.from({ length: count }, (_, i) => make(i));
}
