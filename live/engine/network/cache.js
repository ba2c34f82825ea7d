// Keys and values of earlier decoding steps, so that each step computes only its own token.
import { tensor } from "../tensor.js";

/**
 * Copy vectors (H, S, K) into a buffer (H, room, K), from position `start`.
 * @param {Tensor} x @param {Tensor} buffer
 */
function placed(x, buffer, start) {
  const [heads, length, width] = x.shape, room = buffer.shape[1];
  for (let h = 0; h < heads; h++)
    buffer.data.set(x.data.subarray(h * length * width, (h + 1) * length * width), (h * room + start) * width);
  return buffer;
}

/** Keys and values of one attention layer, (H, room, K) each. Only the first `length` positions are filled. */
export class KeyValue {
  length = 0;
  keys = tensor([0, 0, 0]);
  values = tensor([0, 0, 0]);

  /** Add positions. @param {Tensor} keys (H, T, K) @param {Tensor} values (H, T, K) */
  append(keys, values) {
    const start = this.length;
    this.length += keys.shape[1];
    [this.keys, this.values] = [[this.keys, keys], [this.values, values]].map(([old, added]) => {
      if (start === 0) return added;
      const [heads, room, width] = old.shape; // doubling keeps the cost per token constant
      const kept = this.length > room ? placed(old, tensor([heads, Math.max(2 * this.length, 32), width]), 0) : old;
      return placed(added, kept, start);
    });
    return this;
  }
}
