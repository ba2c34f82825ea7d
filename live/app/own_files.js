// The files of a visitor's own model: a folder, a .zip or single files, dropped or chosen. They stay on this device.
// Here they are judged by their names and sizes, and only their texts are read. No text of a file is ever markup.
import { N_, require, shown } from "../engine/errors.js";
import { requireSize } from "../engine/safetensors.js";
import { membersOf } from "./zip.js";

const MEBI = 2 ** 20, DEPTH = 4; // of a folder
export const MAX_FILES = 10_000;
/** The texts that something reads, and the most MB of each: the limits of model/safety/json_files.py. */
const TEXTS = new Map(Object.entries({
  "config.json": 1, "generation_config.json": 1, "special_tokens_map.json": 1, "tokenizer_config.json": 8,
  "model.safetensors.index.json": 8, "tokenizer.json": 40, "vocab.json": 40, "vocab.txt": 40, "merges.txt": 40,
  "README.md": 1,
}));
const WEIGHTS = ".safetensors", WHOLE = "model.safetensors";
/** Weights of other programs: the end of a name → what to do. @type {[string, string][]} */
const OTHERS = [
  ["adapter_config.json", N_("{name} holds a LoRA adapter, which only changes another model. Merge them first.")],
  [".gguf", N_("{file} is in the format GGUF of llama.cpp. Choose the folder from which it was made.")],
  [".onnx", N_("{file} is an ONNX graph. Choose the folder from which it was exported.")],
  [".bin", N_("{file} has weights in a format that can hold programs. Save the model as safetensors, then choose it.")],
  [".pt", N_("{file} has weights in a format that can hold programs. Save the model as safetensors, then choose it.")],
  [".pth", N_("{file} has weights in a format that can hold programs. Save the model as safetensors, then choose it.")],
  [".h5", N_("{file} holds weights of TensorFlow. Save the model as safetensors, then choose it.")],
  [".zip", N_("The archive {file} is inside the archive or the folder. Unpack it first.")],
];

const isHidden = (path) => path.split("/").some((part) => part.startsWith(".") || part.startsWith("__MACOSX"));
const lastOf = (path) => path.slice(path.lastIndexOf("/") + 1);
const folderOf = (path) => path.slice(0, path.lastIndexOf("/") + 1);

/** How many bytes of a text are read at most; 0 for a file that is no text. @param {string} path */
export const mostBytes = (path) => (TEXTS.get(lastOf(path)) ?? 0) * MEBI;

/** A file of the visitor. @param {File} file @param {string} [path] @returns {OwnFile} */
const ownFile = (file, path = file.webkitRelativePath || file.name) => (
  { path, size: file.size, read: async () => file }
);

/** The files that were chosen in a field. @param {FileList} files */
export function chosenFiles(files) {
  return [...files].slice(0, MAX_FILES).map((file) => ownFile(file));
}

/** The files that were dropped, also those in folders. @param {DataTransfer} dropped @returns {Promise<OwnFile[]>} */
export async function droppedFiles({ items, files }) {
  const entries = [...items].map((item) => item.webkitGetAsEntry?.()).filter(Boolean); // before the first pause
  if (!entries.length) return chosenFiles(files);
  const found = /** @type {OwnFile[]} */ ([]);
  await Promise.all(entries.map((entry) => addEntry(entry, found, 0)));
  return found;
}

