// The sinusoids of a model, which a formula gives.
import { times } from "./assets/numbers.js";
import { sinusoidalTable } from "./engine/network/positional.js";

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
  return times(width / 2, (i) => 2 * Math.PI * 10_000 ** ((2 * i) / width));
}
