// The norms of a Transformer: one for each row of a tensor.
import { tensor } from "../tensor.js";

/**
 * (x - mean) / √(variance + ε) · weight + bias (LayerNorm, Ba et al. 2016), or x / √(mean of x² + ε) · weight (RMSNorm,
 * Zhang and Sennrich 2019).
 */
export class Norm {
  /** @param {Weights} weights @param {string} name @param {number} width @param {Sizes} config */
  constructor(weights, name, width, { rms_norm: rms, norm_eps: epsilon, norm_shift: shift }) {
    this.weight = weights.take(`${name}.weight`, width).data;
    this.bias = rms ? null : weights.take(`${name}.bias`, width).data;
    this.epsilon = epsilon;
    this.shift = shift; // Gemma stores the weights minus 1
  }

  /** @param {Tensor} x (…, W) */
  forward({ data, shape }) {
    const { weight, bias, shift } = this, width = weight.length, y = tensor(shape);
    for (let start = 0; start < data.length; start += width) {
      let mean = 0, square = 0;
      if (bias) for (let i = 0; i < width; i++) mean += data[start + i] / width;
      for (let i = 0; i < width; i++) square += (data[start + i] - mean) ** 2 / width;
      const scale = 1 / Math.sqrt(square + this.epsilon);
      for (let i = 0; i < width; i++)
        y.data[start + i] = (data[start + i] - mean) * scale * (weight[i] + shift) + (bias ? bias[i] : 0);
    }
    return y;
  }
}