/** @param {any} entry Of a folder or a file. @param {OwnFile[]} found @param {number} depth */
async function addEntry(entry, found, depth) {
  if (found.length >= MAX_FILES || depth > DEPTH) return;
  if (entry.isFile) {
    const file = await new Promise((resolve, reject) => entry.file(resolve, reject));
    found.push(ownFile(file, entry.fullPath.replace(/^\//, "")));
    return;
  }
  const reader = entry.createReader();
  for (;;) {
    const some = await new Promise((resolve, reject) => reader.readEntries(resolve, reject)); // a browser gives 100
    for (const one of some) await addEntry(one, found, depth + 1);
    if (!some.length || found.length >= MAX_FILES) return;
  }
}

/**
 * What the engine needs of these files.
 * @param {OwnFile[]} given @param {Watching} [watching] `report` gets `{ bytes, total }` while an archive is unpacked.
 * @returns {Promise<OwnFiles>}
 */
export async function ownFilesOf(given, watching = {}) {
  const [first] = given, isArchive = given.length === 1 && /\.zip$/i.test(first.path);
  const files = (isArchive ? await membersOf(await first.read()) : given).filter(({ path }) => !isHidden(path));
  const title = (isArchive ? lastOf(first.path).replace(/\.zip$/i, "") : given[0]?.path.split("/")[0]) || "model";
  const folder = folderWith(files, title), inside = files.filter(({ path }) => folderOf(path) === folder);
  const names = inside.map(({ path }) => lastOf(path)), isWhole = names.includes(WHOLE);
  const isWeights = (name) => (isWhole ? name === WHOLE : name.endsWith(WEIGHTS)); // an adapter may stand beside it
  const weights = inside.filter(({ path }) => isWeights(lastOf(path)));
  require(weights.length, "no-weights", ...noWeights(names, title));
  requireSize(weights.reduce((sum, { size }) => sum + size, 0));
  const texts = inside.filter(({ path }) => TEXTS.has(lastOf(path)));
  for (const { path, size } of texts) {
    const most = mostBytes(path);
    require(
      size <= most, "text-too-large", N_("{file} has {size} MB, and the limit is {most} MB."),
      { file: lastOf(path), size: Math.ceil(size / MEBI), most: most / MEBI },
    );
  }
  const total = weights.reduce((sum, { size }) => sum + size, 0);
  let done = 0;
  const contents = async (files, convert, report) => {
    const found = /** @type {[string, any][]} */ ([]);
    for (const file of files) {
      found.push([lastOf(file.path), await convert(await file.read({ ...watching, report }))]);
      done += file.size;
    }
    return Object.fromEntries(found);
  };
  const read = await contents(texts, (blob) => blob.text());
  done = 0;
  const isUsed = (name) => TEXTS.has(name) || isWeights(name);
  return {
    name: folder.split("/").at(-2) || (title === names[0] ? "model" : title), texts: read,
    weights: await contents(weights, (blob) => blob, (bytes) => watching.report?.({ bytes: done + bytes, total })),
    unused: names.filter((name) => !isUsed(name)),
  };
}

/** The only folder with a config.json, with a slash at its end. @param {OwnFile[]} files @param {string} title */
function folderWith(files, title) {
  const described = files.map(({ path }) => path).filter((path) => lastOf(path) === "config.json").map(folderOf);
  const withWeights = new Set(files.filter(({ path }) => path.endsWith(WEIGHTS)).map(({ path }) => folderOf(path)));
  const outer = /** @type {string[]} */ ([]);
  for (const one of described.sort()) { // so that the folders inside a folder follow it; there may be thousands
    const last = outer.at(-1);
    if (last === undefined || one === last || !one.startsWith(last)) outer.push(one);
  }
  const weighted = outer.filter((one) => withWeights.has(one));
  const found = weighted.length ? weighted : outer;
  if (!found.length) require(false, "no-config", ...noConfig(files.map(({ path }) => lastOf(path)), title));
  require(
    found.length === 1, "several-models", N_("Several folders have a config.json: {folders}. Choose one of them."),
    { folders: found.slice(0, 4).map(shown).join(", ") },
  );
  return found[0];
}

/** Why files without weights are no model. @returns {[string, Record<string, unknown>]} */
function noWeights(names, name) {
  return otherProgram(names, name) ?? [
    N_("{name} has no model.safetensors. Add the file of its weights."), { name: shown(name) },
  ];
}

/** Why files without config.json are no model. @returns {[string, Record<string, unknown>]} */
function noConfig(names, name) {
  return otherProgram(names, name) ?? [
    names.length
      ? N_("{name} has no config.json. Choose the whole folder of a model.")
      : N_("{name} is empty. Choose the whole folder of a model."),
    { name: shown(name) },
  ];
}

/** @returns {[string, Record<string, unknown>] | undefined} */
function otherProgram(names, name) {
  for (const [end, sentence] of OTHERS) {
    const file = names.find((one) => one.toLowerCase().endsWith(end));
    if (file) return [sentence, { name: shown(name), file: shown(file) }];
  }
}
