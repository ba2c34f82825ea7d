// The parts of the engine of Headlight Live, and what it does with damaged files. tests/live compares it with PyTorch.
import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import test from "node:test";
import { readConfig } from "../../live/engine/checkpoint.js";
import { largestIndices } from "../../live/engine/decoding/search.js";
import { LocalEngine, serveEngine, WorkerEngine } from "../../live/engine/engine.js";
import { running, translating } from "../../live/engine/inference/translate.js";
import { readCheckpoint } from "../../live/engine/opening.js";
import { editsOf, paint, uniformHead } from "../../live/engine/interventions.js";
import { gelu } from "../../live/engine/network/layers.js";
import { decoderMask, paddingMask } from "../../live/engine/network/masks.js";
import { Weights } from "../../live/engine/safetensors.js";
import { linear, softmax, tensor } from "../../live/engine/tensor.js";
import { say, useWords } from "../../live/ui/words.js";
import { finish } from "../live/finish.mjs";

/** Random numbers from 0 to 1, the same for the same seed: a counter, mixed (Steele et al. 2014). */
function seededNumbers(seed) {
  let state = seed;
  return () => {
    state = (state + 0x9e3779b9) | 0;
    let z = Math.imul(state ^ (state >>> 16), 0x85ebca6b);
    z = Math.imul(z ^ (z >>> 13), 0xc2b2ae35);
    return ((z ^ (z >>> 16)) >>> 0) / 2 ** 32;
  };
}

const translate = (checkpoint, text, options) => finish(translating(checkpoint, text, options));

const SIZES = {
  d_model: 12, num_heads: 2, d_ff: 10, num_encoder_layers: 1, num_decoder_layers: 1, max_length: 16, norm: "post",
  activation: "relu", attention: "scaled_dot_product", positional: "sinusoidal", tie_embeddings: "all",
};

/** A safetensors file: name → [type, shape, bytes]. */
function safetensors(tensors, change = (header) => header) {
  const parts = Object.values(tensors).map(([, , bytes]) => new Uint8Array(bytes.buffer ?? bytes));
  let end = 0;
  const header = Object.fromEntries(Object.entries(tensors).map(([name, [dtype, shape]], i) => {
    const start = end;
    end += parts[i].length;
    return [name, { dtype, shape, data_offsets: [start, end] }];
  }));
  const text = JSON.stringify(change(header));
  const json = new TextEncoder().encode(text.padEnd(Math.ceil(text.length / 8) * 8));
  const buffer = new ArrayBuffer(8 + json.length + end), bytes = new Uint8Array(buffer);
  new DataView(buffer).setBigUint64(0, BigInt(json.length), true);
  bytes.set(json, 8);
  let place = 8 + json.length;
  for (const part of parts) {
    bytes.set(part, place);
    place += part.length;
  }
  return new Blob([buffer]);
}

/** A tokenizer of Headlight with these merges. */
function tokenizerFile(merges, change = (values) => values) {
  const printable = (byte) => (byte > 32 && byte < 127) || (byte > 160 && byte !== 173);
  let others = 256;
  const bytes = Array.from({ length: 256 }, (_, byte) => String.fromCharCode(printable(byte) ? byte : others++));
  const tokens = ["<pad>", "<unk>", "<s>", "</s>", ...bytes, ...merges.map(([a, b]) => a + b)];
  return JSON.stringify(change({
    normalizer: null,
    pre_tokenizer: { type: "Sequence", pretokenizers: [
      { type: "Split", pattern: { Regex: "\\p{Han}" }, behavior: "Isolated", invert: false },
      { type: "ByteLevel", add_prefix_space: false, trim_offsets: true, use_regex: true },
    ] },
    model: { type: "BPE", vocab: Object.fromEntries(tokens.map((token, id) => [token, id])), merges },
  }));
}

