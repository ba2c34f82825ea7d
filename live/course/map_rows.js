// The rows of attention maps.
import { largestIndices } from "../engine/decoding/search.js";

/**
 * The weights of each query of one head: T rows of S.
 * @param {Tensor} maps (L, H, T, S)
 * @param {number} layer
 * @param {number} head
 */
export function mapRows({ data, shape: [, heads, T, S] }, layer, head) {
  const first = (layer * heads + head) * T;
  return Array.from({ length: T }, (_, t) => data.subarray((first + t) * S, (first + t + 1) * S));
}

/** The place of the largest number; the first one of several. @param {ArrayLike<number>} numbers */
export function largestAt(numbers) {
  return largestIndices(/** @type {Float32Array} */ (numbers), 1)[0];
}

/** @param {Iterable<number>} numbers */
export function sumOf(numbers) {
  let sum = 0;
  for (const one of numbers) sum += one;
  return sum;
}

/** @param {number[]} numbers */
export function averageOf(numbers) {
  return sumOf(numbers) / numbers.length;
}

/** @param {ArrayLike<number>} one @param {ArrayLike<number>} other */
export function largestDifference(one, other) {
  return Math.max(...Array.from(one, (number, i) => Math.abs(number - other[i])));
}
