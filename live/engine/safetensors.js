// Reads safetensors files: the length of a header, the header as JSON, then the numbers of all tensors. A model is made
// from the headers alone. Then the numbers are read slice by slice, so no file is in memory as a whole.
import { EngineError, N_, require, shown } from "./errors.js";
import { parseJson } from "./json.js";
import { MatrixMemory, widened } from "./matrix.js";
import { sizeOf, tensor } from "./tensor.js";

const MAX_MB = 2048; // of all files of a model
const MAX_HEADER = 8 << 20; // bytes of all headers
const PATTERNS = 1 << 16; // of two bytes
const SLICE = 8 << 20, PART = 1 << 18; // bytes that are read together, and that are converted together

/**
 * A tensor of a file, from byte `from` to byte `to`, and what gets its numbers: rows of it, from row `first`, with the
 * length of a row and the table of their type.
 * @typedef {{ blob: Sliced, from: number, to: number, dtype: string, shape: number[], places: Place[] }} Entry
 * @typedef {(stored: Numbers, first: number, length: number, table: Float32Array | null) => void} Place
 * @typedef {import("./matrix.js").Numbers} Numbers
 */
/**
 * The part of a stored matrix that a model needs, if it is not the whole: `transposed`, if the file has (inputs,
 * outputs); `rows` gives the stored row of an output, and `stored` is how many rows there are.
 * @typedef {{ transposed?: boolean, rows?: (output: number) => number, stored?: number }} Part
 */

/** Type → bytes of a number, and the numbers of all patterns of two bytes: a table is faster than a conversion. */
const TYPES = new Map([
  ["F32", { bytes: 4, table: () => null }],
  ["F16", { bytes: 2, table: halfTable }],
  ["BF16", { bytes: 2, table: () => widened(new Uint16Array(PATTERNS).map((_, bits) => bits)) }],
]);

/** Half precision (IEEE 754). */
function halfTable() {
  const numbers = new Float32Array(PATTERNS);
  for (let bits = 0; bits < PATTERNS; bits++) {
    const sign = bits >> 15 ? -1 : 1, exponent = (bits >> 10) & 31, fraction = bits & 1023;
    if (exponent === 31) numbers[bits] = fraction ? Number.NaN : sign * Infinity;
    else numbers[bits] = sign * (exponent ? (1 + fraction / 1024) * 2 ** (exponent - 15) : fraction * 2 ** -24);
  }
  return numbers;
}

/** A download, too, ends where this fails. @param {number} bytes */
export function requireSize(bytes) {
  require(
    bytes <= MAX_MB * 2 ** 20, "weights-too-large",
    N_("The weights have more than {limit} MB. Choose a smaller model."), { limit: MAX_MB },
  );
}

/** Fail where a file is not what it must be. @param {unknown} condition @returns {asserts condition} */
function requireIntact(condition) {
  require(condition, "weights-damaged", N_(
    "The weights are damaged or not a safetensors file. Copy model.safetensors again."
  ));
}

/** The bytes of a file from `from` to `to`. @param {Sliced} blob */
async function sliceBytes(blob, from, to) {
  const buffer = await blob.slice(from, to).arrayBuffer().catch((error) => {
    if (error instanceof EngineError) throw error;
  });
  require(buffer?.byteLength === to - from, "weights-unreadable", N_(
    "The weights could not be read. Their files may have changed. Choose them again."
  ));
  return /** @type {ArrayBuffer} */ (buffer);
}

/** The JSON of a header or an index. @param {ArrayBuffer | string} text */
function parsed(text) {
  try {
    return parseJson(typeof text === "string" ? text : new TextDecoder().decode(text));
  } catch {
    return requireIntact(false);
  }
}

const isSize = (value) => Number.isSafeInteger(value) && value >= 0;

/**
 * The tensors of one file. They must fill it without gaps, and without bytes that belong to two.
 * @param {Sliced} blob
 */