/** The files of a small checkpoint with random weights. */
function files(sizes = {}) {
  const vocab = 260 + 2, config = { ...SIZES, source_vocab_size: vocab, target_vocab_size: vocab, ...sizes };
  const random = seededNumbers(1);
  const tensors = {}, add = (name, ...shape) => {
    const numbers = Float32Array.from({ length: shape.reduce((a, b) => a * b) }, () => 2 * random() - 1);
    tensors[name] = ["F32", shape, numbers];
  };
  const linearOf = (name, outputs, inputs) => [add(`${name}.weight`, outputs, inputs), add(`${name}.bias`, outputs)];
  add("encoder.embedding.tokens.weight", vocab, 12);
  for (const [stack, parts] of [["encoder", ["self"]], ["decoder", ["self", "cross"]]]) {
    const layer = `${stack}.layers.0`;
    for (const part of parts)
      for (const side of ["query", "key", "value", "output"])
        linearOf(`${layer}.${part}_attention.${side}_projection`, 12, 12);
    linearOf(`${layer}.feed_forward.expand`, 10, 12);
    linearOf(`${layer}.feed_forward.contract`, 12, 10);
    for (const part of [...parts.map((part) => `${part}_attention`), "feed_forward"])
      [add(`${layer}.${part}_residual.norm.weight`, 12), add(`${layer}.${part}_residual.norm.bias`, 12)];
  }
  const tokenizer = { kind: "bpe", source_language: "en", target_language: "de" };
  const texts = {
    "config.json": JSON.stringify({ format: 1, model: config, tokenizer }),
    "tokenizer.json": tokenizerFile([["a", "b"], ["Ġ", "ab"]]),
  };
  return { texts, weights: { "model.safetensors": safetensors(tensors) } };
}

const ENGINE = new URL("../../live/engine/", import.meta.url).pathname;
const MARKED = /N_\(\s*("[^"]*"(?:\s*\+\s*"[^"]*")*)/g;
const textOf = (literals) => [...literals.matchAll(/"([^"]*)"/g)].map(([, text]) => text).join("");
const marked = new Set(globSync(`${ENGINE}**/*.js`).flatMap(
  (file) => [...readFileSync(file, "utf8").matchAll(MARKED)].map(([, literals]) => textOf(literals))
));

// Every error has a sentence without values that are missing, and its template is a text that the page can translate.
const coded = (code) => (error) => error.code === code && error.message.endsWith(".") && !/\{\w+\}/.test(error.message)
  && marked.has(error.template);

/** The weights of one file. */
const opened = (file) => Weights.open({ file });

test("half precision, bfloat16 and single precision are read", async () => {
  const weights = await opened(safetensors({
    half: ["F16", [5], new Uint16Array([0x3c00, 0xc000, 0x0001, 0x7c00, 0x3555])],
    brain: ["BF16", [2], new Uint16Array([0x3f80, 0xc040])],
    single: ["F32", [1, 2], new Float32Array([0.1, -7])],
  }));
  const found = [weights.take("half", 5), weights.take("brain", 2), weights.take("single", 1, 2)];
  await weights.read();
  assert.deepEqual(found.map(({ data }) => [...data]), [
    [1, -2, 2 ** -24, Infinity, 0.333251953125], [1, -3], [Math.fround(0.1), -7],
  ]);
  assert.deepEqual(weights.notFinite, ["half (1)"]);
  weights.requireAllTaken();
});

