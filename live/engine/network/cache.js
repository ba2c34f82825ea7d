// Keys and values of earlier decoding steps, so that each step computes only its own token.
import { tensor } from "../tensor.js";

/**
 * Move the vectors of each head into a larger or an equal buffer.
 * @param {import("../tensor.js").Tensor} x (H, S, K)
 * @param {import("../tensor.js").Tensor} buffer (H, room, K)
 * @param {number} start The first position.
 */
function place(x, buffer, start) {
  const [heads, length, width] = x.shape, room = buffer.shape[1];
  for (let h = 0; h < heads; h++)
    buffer.data.set(x.data.subarray(h * length * width, (h + 1) * length * width), (h * room + start) * width);
}

/** Keys and values of one attention layer, (H, room, K) each. Only the first `length` positions are filled. */
export class KeyValue {
  length = 0;
  keys = tensor([0, 0, 0]);
  values = tensor([0, 0, 0]);

  /**
   * Add positions.
   * @param {import("../tensor.js").Tensor} keys (H, T, K)
   * @param {import("../tensor.js").Tensor} values (H, T, K)
   */
  append(keys, values) {
    const start = this.length, room = this.keys.shape[1];
    this.length += keys.shape[1];
    if (start === 0) [this.keys, this.values] = [keys, values];
    else {
      if (this.length > room) [this.keys, this.values] = [this.keys, this.values].map((old) => grown(old, Math.max(2 * this.length, 32)));
      place(keys, this.keys, start);
      place(values, this.values, start);
    }
    return this;
  }

  copy() {
    const copied = new KeyValue();
    copied.length = this.length;
    [copied.keys, copied.values] = [this.keys, this.values].map(({ data, shape }) => tensor(shape, data.slice()));
    return copied;
  }
}

/** @param {import("../tensor.js").Tensor} x @param {number} room */
function grown(x, room) {
  const buffer = tensor([x.shape[0], room, x.shape[2]]);
  place(x, buffer, 0);
  return buffer;
}

/** One `KeyValue` for the self-attention and one for the cross-attention of each decoder layer. */
export class DecoderCache {
  /** @param {number} layers */
  constructor(layers) {
    this.selfAttention = Array.from({ length: layers }, () => new KeyValue());
    this.crossAttention = Array.from({ length: layers }, () => new KeyValue());
  }

  /** Target positions that have been decoded. */
  get length() {
    return this.selfAttention[0].length;
  }

  /** For another hypothesis of the same source: the cross-attention is shared. */
  copy() {
    const copied = new DecoderCache(0);
    copied.selfAttention = this.selfAttention.map((cache) => cache.copy());
    copied.crossAttention = this.crossAttention;
    return copied;
  }
}
