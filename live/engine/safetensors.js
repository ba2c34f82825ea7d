// Reads a safetensors file: the length of a header, the header as JSON, then the numbers of all tensors.
import { EngineError, require } from "./errors.js";
import { sizeOf, tensor } from "./tensor.js";

const MAX_HEADER = 8 << 20, MAX_FILE = 512 << 20; // bytes

/**
 * Half precision → single precision, for each of the 65,536 halves.
 * @type {Float32Array | undefined}
 */
let halves;

function halfTable() {
  if (halves) return halves;
  halves = new Float32Array(1 << 16);
  for (let bits = 0; bits < 1 << 16; bits++) {
    const sign = bits >> 15 ? -1 : 1, exponent = (bits >> 10) & 31, fraction = bits & 1023;
    if (exponent === 31) halves[bits] = fraction ? Number.NaN : sign * Infinity;
    else halves[bits] = sign * (exponent ? (1 + fraction / 1024) * 2 ** (exponent - 15) : fraction * 2 ** -24);
  }
  return halves;
}

/** @type {Record<string, { size: number, read: (buffer: ArrayBuffer) => Float32Array }>} */
const TYPES = {
  F32: { size: 4, read: (buffer) => new Float32Array(buffer) },
  F16: {
    size: 2,
    read(buffer) {
      const bits = new Uint16Array(buffer), table = halfTable(), numbers = new Float32Array(bits.length);
      for (let i = 0; i < bits.length; i++) numbers[i] = table[bits[i]];
      return numbers;
    },
  },
  // The upper half of a number in single precision.
  BF16: { size: 2, read: (buffer) => new Float32Array(Uint32Array.from(new Uint16Array(buffer), (b) => b << 16).buffer) },
};

/** The tensors of a file. A model takes what it needs, and then `requireAllTaken` finds what does not belong to it. */
export class Weights {
  /** @param {ArrayBuffer} buffer The file. */
  constructor(buffer) {
    require(buffer.byteLength <= MAX_FILE, "weights-too-large", `The weights have ${Math.round(buffer.byteLength / 1e6)} MB. The limit is 512 MB. Choose a smaller model.`);
    const damaged = "The weights are damaged or not a safetensors file. Copy model.safetensors again.";
    require(buffer.byteLength >= 8, "weights-damaged", damaged);
    const length = Number(new DataView(buffer).getBigUint64(0, true));
    require(length <= MAX_HEADER && 8 + length <= buffer.byteLength, "weights-damaged", damaged);
    this.buffer = buffer;
    this.start = 8 + length;
    try {
      /** @type {Map<string, { dtype: string, shape: number[], data_offsets: [number, number] }>} */
      this.entries = new Map(Object.entries(JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(new Uint8Array(buffer, 8, length)))));
    } catch {
      throw new EngineError("weights-damaged", damaged);
    }
    this.entries.delete("__metadata__");
  }

  /** @param {string} name */
  has(name) {
    return this.entries.has(name);
  }

  /**
   * Read one tensor in single precision. It can be taken only once.
   * @param {string} name
   * @param {...number} shape That the model needs.
   */
  take(name, ...shape) {
    const entry = this.entries.get(name), other = "The file was made for another configuration.";
    require(entry, "weights-missing", `${name} is missing in the weights. ${other}`);
    this.entries.delete(name);
    require(String(entry.shape) === String(shape), "weights-shape", `${name} has the shape (${entry.shape}), but config.json requires (${shape}).`);
    const type = Object.hasOwn(TYPES, entry.dtype) && TYPES[entry.dtype];
    require(type, "weights-type", `${name} has numbers of the type ${entry.dtype}. Only F32, F16 and BF16 can be read.`);
    const [from, to] = Array.isArray(entry.data_offsets) ? entry.data_offsets : [0, -1];
    const fits = Number.isInteger(from) && from >= 0 && to - from === sizeOf(shape) * type.size && this.start + to <= this.buffer.byteLength;
    require(fits, "weights-damaged", `The numbers of ${name} are not in the file. Copy model.safetensors again.`);
    return tensor(shape, type.read(this.buffer.slice(this.start + from, this.start + to)));
  }

  /** @param {string} name @param {number} length */
  vector(name, length) {
    return this.take(name, length).data;
  }

  /**
   * @param {string} name @param {number} outputs @param {number} inputs @param {boolean} [bias]
   * @returns {import("./tensor.js").Linear}
   */
  linear(name, outputs, inputs, bias = true) {
    return { weight: this.take(`${name}.weight`, outputs, inputs), bias: bias ? this.vector(`${name}.bias`, outputs) : null };
  }

  /**
   * @param {string} name @param {number} width
   * @returns {import("./tensor.js").Norm}
   */
  norm(name, width) {
    return { weight: this.vector(`${name}.weight`, width), bias: this.vector(`${name}.bias`, width) };
  }

  requireAllTaken() {
    const [unknown] = this.entries.keys();
    require(unknown === undefined, "weights-unknown", `The weights have the unknown tensor ${unknown}. The file was made for another configuration.`);
  }
}