test("a matrix may be stored transposed, with others, or in several files", async () => {
  const stored = Float32Array.from({ length: 24 }, (_, i) => i); // (4, 6)
  const shard = (name) => safetensors({ [name]: ["F32", [4, 6], stored] });
  const shards = { a: shard("joined"), b: shard("more") };
  const index = JSON.stringify({ weight_map: { joined: "a", more: "b" } }), weights = await Weights.open(shards, index);
  const parts = {
    joined: { rows: (o) => 2 * o + 1, stored: 4 }, more: { transposed: true, rows: (o) => 3 + o, stored: 6 },
  };
  weights.place = (name) => [name, parts[name] ?? {}];
  const odd = weights.matrix("joined", 2, 6), last = weights.matrix("more", 3, 4);
  const bytes = [];
  assert.ok(weights.bytes > 0 && odd.data.length === 0, "the memory is known before the numbers are read");
  await weights.read((progress) => bytes.push(progress));
  assert.deepEqual([...odd.rows([0, 1]).data], [6, 7, 8, 9, 10, 11, 18, 19, 20, 21, 22, 23]);
  assert.deepEqual([...last.rows([2, 0]).data], [5, 11, 17, 23, 3, 9, 15, 21]);
  assert.deepEqual(bytes.at(-1), { bytes: 192, total: 192 });
  weights.requireAllTaken();
  await assert.rejects(Weights.open({ a: shards.a }, index), coded("weights-file-missing"));
  await assert.rejects(Weights.open({ a: shards.a, c: shards.a }), coded("weights-damaged"), "a name in two files");
  const damaged = ["[]", "null", "{", "{}", '{"weight_map": "a"}', '{"weight_map": {"joined": 5}}',
    '{"weight_map": {"joined": "__proto__"}}', '{"weight_map": {"joined": "toString"}}'];
  for (const text of damaged) {
    const expected = (error) => /weights-(damaged|file-missing)/.test(error.code) && coded(error.code)(error);
    await assert.rejects(Weights.open(shards, text), expected);
  }
});

test("numbers of two bytes are read in about the same time, whatever their type", async () => {
  const timed = async (type) => {
    const weights = await opened(safetensors({ a: [type, [1 << 20], new Uint16Array(1 << 20)] }));
    weights.take("a", 1 << 20);
    const before = performance.now();
    await weights.read();
    return performance.now() - before;
  };
  const shortest = async (type) => Math.min(await timed(type), await timed(type), await timed(type), await timed(type));
  assert.ok(await shortest("BF16") < 6 * await shortest("F16"));
});

test("damaged weights end in an error with a code", async () => {
  const one = { a: ["F32", [2], new Float32Array(2)] }, whole = safetensors(one);
  const take = async (file, ...shape) => (await opened(file)).take("a", ...(shape.length ? shape : [2]));
  const refused = (file, code = "weights-damaged", ...shape) => assert.rejects(take(file, ...shape), coded(code));
  const changed = (changes) => safetensors(one, ({ a }) => ({ a: { ...a, ...changes } })), huge = [1 << 30, 1 << 30];
  await refused(new Blob([]));
  await refused(new Blob([new Uint8Array(64).fill(255)]));
  await refused(whole.slice(0, 30));
  await refused(whole.slice(0, -1));
  await refused(new Blob([whole, "x"]));
  for (const data_offsets of [[-4, 4], [4, 12], [0, 4], [0.5, 8.5], "0,8", [0, 1e300], [8, 0], [0, 8, 8]])
    await refused(changed({ data_offsets }));
  for (const shape of ["2", [2.5], [-2, -1], ["2"], [[2]], null]) await refused(changed({ shape }));
  await refused(changed({ dtype: "constructor" }), "weights-type");
  await refused(changed({ shape: huge }), "weights-damaged", ...huge);
  await refused(whole, "weights-shape", 3);
  const weights = await opened(whole);
  for (const name of ["b", "__proto__", "constructor"])
    assert.throws(() => weights.take(name, 2), coded("weights-missing"));
  assert.throws(() => weights.requireAllTaken(), coded("weights-unknown"));
  const long = await opened(safetensors({ ["x".repeat(9999)]: ["F32", [1], new Float32Array(1)] }));
  assert.throws(() => long.requireAllTaken(), ({ message }) => message.includes(`${"x".repeat(60)}…`));
  assert.throws(() => long.take("y".repeat(9999), 1), ({ message }) => message.length < 200);
  for (const header of [null, [], 5, "x", {}, { a: null }, { a: 5 }]) await refused(safetensors(one, () => header));
  await refused(safetensors(one, ({ a }) => ({ a, b: a }))); // the same bytes twice
  await refused(safetensors(one, ({ a }) => ({ a, b: { ...a, data_offsets: [4, 8] } })));
  const slice = (from, to) => whole.slice(from, Math.min(to, whole.size - 8)); // of a file that has become shorter
  const gone = await opened(Object.assign(safetensors(one), { slice }));
  gone.take("a", 2);
  await assert.rejects(gone.read(), coded("weights-unreadable"));
});

