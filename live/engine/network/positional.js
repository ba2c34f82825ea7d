// Positional encodings give a Transformer the order of its tokens.
import { N_, require } from "../errors.js";
import { mapped, tensor } from "../tensor.js";

/** Sine and cosine waves of increasing wavelength ("Attention Is All You Need", section 3.5): (length, width). */
export function sinusoidalTable(length, width) {
  return mapped(tensor([length, width]), (_, at) => {
    const i = at % width, angle = Math.floor(at / width) * Math.exp((-(i - (i % 2)) * Math.log(10_000)) / width);
    return i % 2 ? Math.cos(angle) : Math.sin(angle);
  });
}

/** The rows of positions `start` to `end - 1`. @param {Tensor} table */
function rowsOf({ data, shape: [positions, width] }, start, end) {
  require(
    end <= positions, "text-too-long",
    N_("The text has {n} tokens, but this model has {positions} positions. Shorten the text."), { n: end, positions },
  );
  return data.subarray(start * width, end * width);
}

/** Adds one row of a table to each token: fixed waves or learned vectors. */
export class PositionalEncoding {
  /** @param {Tensor} table (N, D) */
  constructor(table) {
    this.table = table;
  }

  /** @param {Tensor} x (T, D) */
  forward(x, offset = 0) {
    const rows = rowsOf(this.table, offset, offset + x.shape[0]);
    return mapped(x, (value, i) => value + rows[i]);
  }
}

/**
 * Rotates each pair of numbers in a query or key by an angle that grows with the position (RoFormer, Su et al. 2021).
 */
export class RotaryPositions {
  constructor(maxLength, width) {
    this.table = sinusoidalTable(maxLength, width);
  }

  /** @param {Tensor} x (H, T, K) */
  forward(x, offset = 0) {
    const [, T, K] = x.shape, waves = rowsOf(this.table, offset, offset + T), other = (i) => x.data[i ^ 1];
    return mapped(x, (value, i) => {
      const wave = (i - (i % 2)) % (T * K), sine = waves[wave], cosine = waves[wave + 1];
      return value * cosine + (i % 2 ? other(i) : -other(i)) * sine;
    });
  }
}
