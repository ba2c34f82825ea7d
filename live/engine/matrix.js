// The matrices of a model. Their numbers lie side by side in one memory, where their products with vectors are fast.
import { tensor } from "./tensor.js";

/** @typedef {Float32Array | Uint16Array} Numbers In single precision, or bf16: the upper halves of such numbers. */

const ROWS = 16; // vectors that are multiplied in one call
const EIGHT = 8; // a row, and the rows of a matrix, are filled with zeros to a multiple of eight
const filled = (length) => Math.ceil(length / EIGHT) * EIGHT;

/** bf16 → single precision. @param {Uint16Array} bits */
export function widened(bits) {
  const numbers = new Uint32Array(bits.length);
  for (let i = 0; i < bits.length; i++) numbers[i] = bits[i] << 16;
  return new Float32Array(numbers.buffer);
}

/** A weight (outputs, inputs). It has no numbers before `MatrixMemory` gives it a place. */
export class Matrix {
  /** @param {boolean} half Its numbers stay bf16. */
  constructor(outputs, inputs, half) {
    this.shape = [outputs, inputs];
    this.half = half;
    this.width = filled(inputs); // of a row in the memory
    this.height = filled(outputs);
    this.bytes = this.width * this.height * (half ? 2 : 4);
    this.at = 0; // byte in the memory
    this.memory = /** @type {MatrixMemory | null} */ (null);
    this.data = /** @type {Numbers} */ (new Float32Array(0));
  }

  /** Its rows with these numbers: (T, I). @param {number[]} ids */
  rows(ids) {
    const [, inputs] = this.shape, found = tensor([ids.length, inputs]);
    for (const [t, id] of ids.entries()) {
      const row = this.data.subarray(id * this.width, id * this.width + inputs);
      found.data.set(row instanceof Uint16Array ? widened(row) : row, t * inputs);
    }
    return found;
  }

  /** x Wᵀ for each row. @param {Float32Array} x (T, I) @param {Float32Array} y (T, O), for the result */
  multiply(x, y) {
    const [outputs, inputs] = this.shape, { vectors, products } = /** @type {MatrixMemory} */ (this.memory);
    for (let from = 0, to = 0; from < x.length;) {
      const rows = Math.min(ROWS, (x.length - from) / inputs);
      for (let r = 0; r < rows; r++, from += inputs) {
        vectors.set(x.subarray(from, from + inputs), r * this.width);
        vectors.fill(0, r * this.width + inputs, (r + 1) * this.width);
      }
      plainProducts(this, vectors, products, rows);
      for (let r = 0; r < rows; r++, to += outputs)
        y.set(products.subarray(r * this.height, r * this.height + outputs), to);
    }
  }
}

/** The memory of the matrices of one model, with room for the vectors of a product and for its result. */
export class MatrixMemory {
  /** @param {Matrix[]} matrices */
  constructor(matrices) {
    const { width, height, bytes } = MatrixMemory.sizes(matrices), buffer = new ArrayBuffer(bytes);
    this.vectors = new Float32Array(buffer, 0, ROWS * width);
    this.products = new Float32Array(buffer, this.vectors.byteLength, ROWS * height);
    let at = this.vectors.byteLength + this.products.byteLength;
    for (const matrix of matrices) {
      const length = matrix.width * matrix.height;
      matrix.memory = this;
      matrix.at = at;
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

/** The products of a matrix with some vectors: (T, I) → (T, O). @param {Matrix} matrix */
function plainProducts({ data, width, height }, vectors, products, rows) {
  for (let o = 0; o < height; o += EIGHT) {
    const eight = data.subarray(o * width, (o + EIGHT) * width);
    const numbers = eight instanceof Uint16Array ? widened(eight) : eight;
    for (let r = 0; r < rows; r++) eightProducts(numbers, vectors, r * width, width, products, r * height + o);
  }
}

/**
 * The products of eight rows with one vector. Eight sums that do not wait for each other keep the processor busy, and
 * each number of the vector is read only once.
 */
function eightProducts(w, x, from, length, y, to) {
  let a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0;
  for (let i = from, j = 0; j < length; i++, j++) {
    const v = x[i];
    a += w[j] * v;
    b += w[j + length] * v;
    c += w[j + 2 * length] * v;
    d += w[j + 3 * length] * v;
    e += w[j + 4 * length] * v;
    f += w[j + 5 * length] * v;
    g += w[j + 6 * length] * v;
    h += w[j + 7 * length] * v;
  }
  y[to] = a;
  y[to + 1] = b;
  y[to + 2] = c;
  y[to + 3] = d;
  y[to + 4] = e;
  y[to + 5] = f;
  y[to + 6] = g;
  y[to + 7] = h;
}