test("a wrong configuration or tokenizer is refused with a sentence", async () => {
  const good = files(), values = JSON.parse(good.texts["config.json"]);
  const changed = (name, text) => ({ ...good, texts: { ...good.texts, [name]: text } });
  const config = (changes) => changed("config.json", JSON.stringify({ ...values, ...changes }));
  const refused = (files, code) => assert.rejects(readCheckpoint(files), coded(code));
  const model = (changes, code) => refused(config({ model: { ...values.model, ...changes } }), code);
  assert.throws(() => readConfig({ "config.json": "{" }), coded("config-damaged"));
  assert.throws(() => readConfig({ "config.json": "{}" }), coded("config-damaged"));
  const wrong = [
    { max_length: 1e9 }, { d_model: 1 << 20, max_length: 64 }, { d_model: 0 }, { num_heads: 5 },
    { num_encoder_layers: 1.5 }, { num_heads: undefined }, { target_vocab_size: 7 },
  ];
  for (const changes of wrong) await model(changes, "config-damaged");
  await model({ norm: "none" }, "config-unsupported");
  await model({ num_decoder_layers: 2 }, "weights-missing");
  await model({ d_ff: 11 }, "weights-shape");
  await refused(config({ task: "painting" }), "config-unsupported");
  await refused(config({ tokenizer: { ...values.tokenizer, kind: "words" } }), "tokenizer-unsupported");
  const tokenizers = [
    "null", "{}", tokenizerFile([["a", "nothing"]]), tokenizerFile(
      [], ({ model, ...values }) => ({ ...values, model: { ...model, vocab: { a: 0 } } })
    ),
    tokenizerFile([], (values) => ({ ...values, normalizer: { type: "NFC" } })), tokenizerFile(
      [], ({ model, ...values }) => ({ ...values, model: { ...model, byte_fallback: true } })
    ),
  ];
  for (const tokenizer of tokenizers)
    await refused(changed("tokenizer.json", tokenizer), "tokenizer-damaged");
});

test("every entry of config.json that is missing or of another type is refused with a sentence", async () => {
  const good = files(), accepted = /** @type {string[]} */ ([]);
  const { model, tokenizer } = JSON.parse(good.texts["config.json"]);
  const attempt = async (path, value) => {
    const values = JSON.parse(good.texts["config.json"]), home = path.slice(0, -1).reduce((at, one) => at[one], values);
    const attempted = `${path.join(".")} = ${JSON.stringify(value)}`;
    home[path.at(-1)] = value; // undefined: it is missing
    try {
      await readCheckpoint({ ...good, texts: { ...good.texts, "config.json": JSON.stringify(values) } });
      accepted.push(attempted);
    } catch (error) {
      assert.ok(coded(error.code)(error), `${attempted}: ${error}`);
    }
  };
  const inside = (name, values) => Object.keys(values).map((one) => [name, one]);
  const named = [...inside("model", model), ...inside("tokenizer", tokenizer)];
  for (const path of [["format"], ["model"], ["tokenizer"], ...named])
    for (const value of [undefined, null, "x", [], {}, 1.5, -1, true]) await attempt(path, value);
  for (const value of [null, "x", []]) await attempt(["figures"], value);
  assert.deepEqual(accepted, ['tokenizer.source_language = "x"', 'tokenizer.target_language = "x"']);
  for (const whole of ["5", "null", '"x"', "[1]"])
    assert.throws(() => readConfig({ "config.json": whole }), coded("config-damaged"));
});

test("merges follow their order, and a long word takes bounded time", async () => {
  const { tokenizer } = await readCheckpoint(files()), [ab, spaceAb] = [260, 261];
  assert.deepEqual(tokenizer.encode("abab"), [spaceAb, ab]);
  assert.equal(tokenizer.shown(ab), "·ab");
  assert.equal(tokenizer.decode(tokenizer.encode("a\u{1F415}\u{a0}好 ab ")), "a\u{1F415} 好 ab");
  assert.equal(tokenizer.encode("ab".repeat(8000)).length, 8000);
  assert.throws(() => tokenizer.encode("好".repeat(6000)), coded("text-too-long"));
});

