// Positional encodings give a Transformer the order of its tokens. Some add a vector to each token. The others work in
// each attention layer instead: they are `LayerPositions`.
import { mapped, tensor } from "../tensor.js";

/** How fast the angle of each pair of numbers grows with the position: 1 / base^(2i / width). */
export function rates(width, base = 10_000) {
  return Array.from({ length: Math.ceil(width / 2) }, (_, i) => Math.exp((-2 * i * Math.log(base)) / width));
}

/**
 * Sine and cosine waves of increasing wavelength ("Attention Is All You Need", section 3.5): (length, width).
 * @param {boolean} [halves] First all sines, then all cosines (Marian).
 */
export function sinusoidalTable(length, width, halves = false) {
  const speeds = rates(width), half = speeds.length;
  return mapped(tensor([length, width]), (_, at) => {
    const i = at % width, pair = halves ? i % half : i >> 1, angle = Math.floor(at / width) * speeds[pair];
    return (halves ? i >= half : i % 2) ? Math.cos(angle) : Math.sin(angle);
  });
}

/**
 * How many sines and cosines the encoding of one position has.
 * @param {Pick<Sizes, "positional" | "d_model" | "num_heads">} config
 */
function widthOf({ positional, d_model, num_heads }) {
  return positional === "rotary" ? d_model / num_heads : d_model;
}

/** The encoding of the first positions, (positions, D). @param {Sizes} config @param {number} positions */
export function positionTable(config, positions) {
  return sinusoidalTable(positions, widthOf(config));
}

/**
 * After how many positions each wave repeats: 2π · 10000^(2i/D) (Vaswani et al. 2017), (D / 2).
 * @param {Sizes} config
 */
export function wavelengths(config) {
  const width = widthOf(config);
  return Array.from({ length: width / 2 }, (_, i) => 2 * Math.PI * 10_000 ** ((2 * i) / width));
}

/**
 * Rotates each pair of numbers in a query or key by an angle that grows with the position (RoFormer, Su et al. 2021).
 * A pair are two neighbours, or two numbers at the same place of both halves.
 * @param {number[]} speeds Of the angles; further numbers are not rotated. @returns {LayerPositions}
 */
export function rotaryPositions(speeds, halves) {
  const count = speeds.length, [step, next] = halves ? [1, count] : [2, 1];
  return { rotate(x, offset) {
    const [H, T, K] = x.shape, y = mapped(x, (value) => value);
    for (let t = 0; t < T; t++)
      for (let i = 0; i < count; i++) {
        const angle = (offset + t) * speeds[i], sine = Math.sin(angle), cosine = Math.cos(angle);
        for (let h = 0; h < H; h++) {
          const a = (h * T + t) * K + i * step, b = a + next;
          y.data[a] = x.data[a] * cosine - x.data[b] * sine;
          y.data[b] = x.data[b] * cosine + x.data[a] * sine;
        }
      }
    return y;
  } };
}