async function entriesOf(blob) {
  requireIntact(blob.size >= 8);
  const length = Number(new DataView(await sliceBytes(blob, 0, 8)).getBigUint64(0, true)), start = 8 + length;
  requireIntact(length <= MAX_HEADER && start <= blob.size);
  const header = parsed(await sliceBytes(blob, 8, start));
  /** @type {[string, Entry][]} */
  const entries = Object.entries(header ?? {}).filter(([name]) => name !== "__metadata__").map(([name, value]) => {
    const { dtype, shape, data_offsets: offsets } = value ?? {};
    const areSizes = [shape, offsets].every((list) => Array.isArray(list) && list.every(isSize));
    requireIntact(areSizes && offsets.length === 2 && typeof dtype === "string");
    return [name, { blob, from: start + offsets[0], to: start + offsets[1], dtype, shape, places: [] }];
  });
  entries.sort(([, a], [, b]) => a.from - b.from || a.to - b.to);
  const end = entries.reduce((at, [, { from, to }]) => (from === at && to >= from ? to : Number.NaN), start);
  requireIntact(entries.length && end === blob.size);
  return { length, entries };
}

/** The files that hold the weights: those that the index names, if there is one. @returns {Sliced[]} */
function filesOf(blobs, index) {
  const map = index === undefined ? null : parsed(index)?.weight_map;
  requireIntact(map !== undefined && typeof map === "object");
  return [...new Set(map ? Object.values(map) : Object.keys(blobs))].map((name) => {
    require(
      typeof name === "string" && Object.hasOwn(blobs, name), "weights-file-missing",
      N_("The file {name} of the weights is missing. Add it."), { name: shown(name) },
    );
    return blobs[name];
  });
}

/** How many numbers are not finite: their exponents have only ones. @param {Uint16Array} bits */
function notFiniteIn(bits, type) {
  const ones = type === "F16" ? 0x7c00 : 0x7f80, step = type === "F32" ? 2 : 1; // the exponent is in the upper half
  let broken = 0;
  for (let i = step - 1; i < bits.length; i += step) if ((bits[i] & ones) === ones) broken++;
  return broken;
}

/**
 * The tensors of a model's files. A model takes what it needs; `requireAllTaken` finds what does not belong to it. The
 * numbers come with `read`. Until then `bytes` says how much memory they need.
 */
export class Weights {
  /** @param {Map<string, Entry>} entries */
  constructor(entries) {
    this.entries = entries;
    /** @type {string[]} The tensors with numbers that are not finite, and how many. */
    this.notFinite = [];
    this.memory = new MatrixMemory();
    this.others = 0; // bytes of the tensors that are no matrices
    /** @type {(name: string) => [string, Part]} A name → the name in the files, and the part that is meant. */
    this.place = (name) => [name, {}];
  }

  /**
   * Read the headers.
   * @param {Record<string, Sliced>} blobs The files by their names.
   * @param {string} [index] The contents of model.safetensors.index.json.
   */
  static async open(blobs, index) {
    const files = filesOf(blobs, index), entries = new Map();
    requireSize(files.reduce((sum, { size }) => sum + size, 0));
    let headers = 0;
    for (const file of files) {
      const found = await entriesOf(file);
      headers += found.length;
      requireIntact(headers <= MAX_HEADER);
      for (const [name, entry] of found.entries) {
        requireIntact(!entries.has(name));
        entries.set(name, entry);
      }
    }
    return new Weights(entries);
  }

  /** The memory that the numbers need. */
  get bytes() {
    return this.memory.bytes + this.others;
  }

  /** Whether there is a tensor with this name. */
  has(name) {
    return this.entries.has(this.place(name)[0]);
  }

  /** The entry with this name, which must have this shape and a known type. @param {number[]} shape @returns {Entry} */
  entry(name, shape) {
    const entry = this.entries.get(name);
    require(
      entry, "weights-missing",
      N_("{name} is missing in the weights. The file was made for another configuration."), { name: shown(name) },
    );
    require(
      `${entry.shape}` === `${shape}`, "weights-shape",
      N_("{name} has the shape ({found}), but config.json requires ({shape})."),
      { name: shown(name), found: shown(`${entry.shape}`), shape: `${shape}` },
    );
    const bytes = TYPES.get(entry.dtype)?.bytes;
    require(
      bytes, "weights-type", N_("{name} has numbers of the type {type}. Only F32, F16 and BF16 can be read."),
      { name: shown(name), type: shown(entry.dtype) },
    );
    requireIntact(entry.to - entry.from === sizeOf(shape) * bytes);
    return entry;
  }

