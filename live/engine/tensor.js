// Arrays of numbers, and the few operations of a Transformer. No function changes its arguments. Sums are computed in
// double precision and kept in single precision.

/** @returns {Tensor} */
export function tensor(shape, data = new Float32Array(sizeOf(shape))) {
  return { data, shape };
}

export function sizeOf(shape) {
  return shape.reduce((size, length) => size * length, 1);
}

/** Change each number; the change may read its index. @param {Tensor} x @returns {Tensor} */
export function mapped({ data, shape }, change) {
  const y = tensor(shape);
  for (let i = 0; i < data.length; i++) y.data[i] = change(data[i], i); // faster than `map` of an array
  return y;
}

/** x Wᵀ + b for each row: (…, I) → (…, O). @param {Tensor} x @param {Linear} layer */
export function linear(x, { weight, bias }) {
  const [outputs] = weight.shape, y = tensor([...x.shape.slice(0, -1), outputs]), { data } = y;
  weight.multiply(x.data, data);
  if (bias) for (let to = 0; to < data.length; to += outputs) for (let o = 0; o < outputs; o++) data[to + o] += bias[o];
  return y;
}

/** The product of a[i] … a[i + length - 1] and b[j] …. */
export function dot(a, i, b, j, length) {
  let sum = 0;
  for (const end = i + length; i < end; i++, j++) sum += a[i] * b[j];
  return sum;
}

/** @param {Tensor} x @param {Tensor} y Of the same shape. */
export function add(x, y) {
  const sum = tensor(x.shape);
  for (let i = 0; i < sum.data.length; i++) sum.data[i] = x.data[i] + y.data[i];
  return sum;
}

/** Softmax of each row. A row without a finite number becomes 0. @param {Tensor} x */
export function softmax(x) {
  const width = x.shape[x.shape.length - 1], y = tensor(x.shape);
  for (let start = 0; start < x.data.length; start += width) {
    const highest = largest(x.data.subarray(start, start + width));
    if (highest === -Infinity) continue;
    let sum = 0;
    for (let i = start; i < start + width; i++) sum += Math.exp(x.data[i] - highest);
    for (let i = start; i < start + width; i++)
      y.data[i] = x.data[i] === -Infinity ? 0 : Math.exp(x.data[i] - highest) / sum;
  }
  return y;
}

/** The logarithm of the sum of the exponentials. @param {Float32Array} x */
export function logSumExp(x) {
  const highest = largest(x);
  let sum = 0;
  for (let i = 0; i < x.length; i++) sum += Math.exp(x[i] - highest);
  return highest + Math.log(sum);
}

/** Shifted so that the exponentials sum to 1. @param {Float32Array} x */
export function logSoftmax(x) {
  const shift = logSumExp(x);
  return mapped(tensor([x.length], x), (value) => value - shift).data;
}

/** The largest number; NaN if one is NaN. */
function largest(x) {
  let highest = -Infinity;
  for (let i = 0; i < x.length; i++) {
    if (Number.isNaN(x[i])) return Number.NaN;
    if (x[i] > highest) highest = x[i];
  }
  return highest;
}

/** @param {Float32Array[]} parts */
export function concatenate(...parts) {
  const whole = new Float32Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
