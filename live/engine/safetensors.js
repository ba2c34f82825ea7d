// Reads a safetensors file: the length of a header, the header as JSON, then the numbers of all tensors.
import { EngineError, N_, require } from "./errors.js";
import { sizeOf, tensor } from "./tensor.js";

const MAX_WEIGHTS = 512 << 20; // bytes
const MAX_HEADER = 8 << 20;
const DAMAGED = N_("The weights are damaged or not a safetensors file. Copy model.safetensors again.");

/** Half precision → single precision, for each of the 65,536 halves. It is computed at its first use. */
let halves = new Float32Array(0);

function halfTable() {
  if (halves.length) return halves;
  halves = new Float32Array(1 << 16);
  for (let bits = 0; bits < 1 << 16; bits++) {
    const sign = bits >> 15 ? -1 : 1, exponent = (bits >> 10) & 31, fraction = bits & 1023;
    if (exponent === 31) halves[bits] = fraction ? Number.NaN : sign * Infinity;
    else halves[bits] = sign * (exponent ? (1 + fraction / 1024) * 2 ** (exponent - 15) : fraction * 2 ** -24);
  }
  return halves;
}

/** Type → bytes of a number, and how numbers become single precision. */
const TYPES = new Map([
  ["F32", { bytes: 4, read: (buffer) => new Float32Array(buffer) }],
  ["F16", { bytes: 2, read: readHalves }],
  ["BF16", { bytes: 2, read: readUpperHalves }],
]);

/** @param {ArrayBuffer} buffer */
function readHalves(buffer) {
  const bits = new Uint16Array(buffer), table = halfTable(), numbers = new Float32Array(bits.length);
  for (let i = 0; i < bits.length; i++) numbers[i] = table[bits[i]];
  return numbers;
}

/** BF16 is the upper half of a number in single precision. @param {ArrayBuffer} buffer */
function readUpperHalves(buffer) {
  const bits = new Uint16Array(buffer), numbers = new Uint32Array(bits.length);
  for (let i = 0; i < bits.length; i++) numbers[i] = bits[i] << 16;
  return new Float32Array(numbers.buffer);
}

/** A download, too, ends where this fails. @param {number} bytes */
export function requireSize(bytes) {
  require(bytes <= MAX_WEIGHTS, "weights-too-large", N_("The weights have more than 512 MB. Choose a smaller model."));
}

/** The tensors of a file. A model takes what it needs; `requireAllTaken` finds what does not belong to it. */
export class Weights {
  /** @param {ArrayBuffer} buffer The file. */
  constructor(buffer) {
    requireSize(buffer.byteLength);
    require(buffer.byteLength >= 8, "weights-damaged", DAMAGED);
    const length = Number(new DataView(buffer).getBigUint64(0, true));
    require(length <= MAX_HEADER && 8 + length <= buffer.byteLength, "weights-damaged", DAMAGED);
    /** @type {string[]} The tensors with numbers that are not finite, and how many. */
    this.notFinite = [];
    this.buffer = buffer;
    this.start = 8 + length;
    try {
      const { __metadata__: _, ...header } = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 8, length)));
      this.entries = new Map(Object.entries(header));
      // Tensors that share their bytes would take more memory than the file.
      const bytes = Object.values(header).reduce((sum, { data_offsets: [from, to] }) => sum + to - from, 0);
      require(bytes <= buffer.byteLength - this.start, "weights-damaged", DAMAGED);
    } catch {
      throw new EngineError("weights-damaged", DAMAGED);
    }
  }

  /** Read one tensor in single precision, once. @param {string} name @param {number[]} shape That the model needs. */
  take(name, ...shape) {
    require(
      this.entries.has(name), "weights-missing",
      N_("{name} is missing in the weights. The file was made for another configuration."), { name },
    );
    const entry = this.entries.get(name) ?? {}, type = TYPES.get(entry.dtype);
    this.entries.delete(name);
    require(
      `${entry.shape}` === `${shape}`, "weights-shape",
      N_("{name} has the shape ({found}), but config.json requires ({shape})."),
      { name, found: `${entry.shape}`, shape: `${shape}` },
    );
    require(
      type, "weights-type", N_("{name} has numbers of the type {type}. Only F32, F16 and BF16 can be read."),
      { name, type: `${entry.dtype}` },
    );
    const [from, to] = entry.data_offsets;
    const inside = Number.isInteger(from) && from >= 0 && this.start + to <= this.buffer.byteLength;
    require(inside && to - from === sizeOf(shape) * type.bytes, "weights-damaged", DAMAGED);
    const numbers = type.read(this.buffer.slice(this.start + from, this.start + to));
    let broken = 0;
    for (let i = 0; i < numbers.length; i++) if (!Number.isFinite(numbers[i])) broken++;
    if (broken) this.notFinite.push(`${name} (${broken})`);
    return tensor(shape, numbers);
  }

  /** @returns {Linear} */
  linear(name, outputs, inputs, bias = true) {
    return {
      weight: this.take(`${name}.weight`, outputs, inputs), bias: bias ? this.take(`${name}.bias`, outputs).data : null
    };
  }

  /** @returns {Norm} */
  norm(name, width) {
    return { weight: this.take(`${name}.weight`, width).data, bias: this.take(`${name}.bias`, width).data };
  }

  requireAllTaken() {
    const [unknown] = this.entries.keys();
    require(
      unknown === undefined, "weights-unknown",
      N_("The weights have the unknown tensor {name}. The file was made for another configuration."), { name: unknown },
    );
  }
}
