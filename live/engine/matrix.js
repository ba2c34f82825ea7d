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
 * product reads the memory from its start to its end. A matrix has no numbers before its memory starts.
 */
export class Matrix {
  /** @param {MatrixMemory} memory @param {boolean} half Its numbers stay bf16. */
  constructor(memory, outputs, inputs, half) {
    this.memory = memory;
    this.shape = [outputs, inputs];
    this.half = half;
    this.width = filled(inputs);
    this.height = filled(outputs);
    this.data = /** @type {Numbers} */ (new Float32Array(0));
  }

  /** The place of a number of `data`. @param {number} row @param {number} column */
  at(row, column) {
    return (row - (row % SIDE)) * this.width + (column - (column % SIDE) + (row % SIDE)) * SIDE + (column % SIDE);
  }

  /**
   * Take its numbers from rows of a stored matrix.
   * @param {Numbers} stored Rows from row `first`. @param {number} first @param {number} length Of a row.
   * @param {Float32Array | null} table The number of each pattern of two bytes, if they are no single precision.
   * @param {import("./safetensors.js").Part} part
   */
  fill(stored, first, length, table, { rows, transposed }) {
    const [outputs] = this.shape, { data, half } = this, count = stored.length / length, whole = !rows && !transposed;
    const numbers = half ? null : table;
    for (let o = whole ? first : 0; o < (whole ? first + count : outputs); o++) {
      const row = rows ? rows(o) : o, from = (row - first) * length;
      if (transposed)
        for (let i = 0; i < count; i++) {
          const bits = stored[i * length + row];
          data[this.at(o, first + i)] = numbers ? numbers[bits] : bits;
        }
      else if (from >= 0 && from < stored.length)
        for (let i = 0, to = this.at(o, 0); i < length; to += SIDE * (SIDE - 1))
          for (const end = Math.min(i + SIDE, length); i < end; i++, to++) {
            const bits = stored[from + i];
            data[to] = numbers ? numbers[bits] : bits;
          }
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
    const { vectors, products, kernel } = this.memory;
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
  /** @type {Matrix[]} */
  matrices = [];
  longest = 0; // width and height of a matrix
  numbers = 0; // bytes of all matrices
  vectors = new Float32Array(0);
  products = new Float32Array(0);
  kernel = /** @type {ReturnType<typeof startKernel>} */ (null);

  /** A matrix that gets its place when the memory starts. @param {boolean} half Its numbers stay bf16. */
  add(outputs, inputs, half) {
    const matrix = new Matrix(this, outputs, inputs, half), { width, height } = matrix;
    this.matrices.push(matrix);
    this.longest = Math.max(this.longest, width, height);
    this.numbers += width * height * (half ? 2 : 4);
    return matrix;
  }

  /** What it needs. */
  get bytes() {
    return this.numbers + 8 * ROWS * this.longest;
  }

  start() {
    this.kernel = startKernel(this.bytes);
    const buffer = this.kernel?.buffer ?? new ArrayBuffer(this.bytes), room = ROWS * this.longest;
    this.vectors = new Float32Array(buffer, 0, room);
    this.products = new Float32Array(buffer, 4 * room, room);
    let at = 8 * room;
    for (const matrix of this.matrices) {
      const Kind = matrix.half ? Uint16Array : Float32Array;
      matrix.data = new Kind(buffer, at, matrix.width * matrix.height);
      at += matrix.data.byteLength;
    }
  }
}

/**
 * What the kernel does, in plain JavaScript.
 * @param {Matrix} matrix @param {Float32Array} vectors (T, width)
 * @param {Float32Array} products (T, height), for the result @param {number} rows T
 */
function plainProducts({ data, width, height }, vectors, products, rows) {
  for (let o = 0; o < height; o++) {
    const tiles = data.subarray((o - (o % SIDE)) * width + (o % SIDE) * SIDE);
    const numbers = tiles instanceof Uint16Array ? widened(tiles.subarray(0, width * SIDE)) : tiles;
    for (let r = 0; r < rows; r++) {
      let a = 0, b = 0, c = 0, d = 0; // sums that do not wait for each other keep the processor busy
      for (let i = 0, j = 0, v = r * width; i < width; i += SIDE, v += SIDE, j += SIDE * SIDE) {
        a += numbers[j] * vectors[v] + numbers[j + 4] * vectors[v + 4];
        b += numbers[j + 1] * vectors[v + 1] + numbers[j + 5] * vectors[v + 5];
        c += numbers[j + 2] * vectors[v + 2] + numbers[j + 6] * vectors[v + 6];
        d += numbers[j + 3] * vectors[v + 3] + numbers[j + 7] * vectors[v + 7];
      }
      products[r * height + o] = a + b + c + d;
    }
  }
}