  /** A tensor in single precision. @param {string} name @param {number[]} shape That the model needs. */
  take(name, ...shape) {
    const [own, { rows, stored = shape[0] }] = this.place(name), [outputs, ...others] = shape;
    const entry = this.entry(own, [stored, ...others]), found = tensor(shape);
    this.others += found.data.byteLength;
    entry.places.push((stored, first, length, table) => {
      const numbers = table ? Float32Array.from(stored, (bits) => table[bits]) : stored;
      if (!rows) return found.data.set(numbers, first * length);
      for (let o = 0; o < outputs; o++) {
        const from = (rows(o) - first) * length;
        if (from >= 0) found.data.set(numbers.subarray(from, from + length), o * length); // empty after the slice
      }
    });
    return found;
  }

  /** A matrix (outputs, inputs); bf16 stays. @param {string} name @param {number} outputs @param {number} inputs */
  matrix(name, outputs, inputs) {
    const [own, part] = this.place(name), { transposed, stored = outputs } = part;
    const entry = this.entry(own, transposed ? [inputs, stored] : [stored, inputs]);
    const matrix = this.memory.add(outputs, inputs, entry.dtype === "BF16");
    entry.places.push((...rows) => matrix.fill(...rows, part));
    return matrix;
  }

  /** @param {string} name @param {number} outputs @param {number} inputs @returns {Linear} */
  linear(name, outputs, inputs, { bias = true } = {}) {
    return {
      weight: this.matrix(`${name}.weight`, outputs, inputs),
      bias: bias ? this.take(`${name}.bias`, outputs).data : null,
    };
  }

  /** Refuse a file with tensors that do not belong to the model. */
  requireAllTaken() {
    for (const [name, { places }] of this.entries)
      require(
        places.length, "weights-unknown",
        N_("The weights have the unknown tensor {name}. The file was made for another configuration."),
        { name: shown(name) },
      );
  }

  /**
   * Read the numbers of all tensors that were taken.
   * @param {(progress: { bytes: number, total: number }) => void} [report] An error that it throws ends the work.
   */
  async read(report) {
    try {
      this.memory.start();
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      throw new EngineError("weights-memory", N_("This device has no room for {size} MB. Choose a smaller model."), {
        size: Math.ceil(this.bytes / 2 ** 20),
      });
    }
    const taken = [...this.entries].filter(([, { places }]) => places.length);
    const total = taken.reduce((sum, [, { from, to }]) => sum + to - from, 0);
    const tables = new Map([...TYPES].map(([type, { table }]) => [type, table()]));
    let bytes = 0, slice = new ArrayBuffer(0), start = 0, file = /** @type {Sliced | null} */ (null);
    for (const [name, entry] of taken) {
      const { blob, shape: [height], from, to } = entry, row = (to - from) / height;
      const step = row * Math.max(1, Math.floor(PART / row));
      let broken = 0;
      for (let at = from; at < to; at += step) {
        const end = Math.min(at + step, to);
        if (file !== blob || end > start + slice.byteLength) {
          report?.({ bytes, total });
          [file, start] = [blob, at];
          slice = await sliceBytes(blob, at, Math.max(end, Math.min(at + SLICE, blob.size)));
        }
        broken += fill(entry, (at - from) / row, slice.slice(at - start, end - start), tables.get(entry.dtype) ?? null);
        bytes += end - at;
      }
      if (broken) this.notFinite.push(`${shown(name)} (${broken})`);
    }
    report?.({ bytes, total });
  }
}

/**
 * Give rows of a tensor, from row `first`, to its places. Returns how many of their numbers are not finite.
 * @param {Entry} entry @param {ArrayBuffer} buffer
 */
function fill({ dtype, shape, places }, first, buffer, table) {
  const bits = new Uint16Array(buffer), stored = table ? bits : new Float32Array(buffer);
  for (const place of places) place(stored, first, sizeOf(shape.slice(1)), table);
  return notFiniteIn(bits, dtype);
}
