// Read the members of a .zip: its directory first, which is at its end, and a member when it is asked for. A member
// that is stored is a part of the file. One that is deflated is unpacked by the browser.
import { N_, require } from "../engine/errors.js";
import { collected } from "./held.js";

const END = 0x06054b50, END_64 = 0x06064b50, LOCATOR_64 = 0x07064b50, ENTRY = 0x02014b50, LOCAL = 0x04034b50;
const MAX_DIRECTORY = 16 << 20, MAX_MEMBERS = 10_000, MAX_COMMENT = 1 << 16;
const GZIP = Uint8Array.of(0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255); // the start of a file of gzip without a name
const FULL = 0xffffffff; // the number is in the part for large archives
const DAMAGED = N_("The .zip is damaged or not complete. Make it again.");

/** @returns {asserts condition} */
function check(/** @type {unknown} */ condition) {
  require(condition, "zip-damaged", DAMAGED);
}

/** The numbers of a part of a file. @param {Blob} blob */
async function viewOf(blob, from, to) {
  check(from >= 0 && from <= to && to <= blob.size);
  return new DataView(await blob.slice(from, to).arrayBuffer());
}

/** A number of 64 bits. @param {DataView} view */
function large(view, at) {
  const number = Number(view.getBigUint64(at, true));
  check(Number.isSafeInteger(number));
  return number;
}

/** Where the directory is, and how many members it lists. @param {Blob} zip */
async function directoryOf(zip) {
  const start = Math.max(0, zip.size - MAX_COMMENT - 22), view = await viewOf(zip, start, zip.size);
  let at = view.byteLength - 22;
  while (at >= 0 && view.getUint32(at, true) !== END) at--;
  check(at >= 0);
  const own = { count: view.getUint16(at + 10, true), size: view.getUint32(at + 12, true) };
  const directory = { ...own, from: view.getUint32(at + 16, true) };
  if (at < 20 || view.getUint32(at - 20, true) !== LOCATOR_64) return directory;
  const place = large(view, at - 12), more = await viewOf(zip, place, place + 56);
  check(more.getUint32(0, true) === END_64);
  return { count: large(more, 32), size: large(more, 40), from: large(more, 48) };
}

/** The sizes and the place of a member that the part for large archives has. @param {DataView} view */
function largeNumbers(view, at, end, numbers) {
  for (let part = at; part + 4 <= end; part += 4 + view.getUint16(part + 2, true)) {
    if (view.getUint16(part, true) !== 1) continue;
    let next = part + 4;
    return numbers.map((number) => {
      if (number !== FULL) return number;
      check(next + 8 <= end);
      next += 8;
      return large(view, next - 8);
    });
  }
  return numbers;
}

/**
 * The members of an archive, without its folders.
 * @param {Blob} zip @returns {Promise<OwnFile[]>}
 */
export async function membersOf(zip) {
  const { count, size, from } = await directoryOf(zip);
  check(count <= MAX_MEMBERS && size <= MAX_DIRECTORY);
  const view = await viewOf(zip, from, from + size), members = /** @type {OwnFile[]} */ ([]);
  for (let at = 0, i = 0; i < count; i++) {
    check(at + 46 <= size && view.getUint32(at, true) === ENTRY);
    const lengths = [28, 30, 32].map((offset) => view.getUint16(at + offset, true)), name = at + 46;
    const extra = name + lengths[0], next = extra + lengths[1] + lengths[2];
    check(next <= size);
    const path = new TextDecoder().decode(new Uint8Array(view.buffer, name, lengths[0]));
    const numbers = [24, 20, 42].map((offset) => view.getUint32(at + offset, true));
    const sum = view.getUint32(at + 16, true);
    const [whole, packed, place] = largeNumbers(view, extra, extra + lengths[1], numbers);
    const method = view.getUint16(at + 10, true), isSecret = (view.getUint16(at + 8, true) & 1) === 1;
    at = next;
    if (path.endsWith("/")) continue;
    members.push({ path, size: whole, read: (watching) => contentOf(
      zip, { path, packed, size: whole, place, method, isSecret, sum }, watching
    ) });
  }
  return members;
}

/**
 * The contents of a member. It may not be longer than the directory says. The browser compares the sum (CRC-32) of
 * what it unpacks if the member stands in the frame of gzip. The sum of a stored member is not compared: its bytes are
 * read in slices.
 * @param {Blob} zip @param {any} member @param {Watching} [watching] `report` gets the number of bytes so far.
 * @returns {Promise<Blob>}
 */
async function contentOf(zip, { path, packed, size, place, method, isSecret, sum }, { report, signal } = {}) {
  require(
    !isSecret && (method === 0 || method === 8), "zip-unsupported",
    N_("{file} is encrypted or packed in a way that the browser cannot unpack. Make the .zip again without it."),
    { file: path },
  );
  const local = await viewOf(zip, place, place + 30);
  check(local.getUint32(0, true) === LOCAL);
  const from = place + 30 + local.getUint16(26, true) + local.getUint16(28, true);
  check(from + packed <= zip.size && (method === 8 || packed === size));
  if (method === 0) return zip.slice(from, from + size);
  const ending = new Uint32Array([sum, size % 2 ** 32]); // in the order of bytes of all devices with a browser
  const unpacked = new Blob([GZIP, zip.slice(from, from + packed), ending]).stream();
  const blob = await collected(unpacked.pipeThrough(new DecompressionStream("gzip")), (bytes) => {
    signal?.throwIfAborted();
    check(bytes <= size);
    report?.(bytes);
  }).catch(() => null);
  require(!signal?.aborted, "cancelled", N_("The work was cancelled."));
  check(blob?.size === size);
  return /** @type {Blob} */ (blob);
}
