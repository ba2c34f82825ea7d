// The matrices of a model. Their numbers lie side by side in one memory, where their products with vectors are fast.
import { startKernel } from "./kernel.js";
import { tensor } from "./tensor.js";

/** @typedef {Float32Array | Uint16Array} Numbers In single precision, or bf16: the upper halves of such numbers. */

const ROWS = 16; // vectors that are multiplied in one call
const SIDE = 8; // of a tile: rows, and numbers of each row, that are side by side in the memory
const filled = (length) => Math.ceil(length / SIDE) * SIDE;

/** bf16 → single precision. @param {Uint16Array} bits */
export function widened(bits) {
  const numbers = new Uint32Array(bits.length);
  for (let i = 0; i < bits.length; i++) numbers[i] = bits[i] << 16;
  return new Float32Array(numbers.buffer);
}

/**
 * A weight (outputs, inputs), filled with zeros to whole tiles. The tiles of eight rows follow each other, so that a
 * product reads the memory from its start to its end. A matrix has no numbers before `MatrixMemory` gives it a place.
 */
export class Matrix {
  /** @param {boolean} half Its numbers stay bf16. */
  constructor(outputs, inputs, half) {
    this.shape = [outputs, inputs];
    this.half = half;
    this.width = filled(inputs);
    this.height = filled(outputs);
    this.bytes = this.width * this.height * (half ? 2 : 4);
    this.memory = /** @type {MatrixMemory | null} */ (null);
    this.data = /** @type {Numbers} */ (new Float32Array(0));
  }

  /** The place of a number of `data`. @param {number} row @param {number} column */
  at(row, column) {
    return (row - (row % SIDE)) * this.width + (column - (column % SIDE) + (row % SIDE)) * SIDE + (column % SIDE);
  }

  /**
   * Take its numbers from rows of a stored matrix.
   * @param {Numbers} stored Rows from row `first`; bf16 if the matrix is, otherwise in single precision.
   * @param {number} first @param {number} length Of a row. @param {import("./safetensors.js").Part} part
   */
  fill(stored, first, length, { rows, transposed }) {
    const [outputs] = this.shape, { data } = this, count = stored.length / length, whole = !rows && !transposed;
    for (let o = whole ? first : 0; o < (whole ? first + count : outputs); o++) {
      const row = rows ? rows(o) : o, from = (row - first) * length;
      if (transposed) for (let i = 0; i < count; i++) data[this.at(o, first + i)] = stored[i * length + row];
      else if (from >= 0 && from < stored.length)
        for (let i = 0, to = this.at(o, 0); i < length; to += SIDE * (SIDE - 1))
          for (const end = Math.min(i + SIDE, length); i < end; i++, to++) data[to] = stored[from + i];
    }
  }

  /** Its rows with these numbers: (T, I). @param {number[]} ids */
  rows(ids) {
    const [, inputs] = this.shape, found = tensor([ids.length, inputs]);
    for (const [t, id] of ids.entries()) {
      const row = this.data.slice(0, inputs);
      for (let i = 0; i < inputs; i++) row[i] = this.data[this.at(id, i)];
      found.data.set(row instanceof Uint16Array ? widened(row) : row, t * inputs);
    }
    return found;
  }

  /** x Wᵀ for each row. @param {Float32Array} x (T, I) @param {Float32Array} y (T, O), for the result */
  multiply(x, y) {
    const [outputs, inputs] = this.shape, { width, height, data: { byteOffset } } = this;
    const { vectors, products, kernel } = /** @type {MatrixMemory} */ (this.memory);
    for (let from = 0, to = 0; from < x.length;) {
      const rows = Math.min(ROWS, (x.length - from) / inputs);
      for (let r = 0; r < rows; r++, from += inputs) {
        vectors.set(x.subarray(from, from + inputs), r * width);
        vectors.fill(0, r * width + inputs, (r + 1) * width);
      }
      if (kernel) kernel.products[this.half ? "h" : "s"](byteOffset, 0, products.byteOffset, width, height, rows);
      else plainProducts(this, vectors, products, rows);
      for (let r = 0; r < rows; r++, to += outputs) y.set(products.subarray(r * height, r * height + outputs), to);
    }
  }
}

/** The memory of the matrices of one model, with room for the vectors of a product and for its result. */
export class MatrixMemory {
  /** @param {Matrix[]} matrices */
  constructor(matrices) {
    const { width, height, bytes } = MatrixMemory.sizes(matrices);
    this.kernel = startKernel(bytes);
    const buffer = this.kernel?.buffer ?? new ArrayBuffer(bytes);
    this.vectors = new Float32Array(buffer, 0, ROWS * width);
    this.products = new Float32Array(buffer, this.vectors.byteLength, ROWS * height);
    let at = this.vectors.byteLength + this.products.byteLength;
    for (const matrix of matrices) {
      const length = matrix.width * matrix.height;
      matrix.memory = this;
      matrix.data = matrix.half ? new Uint16Array(buffer, at, length) : new Float32Array(buffer, at, length);
      at += matrix.bytes;
    }
  }

  /** The longest row and column, and all bytes. @param {Matrix[]} matrices */
  static sizes(matrices) {
    let width = 0, height = 0, bytes = 0;
    for (const matrix of matrices) {
      width = Math.max(width, matrix.width);
      height = Math.max(height, matrix.height);
      bytes += matrix.bytes;
    }
    return { width, height, bytes: bytes + 4 * ROWS * (width + height) };
  }
}

/**
 * What the kernel does, in plain JavaScript.
 * @param {Matrix} matrix @param {Float32Array} vectors (T, width)
 * @param {Float32Array} products (T, height), for the result @param {number} rows T
 */
export function plainProducts({ data, width, height }, vectors, products, rows) {
  for (let o = 0; o < height; o += SIDE) {
    const eight = data.subarray(o * width, (o + SIDE) * width);
    const numbers = eight instanceof Uint16Array ? widened(eight) : eight;
    for (let r = 0; r < rows; r++) eightProducts(numbers, vectors, r * width, width, products, r * height + o);
  }
}

/**
 * The products of eight rows with one vector. Eight sums that do not wait for each other keep the processor busy, and
 * each number of the vector is read only once.
 */
function eightProducts(tiles, x, from, width, y, to) {
  let a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0;
  for (let start = 0; start < width; start += SIDE)
    for (let i = from + start, j = start * SIDE; i < from + start + SIDE; i++, j++) {
      const v = x[i];
      a += tiles[j] * v;
      b += tiles[j + 8] * v;
      c += tiles[j + 16] * v;
      d += tiles[j + 24] * v;
      e += tiles[j + 32] * v;
      f += tiles[j + 40] * v;
      g += tiles[j + 48] * v;
      h += tiles[j + 56] * v;
    }
  y.set([a, b, c, d, e, f, g, h], to);
}
