// The products of a matrix with vectors in WebAssembly, whose SIMD instructions work on four numbers at a time.
// `plainProducts` of matrix.js does the same in plain JavaScript. The code is assembled here from its instructions; the
// chapter "Binary Format" of the WebAssembly Core Specification lists them.

const I32 = 0x7f, V128 = 0x7b; // types
/** A number below 2 ** 13 in two bytes. */
const coded = (value) => [(value & 127) | 128, value >> 7];
const get = (local) => [0x20, local], set = (local) => [0x21, local], number = (value) => [0x41, coded(value)];
const plus = 0x6a, minus = 0x6b, times = 0x6c, shiftLeft = 0x74, differs = 0x47;
const load = (offset) => [0xfd, 0, 0, coded(offset)];
/** Four numbers of two bytes each, as the upper halves of numbers of four bytes. */
const loadHalves = (offset) => [0xfd, 4, 0, coded(offset), number(16), 0xfd, 0xab, 1];
const plusOne = 0x92, plusFour = [0xfd, 0xe4, 1], timesFour = [0xfd, 0xe6, 1];
const fourZeros = [0xfd, 12, Array(16).fill(0)];
const raise = (local, ...amount) => [get(local), amount, plus, set(local)];

/** Repeat instructions until the last one gives 0. */
const repeat = (...body) => [0x03, 0x40, body, 0x0d, 0, 0x0b];

/** Store the sum of the four numbers in a vector. */
const storeSum = (address, sum, offset) => [
  get(address), [0, 1, 2, 3].map((i) => [get(sum), 0xfd, 31, i]), plusOne, plusOne, plusOne, 0x38, 2, coded(offset),
];

/**
 * A function (w, x, y, width, height, rows): the addresses of a matrix (height, width) in tiles, of vectors
 * (rows, width) and of their products (rows, height). The width and the height are multiples of eight. The innermost
 * loop multiplies a tile with eight numbers of a vector.
 * @param {boolean} half The matrix is bf16. Its numbers are the upper halves of numbers in single precision.
 */
function productsOf(half) {
  const [w, x, y, width, height, rows, row, end, tile, q, last, out] = Array(12).keys();
  const [lower, upper, ...sums] = Array.from({ length: 10 }, (_, i) => 12 + i);
  const bytes = half ? 2 : 4, weights = (i) => [get(tile), half ? loadHalves(i * bytes) : load(i * bytes)];
  return [
    get(w), get(width), get(height), times, number(bytes), times, plus, set(end),
    repeat(
      get(x), set(q), get(y), set(out), get(rows), set(row),
      repeat(
        get(w), set(tile), get(q), get(width), number(2), shiftLeft, plus, set(last),
        sums.map((sum) => [fourZeros, set(sum)]),
        repeat(
          get(q), load(0), set(lower), get(q), load(16), set(upper),
          sums.map((sum, i) => [lower, upper].map((numbers, j) => [
            get(sum), get(numbers), weights(8 * i + 4 * j), timesFour, plusFour, set(sum),
          ])),
          raise(tile, number(64 * bytes)), raise(q, number(32)), get(q), get(last), differs,
        ),
        sums.map((sum, i) => storeSum(out, sum, 4 * i)),
        raise(out, get(height), number(2), shiftLeft), get(row), number(1), minus, set(row), get(row),
      ),
      raise(y, number(32)), get(tile), set(w), get(w), get(end), differs,
    ),
  ];
}

/** Bytes with their length before them. */
function sized(...parts) {
  const bytes = parts.flat(99);
  return [coded(bytes.length), bytes];
}

/** It takes a memory. It has the functions "s" for single precision, and "h" for bf16. */
function moduleBytes() {
  const type = [0x60, 6, Array(6).fill(I32), 0], memory = [0, 0, 2, 0, 0];
  const functions = [false, true].map((half) => sized(2, 6, I32, 10, V128, productsOf(half), 0x0b));
  const names = ["s", "h"].map((name, i) => [1, name.charCodeAt(0), 0, i]);
  const sections = [[1, sized(1, type)], [2, sized(1, memory)], [3, sized(2, 0, 0)], [7, sized(2, names)]];
  return Uint8Array.from([0, 97, 115, 109, 1, 0, 0, 0, sections, 10, sized(2, functions)].flat(99));
}

/** @type {WebAssembly.Module | undefined} */
let compiled;

/**
 * A memory and the functions that work in it; null where a browser has no WebAssembly or no SIMD.
 * @param {number} bytes
 */
export function startKernel(bytes) {
  try {
    compiled ??= new WebAssembly.Module(moduleBytes());
  } catch {
    return null;
  }
  const memory = new WebAssembly.Memory({ initial: Math.ceil(bytes / 65536) });
  const { exports } = new WebAssembly.Instance(compiled, { "": { "": memory } });
  return { buffer: memory.buffer, products: /** @type {any} */ (exports) };
}
