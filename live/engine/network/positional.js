// Positional encodings give a Transformer the order of its tokens.
import { require } from "../errors.js";
import { tensor } from "../tensor.js";

/**
 * Sine and cosine waves of increasing wavelength ("Attention Is All You Need", section 3.5).
 * @param {number} length
 * @param {number} width
 * @returns {import("../tensor.js").Tensor} (length, width)
 */
export function sinusoidalTable(length, width) {
  const table = tensor([length, width]);
  for (let i = 0; i < width; i += 2) {
    const rate = Math.exp((-i * Math.log(10_000)) / width);
    for (let p = 0; p < length; p++) {
      table.data[p * width + i] = Math.sin(p * rate);
      table.data[p * width + i + 1] = Math.cos(p * rate);
    }
  }
  return table;
}

/** The numbers of positions `start` to `end - 1`. */
function rowsOf(table, start, end) {
  const [positions, width] = table.shape;
  require(end <= positions, "text-too-long", `The text has ${end} tokens, but this model has ${positions} positions. Shorten the text.`);
  return table.data.subarray(start * width, end * width);
}

/** Adds one row of a table to each token: fixed waves or learned vectors. */
export class PositionalEncoding {
  /** @param {import("../tensor.js").Tensor} table (N, D) */
  constructor(table) {
    this.table = table;
  }

  /** @param {import("../tensor.js").Tensor} x (T, D) */
  forward(x, offset = 0) {
    const rows = rowsOf(this.table, offset, offset + x.shape[0]);
    return tensor(x.shape, x.data.map((value, i) => value + rows[i]));
  }
}

/** Rotates each pair of numbers in a query or key by an angle that grows with the position (RoFormer, Su et al. 2021). */
export class RotaryPositions {
  /** @param {number} maxLength @param {number} width K */
  constructor(maxLength, width) {
    this.table = sinusoidalTable(maxLength, width);
  }

  /** @param {import("../tensor.js").Tensor} x (H, T, K) */
  forward(x, offset = 0) {
    const [, T, K] = x.shape, waves = rowsOf(this.table, offset, offset + T), y = tensor(x.shape);
    for (let i = 0; i < x.data.length; i += 2) {
      const sine = waves[i % (T * K)], cosine = waves[(i % (T * K)) + 1];
      y.data[i] = x.data[i] * cosine - x.data[i + 1] * sine;
      y.data[i + 1] = x.data[i] * sine + x.data[i + 1] * cosine;
    }
    return y;
  }
}
