// The files of a visitor's own model: a folder, a .zip or single files. They are judged by their names and sizes, and
// only their texts are read. No text of a file is ever markup.
import { N_, require, shown } from "../engine/errors.js";
import { requireSize } from "../engine/safetensors.js";
import { membersOf } from "./zip.js";

const MEBI = 2 ** 20;
/** The texts that something reads, and the most MB of each: the limits of model/safety/json_files.py. */
const TEXTS = new Map(Object.entries({
  "config.json": 1, "generation_config.json": 1, "special_tokens_map.json": 1, "tokenizer_config.json": 8,
  "model.safetensors.index.json": 8, "tokenizer.json": 40, "vocab.json": 40, "vocab.txt": 40, "merges.txt": 40,
  "README.md": 1, "source.spm": 8, "spiece.model": 8, "tokenizer.model": 8,
}));
const BYTES = /\.(spm|model)$/; // read as texts with one character for each byte
const WEIGHTS = ".safetensors", WHOLE = "model.safetensors";
const TOKENIZERS = ["tokenizer.json", "vocab.json", "vocab.txt", "spiece.model", "tokenizer.model"];
const MOST_NAMES = 4, MOST_PARTS = 1000; // of files in a sentence; of weights
const PICKLED = N_(
  "{file} has weights in a format that can hold programs. Save the model as safetensors, then choose it."
);
/** Weights of other programs: the end of a name → what to do. @type {[string, string][]} */
const OTHERS = [
  ["adapter_config.json", N_("{name} holds a LoRA adapter, which only changes another model. Merge them first.")],
  [".gguf", N_("{file} is in the format GGUF of llama.cpp. Choose the folder from which it was made.")],
  [".onnx", N_("{file} is an ONNX graph. Choose the folder from which it was exported.")],
  [".bin", PICKLED], [".pt", PICKLED], [".pth", PICKLED],
  [".h5", N_("{file} holds weights of TensorFlow. Save the model as safetensors, then choose it.")],
  [".zip", N_("The archive {file} is inside the archive or the folder. Unpack it first.")],
];

const charactersIn = async (blob) => Array.from(
  new Uint8Array(await blob.arrayBuffer()), (byte) => String.fromCharCode(byte)
).join("");
const isHidden = (path) => path.split("/").some((part) => part.startsWith(".") || part.startsWith("__MACOSX"));
const lastOf = (path) => path.slice(path.lastIndexOf("/") + 1);
const folderOf = (path) => path.slice(0, path.lastIndexOf("/") + 1);

/** How many bytes of a text are read at most; 0 for a file that is no text. @param {string} path */
export const mostBytes = (path) => (TEXTS.get(lastOf(path)) ?? 0) * MEBI;

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
  require(weights.length, "no-weights", ...noModel(names, title));
  const seen = new Set(), twice = names.find((name) => seen.has(name) || !seen.add(name));
  require(twice === undefined, "file-twice", N_("{file} is there twice. Keep one of the two."), { file: shown(twice) });
  require(
    weights.length <= MOST_PARTS, "too-many-weights",
    N_("The weights are in {n} files, and the limit is {most}. Save the model in fewer files."),
    { n: weights.length, most: MOST_PARTS },
  );
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
      found.push([lastOf(file.path), await convert(await file.read({ ...watching, report }), file.path)]);
      done += file.size;
    }
    return Object.fromEntries(found);
  };
  const read = await contents(texts, (blob, path) => (BYTES.test(path) ? charactersIn(blob) : blob.text()));
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
  const described = files.map(({ path }) => path).filter((path) => lastOf(path) === "config.json").map(folderOf).sort();
  const withWeights = new Set(files.filter(({ path }) => path.endsWith(WEIGHTS)).map(({ path }) => folderOf(path)));
  const outer = /** @type {string[]} */ ([]);
  for (const one of described) { // the folders inside a folder follow it; there may be thousands
    const last = outer.at(-1);
    if (last === undefined || !one.startsWith(last)) outer.push(one);
  }
  const weighted = outer.filter((one) => withWeights.has(one));
  const found = weighted.length ? weighted : outer;
  if (!found.length) require(false, "no-config", ...noModel(files.map(({ path }) => lastOf(path)), title));
  require(
    found.length === 1, "several-models", N_("Several folders have a config.json: {folders}. Choose one of them."),
    { folders: found.slice(0, 4).map(shown).join(", ") },
  );
  return found[0];
}

/** Why files without config.json or weights are no model. @returns {[string, Record<string, unknown>]} */
function noModel(names, name) {
  for (const [end, sentence] of OTHERS) {
    const file = names.find((one) => one.toLowerCase().endsWith(end));
    if (file) return [sentence, { name: shown(name), file: shown(file) }];
  }
  if (!names.length) return [N_("{name} is empty. Choose the whole folder of a model."), { name: shown(name) }];
  const needed = { "config.json": ["config.json"], "model.safetensors": [WEIGHTS], "tokenizer.json": TOKENIZERS };
  const missing = Object.entries(needed).filter(([, ends]) => !names.some((one) => ends.some(
    (end) => (end === WEIGHTS ? one.endsWith(end) : one === end)
  ))).map(([file]) => file);
  return [
    N_("{name} is not a whole model. Missing: {missing}. Choose all files of the model together, or a .zip of them."),
    { name: shown(names.includes(name) ? names.slice(0, MOST_NAMES).join(", ") : name), missing: missing.join(", ") },
  ];
}
