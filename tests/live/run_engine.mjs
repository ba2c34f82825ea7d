// Runs jobs of a test in the engine. Standard input: { folder, jobs }, standard output: the results, both as JSON.
// An array of numbers is written as { numbers: base64 of float32, shape }.
import { existsSync, readFileSync } from "node:fs";
import { readAddress, readForced, writeAddress } from "../../live/app/link.js";
import { SHARED } from "../../live/app/shared.js";
import { shuffled } from "../../live/pages/positions.js";
import { OURS } from "../../live/engine/checkpoint.js";
import { FOREIGN } from "../../live/engine/foreign/open.js";
import { EngineError } from "../../live/engine/errors.js";
import { LocalEngine } from "../../live/engine/engine.js";
import { greedy, largestIndices } from "../../live/engine/decoding/search.js";
import { resultOfReading } from "../../live/engine/inference/reading.js";
import { recordedIn, sourceOf } from "../../live/engine/inference/run.js";
import { translating } from "../../live/engine/inference/translate.js";
import { clean, cleaningChanges } from "../../live/engine/text/cleaning.js";
import { Weights } from "../../live/engine/safetensors.js";
import { editsOf } from "../../live/engine/interventions.js";
import { NO_TRACE, Trace } from "../../live/engine/trace.js";
import { finish } from "./finish.mjs";
import shared from "../../live/shared.json" with { type: "json" };

Object.assign(SHARED, shared);
const openerOf = (config) => ("format" in JSON.parse(config) ? OURS : FOREIGN);
/** @type {any} */
let classifier, foreign;

const JOBS = {
  /** One pass of a model of another library over ids: what passes the hook points. A decoder may read them in parts. */
  pass(_engine, { ids, target, segments, parts = [ids.length], changes = {} }) {
    const { task, model } = foreign, trace = new Trace({ edits: editsOf(changes) });
    if (task === "translation") model.decode(target, model.encode(ids, trace), trace);
    else if (task === "continuation") {
      const cache = parts.length > 1 ? model.startCache() : undefined;
      for (const length of parts) model.decode(ids.splice(0, length), null, trace, cache);
    } else {
      const { states } = model.encode(ids, trace, { segments });
      if (task !== "reading") model.logits(states, trace);
    }
    return recordedIn(trace);
  },
  /** The most probable ids, one after another. */
  write(_engine, { ids, count }) {
    const { task, model, specials } = foreign, cache = model.startCache(), written = [];
    const memory = task === "translation" ? model.encode(ids, NO_TRACE) : null;
    let given = memory ? [specials.start] : ids;
    while (written.length < count) {
      const { data, shape: [, V] } = model.decode(given, memory, NO_TRACE, cache);
      given = largestIndices(data.subarray(-V), 1);
      written.push(...given);
    }
    return written;
  },
  /** The sizes that each text of a config.json describes. */
  describe: (_engine, { configs }) => configs.map(
    (config) => openerOf(config).describe({ "config.json": config }).config
  ),
  described: () => ({ ...foreign, model: undefined, weights: undefined }),
  /** What the page shows for a run, or the sentence of its refusal. `files` stand for those of the folder. */
  async result(engine, { run, files = {} }) {
    const read = Object.fromEntries(Object.entries({ ...texts, ...files }).filter(([, text]) => text !== null));
    try {
      await engine.open({ texts: read, weights: { "model.safetensors": file } });
      return await engine.result(run);
    } catch (error) {
      if (error instanceof EngineError) return { refusal: error.message };
      throw error;
    }
  },
  /** The choices that the page reads from a link, and the link that it writes for them. */
  link(_engine, { link, pages }) {
    const { page, choices } = readAddress(link, pages);
    return { page, choices, link: writeAddress(page, choices) };
  },
  /** What the page translates for a link. */
  async opened(engine, { link, pages }) {
    const { text, forced, intervention } = readAddress(link, pages).choices;
    return (await engine.result({ text, forced: [...readForced(forced ?? "")], changes: intervention })).text;
  },
  shuffled: (_engine, { text, number }) => shuffled(text, number),
  /** The ids that greedy search writes for each text. */
  greedy: (engine, { texts }) => texts.map(
    (text) => finish(greedy(engine.checkpoint.model, sourceOf(
      engine.checkpoint, text, "", engine.checkpoint.config.max_length
    ).ids, { specials: engine.checkpoint.specials })).ids
  ),
  /** The ids of each line, its tokens, their words and the text that they decode to. */
  tokenize: ({ checkpoint: { tokenizer } }, { lines }) => lines.map((line) => {
    const ids = tokenizer.encode(line);
    return [ids, ids.map((id) => tokenizer.shown(id)), tokenizer.words(ids), tokenizer.decode(ids)];
  }),
  /** Each line as the model reads it, and what was changed. */
  clean: (_engine, { lines }) => lines.map((line) => [clean(line), cleaningChanges(line)]),
  translate: (engine, { text, changes = {}, forced = [], ...options }) => finish(translating(engine.checkpoint, text, {
    ...options, forced: new Map(forced), edits: editsOf(changes),
  })),
  silence: async (engine, { text }) => engine.silenceEachHead(await engine.result({ text })),
  /** How many heads are measured when a translation ends that was asked for meanwhile, and how many there are. */
  async "silence-meanwhile"(engine, { text }) {
    const written = await engine.result({ text }), measured = [];
    const all = engine.silenceEachHead(written, 0, { report: ({ done }) => measured.push(done) });
    await engine.result({ text });
    return [measured.length, (await all).length];
  },
  /** The class of a text with these ids. The last one is added to each text. */
  classify: (_engine, { ids, changes = {}, record }) => resultOfReading({
    ...classifier, tokenizer: { encode: () => ids.slice(0, -1), shown: String, words: (all) => all.map((_, i) => i) },
  }, "", "", { edits: editsOf(changes), record }),
};

/** JSON, with arrays of numbers as base64. */
function written(_key, value) {
  const isTensor = value?.data instanceof Float32Array;
  return isTensor
    ? {
      numbers: Buffer.from(value.data.buffer, value.data.byteOffset, value.data.byteLength).toString("base64"),
      shape: value.shape,
    }
    : value;
}

const { folder, jobs } = JSON.parse(readFileSync(0, "utf8"));
const read = (name) => readFileSync(`${folder}/${name}`);
const file = new Blob([read("model.safetensors")]), engine = new LocalEngine();
const names = ["config.json", "tokenizer.json", "tokenizer_config.json", "generation_config.json"];
const texts = Object.fromEntries(names.filter((name) => existsSync(`${folder}/${name}`)).map(
  (name) => [name, `${read(name)}`]
));
const opener = openerOf(texts["config.json"]), description = opener.describe(texts);
if (description.family !== "headlight") {
  const weights = await Weights.open({ file });
  foreign = { ...description, model: opener.modelOf(description, weights) };
  await weights.read();
} else
if (description.task === "classification") { // its words need spaCy, so the tests give ids
  const weights = await Weights.open({ file });
  classifier = {
    ...description, model: opener.modelOf(description, weights), specials: opener.specialsOf(description, null),
  };
  await weights.read();
} else await engine.open({ texts, weights: { "model.safetensors": file } });
const results = [];
for (const { job, ...options } of jobs) results.push(await JOBS[job](engine, options));
process.stdout.write(JSON.stringify(results, written));
