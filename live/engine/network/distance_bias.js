// Numbers for the distance of query and key, which a layer adds to its scores instead of positions of the tokens.
import { tensor } from "../tensor.js";

/**
 * A number for each head and each distance: the position of the key − the position of the query.
 * @param {number} heads @param {(distance: number) => (head: number) => number} numbers @returns {LayerPositions}
 */
function distanceBias(heads, numbers) {
  return { bias(queries, keys, offset) {
    const found = tensor([heads, queries, keys]);
    for (let t = 0; t < queries; t++)
      for (let s = 0; s < keys; s++) {
        const of = numbers(s - t - offset);
        for (let h = 0; h < heads; h++) found.data[(h * queries + t) * keys + s] = of(h);
      }
    return found;
  } };
}

/** ALiBi: minus the slope of the head times the distance (Press et al. 2022, section 3). */
export function linearBias(heads) {
  const slopes = alibiSlopes(heads);
  return distanceBias(heads, (distance) => (head) => -Math.abs(distance) * slopes[head]);
}

/**
 * The slope of each head: 2^(-8/H), 2^(-16/H), … 2^(-8). If H is no power of two, the heads beyond the largest power of
 * two in H get every second slope of twice as many heads, as in the authors' code.
 */
function alibiSlopes(heads) {
  const powers = (count) => Array.from({ length: count }, (_, i) => 2 ** ((-8 * (i + 1)) / count));
  const whole = 2 ** Math.floor(Math.log2(heads));
  return [...powers(whole), ...powers(2 * whole).filter((_, i) => i % 2 === 0).slice(0, heads - whole)];
}

/**
 * A learned number for each head and each bucket of distances (T5, Raffel et al. 2020, section 2.1).
 * @param {Tensor} table (N, H) @param {number} farthest Larger distances share one bucket.
 * @param {boolean} bothSides A query may attend to later keys, which have the second half of the buckets.
 */
export function bucketedBias({ data, shape: [buckets, heads] }, farthest, bothSides) {
  const side = bothSides ? buckets / 2 : buckets, exact = Math.floor(side / 2);
  const bucket = (distance) => {
    const steps = bothSides ? Math.abs(distance) : Math.max(-distance, 0);
    const growth = Math.log(Math.max(steps, 1) / exact) / Math.log(farthest / exact); // 0 at `exact`, 1 at `farthest`
    const wide = Math.min(exact + Math.trunc(growth * (side - exact)), side - 1);
    return (steps < exact ? steps : wide) + (bothSides && distance > 0 ? side : 0);
  };
  return distanceBias(heads, (distance) => {
    const at = bucket(distance) * heads;
    return (head) => data[at + head];
  });
}