test("a product is the same for any number of rows", async () => {
  const weights = await opened(safetensors({ w: ["F32", [11, 3], Float32Array.from({ length: 33 }, (_, i) => i)] }));
  const weight = weights.matrix("w", 11, 3), bias = new Float32Array(11).fill(1);
  await weights.read();
  const y = linear(tensor([2, 3], new Float32Array([1, 0, 0, 0, 1, 2])), { weight, bias });
  assert.deepEqual([...y.data], [...Array(11).keys()].map((o) => 3 * o + 1).concat(
    [...Array(11).keys()].map((o) => 9 * o + 6)
  ));
  assert.deepEqual(y.shape, [2, 11]);
});

test("the kernel gives the products of plain JavaScript, for any size and for single precision and bf16", async () => {
  const seeded = seededNumbers(7), random = () => seeded() - 0.5;
  for (const [type, numbers] of [["F32", Float32Array], ["BF16", Uint16Array]])
    for (const [outputs, inputs, rows] of [[1, 1, 1], [8, 8, 2], [11, 3, 5], [9, 130, 17], [40, 513, 33]]) {
      const single = Float32Array.from({ length: outputs * inputs }, random);
      const upper = new Uint16Array(single.buffer).filter((_, i) => i % 2);
      const weights = await opened(safetensors({
        w: [type, [outputs, inputs], numbers === Float32Array ? single : upper],
      }));
      const matrix = weights.matrix("w", outputs, inputs), x = Float32Array.from({ length: inputs * rows }, random);
      await weights.read();
      assert.ok(matrix.memory.kernel, "the kernel runs here");
      const [found, alone, plain] = [1, 2, 3].map(() => new Float32Array(outputs * rows));
      matrix.multiply(x, found);
      for (let r = 0; r < rows; r++)
        matrix.multiply(x.subarray(r * inputs, (r + 1) * inputs), alone.subarray(r * outputs, (r + 1) * outputs));
      assert.deepEqual(found, alone, "a row has the same products alone and with others");
      matrix.memory.kernel = null;
      matrix.multiply(x, plain);
      const error = Math.max(...found.map((value, i) => Math.abs(value - plain[i])));
      assert.ok(error < 2e-6, `${type} (${outputs}, ${inputs}): ${error}`);
    }
});

test("a softmax leaves a row without numbers at 0, and GELU is that of the error function", () => {
  assert.deepEqual([...softmax(tensor([2, 2], new Float32Array([0, 0, -Infinity, -Infinity]))).data], [0.5, 0.5, 0, 0]);
  assert.ok(Math.abs(gelu(1) - 0.8413447) < 1e-6 && Math.abs(gelu(-1) + 0.1586553) < 1e-6 && gelu(0) === 0);
});

test("a mask allows earlier tokens that are not padding, and always the first", () => {
  assert.deepEqual([...decoderMask([0, 0, 5], 0)], [1, 0, 0, 1, 0, 0, 1, 0, 1]);
  assert.deepEqual([...(paddingMask([4, 0], 0) ?? [])], [1, 0]);
  assert.equal(paddingMask([4, 5], 0), null);
});

test("the largest numbers come first, and of equal ones the first", () => {
  const numbers = Float32Array.of(0.15, 0.5, -Infinity, 0.3, 0.5, 0.05);
  assert.deepEqual([1, 2, 3].map((count) => largestIndices(numbers, count)), [[1], [1, 4], [1, 4, 3]]);
});

test("a row with a score that is not a number has no weights that are numbers", () => {
  const { data } = softmax(tensor(
    [3, 3], new Float32Array([Number.NaN, 1, -Infinity, 1, 1, -Infinity, Infinity, 1, 1])
  ));
  assert.deepEqual([...data.slice(0, 6)], [Number.NaN, Number.NaN, 0, 0.5, 0.5, 0]);
  assert.ok(Number.isNaN(data[6]));
});

