// Models of the Hugging Face Hub, or of a mirror with its addresses: the list of a model's files, their texts, and
// parts of the weights. The host learns the name of the model. It gets no cookie, and not the address of this page.
import { EngineError, N_, require, shown } from "../engine/errors.js";
import { parseJson } from "../engine/json.js";
import { MAX_FILES } from "./dropping.js";
import { collected } from "./held.js";
import { mostBytes } from "./own_files.js";
import { SHARED } from "./shared.js";

const LIST = 8 << 20; // the most bytes of the list of files
const CLOSED = N_(
  "{name} is only for people who have accepted its terms on {host}. Load its files there, then choose them here."
);
const UNKNOWN = N_("{host} has no public model {name}. Check the name.");
const EARLY = N_("{file} ended too early. Try again.");
const LIST_DAMAGED = N_("The list of files from {host} cannot be read. Try again later.");

/**
 * The name of a model as a visitor writes it, also as an address of the host: without the address of the host.
 * @param {string} hub @param {string} text
 */
export function modelNameIn(hub, text) {
  const name = text.trim().replace(`${hub}/`, ""), { published } = SHARED.choices.hub;
  require(
    new RegExp(`^(?:${published})$`).test(name), "hub-name",
    N_("{name} is not the name of a model. Write it like openai-community/gpt2 or openai-community/gpt2@main."),
    { name: shown(name) },
  );
  return name;
}

/**
 * The files of a model, as those that a visitor chooses. The weights are read in parts.
 * @param {string} hub The address of the host. @param {string} asked A name, which may end with "@" and a revision.
 * @param {AbortSignal} signal @returns {Promise<OwnFile[]>}
 */
export async function hubFiles(hub, asked, signal) {
  const [name, revision = "main"] = asked.split("@"), values = { host: new URL(hub).host, name: shown(asked) };
  const list = await answerOf(`${hub}/api/models/${name}/revision/${encodeURIComponent(revision)}?blobs=true`, {
    values: { ...values, file: shown(asked) }, most: LIST, signal,
    refusals: { 401: UNKNOWN, 403: CLOSED, 404: UNKNOWN },
  });
  const { sha, siblings, gated } = (await list.text().then(parseJson).catch(() => null)) ?? {};
  require(Array.isArray(siblings) && siblings.length <= MAX_FILES, "hub-list", LIST_DAMAGED, values);
  require(!gated, "hub-closed", CLOSED, values);
  const commit = /^[\da-f]{40}$/.test(sha) ? sha : revision; // all files are of one state of the model
  const home = `${hub}/${name}/resolve/${encodeURIComponent(commit)}/`, folder = name.slice(name.indexOf("/") + 1);
  return siblings.map((one) => {
    const { rfilename: file, size } = one ?? {};
    require(typeof file === "string" && Number.isSafeInteger(size) && size >= 0, "hub-list", LIST_DAMAGED, values);
    const address = home + file.split("/").map(encodeURIComponent).join("/");
    return fileOfHub(`${folder}/${file}`, size, address, { ...values, file: shown(file) });
  });
}

/** @returns {OwnFile} */
function fileOfHub(path, size, address, values) {
  const refusals = { 401: CLOSED, 403: CLOSED }, most = mostBytes(path);
  const part = async (from, to, signal) => {
    const found = await answerOf(address, { values, most: to - from, range: [from, to], signal, refusals });
    return requireWhole(found, to - from, values).arrayBuffer();
  };
  const weights = { size, slice: (from, to) => ({ arrayBuffer: (signal) => part(from, to, signal) }) };
  return { path, size, read: async ({ signal } = {}) => /** @type {any} */ (
    most ? requireWhole(await answerOf(address, { values, most, signal, refusals }), size, values) : weights
  ) };
}

/** @param {Blob} found @param {number} size @param {any} values @returns {Blob} */
function requireWhole(found, size, { file }) {
  require(found.size === size, "hub-early", EARLY, { file });
  return found;
}

/**
 * What the host answers, if it has at most `most` bytes. More are not loaded.
 * @param {string} address
 * @param {{ values: Record<string, unknown>, most: number, range?: [number, number], signal?: AbortSignal,
 *   refusals: Record<number, string> }} options `refusals`: the sentences for some statuses.
 * @returns {Promise<Blob>}
 */
async function answerOf(address, { values, most, range, signal, refusals }) {
  const ending = new AbortController(), end = () => ending.abort();
  signal?.addEventListener("abort", end, { once: true });
  try {
    signal?.throwIfAborted();
    const found = await fetch(address, {
      credentials: "omit", referrerPolicy: "no-referrer", cache: "no-store", signal: ending.signal,
      headers: range ? { Range: `bytes=${range[0]}-${range[1] - 1}` } : {},
    });
    requireAnswer(found, range, refusals, values);
    return await limited(found, most, values);
  } catch (error) {
    require(!signal?.aborted, "cancelled", N_("The work was cancelled."));
    if (error instanceof EngineError) throw error;
    throw new EngineError("hub-unreachable", N_(
      "{host} could not be reached. Check the connection, then try again."
    ), values);
  } finally {
    signal?.removeEventListener("abort", end);
    end(); // of an answer that is refused, nothing more is loaded
  }
}

/** @param {Response} found */
function requireAnswer({ status, ok }, range, refusals, values) {
  require(!refusals[status], "hub-refused", refusals[status], values);
  require(
    status !== 429, "hub-busy",
    N_("{host} gets too many requests from this network. Wait some minutes, then try again."), values,
  );
  require(
    ok, "hub-failed", N_("{host} answered with the error {status}. Try again later."), { ...values, status },
  );
  require(
    !range || status === 206, "hub-whole",
    N_("{host} sends whole files, but this page reads parts of them. Load the files there, then choose them here."),
    values,
  );
}

/** @param {Response} found @param {number} most @param {any} values @returns {Promise<Blob>} */
async function limited(found, most, { file }) {
  const check = (bytes) => require(
    bytes <= most, "text-too-large", N_("{file} has more than {most} MB. Choose another model."),
    { file, most: Math.ceil(most / 2 ** 20) },
  );
  check(Number(found.headers.get("content-length")));
  return collected(/** @type {ReadableStream} */ (found.body), check).catch((error) => {
    throw error instanceof EngineError ? error : new EngineError("hub-early", EARLY, { file });
  });
}