test("masked cells stay masked, whatever is painted or made uniform", () => {
  const masked = tensor([1, 2, 2], new Float32Array([5, -Infinity, 1, 2])), weights = softmax(masked);
  const head = { kind: "decoder", layer: 0, head: 0 };
  assert.deepEqual([...softmax(uniformHead(head)(masked, 0)).data], [1, 0, 0.5, 0.5]);
  const paintAt = (query, key) => {
    const edits = paint({ ...head, query, key, weight: 0.75 });
    edits.masked_scores(masked, 0);
    return [...edits.weights(weights, 0).data];
  };
  assert.deepEqual(paintAt(0, 1), [...weights.data]);
  assert.deepEqual(paintAt(1, 1), [1, 0, 0.25, 0.75]);
  assert.deepEqual(paintAt(7, 1), [...weights.data]);
});

test("a search that the browser does not have is refused", async () => {
  const checkpoint = await readCheckpoint(files());
  for (const method of ["beam", "sample"])
    assert.throws(() => finish(running(checkpoint, { text: "ab", search: { method } })), coded("search-settings"));
  assert.ok(finish(running(checkpoint, { text: "ab", search: { method: "greedy" } })).written.length);
});

test("two runs in turns do not see each other's changes", async () => {
  const checkpoint = await readCheckpoint(files()), plain = translate(checkpoint, "ab", { limit: 4 });
  const head = { kind: "cross", layer: 0, head: 1 }, edits = editsOf({ ablated: [head] });
  const runs = [translating(checkpoint, "ab", { limit: 4 }), translating(checkpoint, "ab", { limit: 4, edits })];
  const results = [];
  while (results.filter(Boolean).length < 2)
    for (const [i, run] of runs.entries()) {
      const { done, value } = run.next();
      if (done && value) results[i] = value;
    }
  assert.deepEqual(results[0].maps, plain.maps);
  assert.ok(results[1].maps.cross.data.slice(-1)[0] === 0 && plain.maps.cross.data.slice(-1)[0] > 0);
});

test("a text is forced as a whole", async () => {
  const checkpoint = await readCheckpoint(files());
  const ids = [...checkpoint.tokenizer.encode("ab ba"), checkpoint.specials.ends[0]];
  assert.equal(translate(checkpoint, "ab", { forced: new Map(ids.entries()) }).text, "ab ba");
});

/** A worker and its page, joined in this process. */
function joined() {
  const scope = { onmessage: null, postMessage: (data) => queueMicrotask(
    () => worker.onmessage({ data: structuredClone(data) })
  ) };
  const worker = {
    onmessage: null, onerror: null,
    postMessage: (data) => queueMicrotask(() => scope.onmessage({ data: structuredClone(data) })), terminate() {},
  };
  serveEngine(scope);
  return new WorkerEngine(worker);
}

for (const [name, start] of [["in the page", () => new LocalEngine()], ["in a worker", joined]])
  test(`an engine ${name} opens, reports steps, silences heads and can be cancelled`, async () => {
    const engine = start();
    await assert.rejects(engine.result({ text: "ab" }), coded("no-checkpoint"));
    const info = await engine.open(files());
    assert.deepEqual(info.heads, { cross: [1, 2], encoder: [1, 2], decoder: [1, 2] });
    const refused = await engine.result({ text: "ab".repeat(1 << 14) }).catch((error) => error);
    useWords({ "": "ko", "The text has more than {limit} bytes. Shorten it.": "한도: {limit}바이트." });
    assert.equal(say(refused.template, refused.values), "한도: 16384바이트.", "a page words the error in another language");
    useWords({});
    const texts = [];
    const translation = await engine.result({ text: "ab" }, {}, { report: ({ text }) => texts.push(text) });
    assert.equal(texts.length, translation.written.length);
    assert.deepEqual(translation.maps.cross.shape, [1, 2, texts.length, 2]);
    const effects = await engine.silenceEachHead(translation);
    assert.equal(effects.length, 6);
    assert.deepEqual(
      await engine.silenceEachHead(translation, 4), effects.slice(4), "a measurement resumes where it ended"
    );
    const controller = new AbortController();
    const watching = { signal: controller.signal, report: () => controller.abort() };
    const cancelled = engine.result({ text: "ab" }, {}, watching);
    await assert.rejects(cancelled, coded("cancelled"));
  });
