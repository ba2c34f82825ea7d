// A visitor's own files: folders and archives are judged before they are read, and hostile ones end in a sentence.
import assert from "node:assert/strict";
import test from "node:test";
import { crc32, deflateRawSync } from "node:zlib";
import { ownFilesOf } from "../../live/app/own_files.js";
import { membersOf } from "../../live/app/zip.js";
import { EngineError } from "../../live/engine/errors.js";

/** A file with a text or bytes. */
const file = (path, content = "{}") => {
  const blob = new Blob([content]);
  return { path, size: blob.size, read: async () => blob };
};
const MODEL = [["config.json", "{}"], ["tokenizer.json", "{}"], ["model.safetensors", "weights ".repeat(1000)]];

test("a file of SentencePiece is read byte by byte", async () => {
  const bytes = Uint8Array.from({ length: 256 }, (_, byte) => byte);
  const files = [...MODEL.map(([path, text]) => file(path, text)), file("source.spm", bytes)];
  const { texts, unused } = await ownFilesOf(files);
  assert.deepEqual(Array.from(texts["source.spm"], (sign) => sign.charCodeAt(0)), [...bytes]);
  assert.deepEqual(unused, []);
});

/** An archive of [path, text] pairs. `change` may change the fields of a member before they are written. */
function zipped(members, { deflate = true, change = () => {}, large = false } = {}) {
  const parts = [], directory = [];
  let at = 0;
  for (const [path, text] of members) {
    const name = Buffer.from(path), whole = Buffer.from(text), packed = deflate ? deflateRawSync(whole) : whole;
    const field = {
      method: deflate ? 8 : 0, flags: 0, packed: packed.length, whole: whole.length, place: at, name: name.length,
      sum: crc32(whole),
    };
    change(field);
    const local = Buffer.alloc(30);
    local.writeUInt32LE(0x04034b50, 0);
    local.writeUInt16LE(name.length, 26);
    parts.push(local, name, packed);
    at += 30 + name.length + packed.length;
    const entry = Buffer.alloc(46), extra = Buffer.alloc(large ? 28 : 0);
    entry.writeUInt32LE(0x02014b50, 0);
    entry.writeUInt16LE(field.flags, 8);
    entry.writeUInt16LE(field.method, 10);
    entry.writeUInt32LE(field.sum, 16);
    for (const [offset, number] of [[20, field.packed], [24, field.whole], [42, field.place]])
      entry.writeUInt32LE(large ? 0xffffffff : number, offset);
    entry.writeUInt16LE(field.name, 28);
    entry.writeUInt16LE(extra.length, 30);
    if (large) {
      extra.writeUInt16LE(1, 0);
      extra.writeUInt16LE(24, 2);
      const numbers = [field.whole, field.packed, field.place];
      numbers.forEach((number, i) => extra.writeBigUInt64LE(BigInt(number), 4 + 8 * i));
    }
    directory.push(entry, name, extra);
  }
  const list = Buffer.concat(directory), end = Buffer.alloc(22), more = Buffer.alloc(large ? 76 : 0);
  if (large) {
    more.writeUInt32LE(0x06064b50, 0);
    [members.length, list.length, at].forEach((number, i) => more.writeBigUInt64LE(BigInt(number), 32 + 8 * i));
    more.writeUInt32LE(0x07064b50, 56);
    more.writeBigUInt64LE(BigInt(at + list.length), 64);
  }
  end.writeUInt32LE(0x06054b50, 0);
  end.writeUInt16LE(large ? 0xffff : members.length, 10);
  end.writeUInt32LE(large ? 0xffffffff : list.length, 12);
  end.writeUInt32LE(large ? 0xffffffff : at, 16);
  return Buffer.concat([...parts, list, more, end]);
}

const archive = (bytes) => [file("mine.zip", bytes)];
const coded = (code) => (error) => error instanceof EngineError && error.code === code && error.message.endsWith(".");

for (const [name, options] of Object.entries({ deflated: {}, stored: { deflate: false }, large: { large: true } }))
  test(`an archive that is ${name} has its members, also in a nested folder`, async () => {
    const members = MODEL.map(([path, text]) => [`a/tiny/${path}`, text]);
    const junk = [["__MACOSX/a/tiny/config.json", "{"], ["a/tiny/.DS_Store", ""], ["a/tiny/notes.log", "x"]];
    const reports = [], found = await ownFilesOf(archive(zipped([...members, ...junk], options)), {
      report: (progress) => reports.push(progress),
    });
    assert.equal(found.name, "tiny");
    assert.deepEqual(Object.keys(found.texts).sort(), ["config.json", "tokenizer.json"]);
    assert.equal(await found.weights["model.safetensors"].text(), MODEL[2][1]);
    assert.deepEqual(found.unused, ["notes.log"]);
    assert.ok(options.deflate === false || reports.at(-1).bytes === reports.at(-1).total);
  });

test("a damaged or hostile archive ends in a sentence, and takes no more memory than it says", async () => {
  const whole = zipped(MODEL);
  const cases = {
    "cut off": whole.subarray(0, whole.length - 30),
    "no archive": Buffer.from("PK or not PK"),
    "empty": Buffer.alloc(0),
    "a bomb": zipped([["config.json", "{}"], ["model.safetensors", "0".repeat(50_000_000)]], {
      change: (field) => { if (field.whole > 100) field.whole = 100; },
    }),
    "shorter than it says": zipped(MODEL, { change: (field) => { field.whole += 1; } }),
    "another sum": zipped(MODEL, { change: (field) => { field.sum = (field.sum ^ 1) >>> 0; } }),
    "behind its end": zipped(MODEL, { change: (field) => { field.place += 10_000_000; } }),
    "a name behind its end": zipped(MODEL, { change: (field) => { field.name = 60_000; } }),
    "other bytes": zipped(MODEL, { deflate: false, change: (field) => { field.method = 8; } }),
  };
  for (const [name, bytes] of Object.entries(cases)) {
    const start = performance.now();
    await assert.rejects(ownFilesOf(archive(bytes)), coded("zip-damaged"), name);
    assert.ok(performance.now() - start < 2000, name);
  }
  const secret = zipped(MODEL, { change: (field) => { field.flags = 1; } });
  await assert.rejects(ownFilesOf(archive(secret)), coded("zip-unsupported"));
  const two = [["config.json", "{}"], ["model.safetensors", "x"]];
  const wide = zipped(two, { change: (field) => { field.whole = 4e9; } });
  await assert.rejects(ownFilesOf(archive(wide)), (error) => /large/.test(error.code), "before anything is unpacked");
  for (let i = 0; i < whole.length; i += 7) { // whatever byte is wrong
    const changed = Buffer.from(whole);
    changed[i] ^= 0xff;
    await membersOf(new Blob([changed])).catch((error) => assert.ok(coded("zip-damaged")(error), `${i} ${error}`));
  }
});

test("files that are no model are refused by their names", async () => {
  const cases = [
    ["no-config", [], "is empty"],
    ["no-config", [file("a/b.txt")], "a is not a whole model. Missing: config.json, model.safetensors"],
    ["no-config", [file("adapter_config.json"), file("adapter_model.safetensors")], "LoRA"],
    ["no-config", archive(zipped([["inner.zip", "PK"]])), "inner.zip"],
    ["no-weights", [file("config.json"), file("pytorch_model.bin")], "can hold programs"],
    ["no-weights", [file("config.json"), file("model.gguf")], "llama.cpp"],
    ["no-weights", [file("config.json")], "config.json is not a whole model. Missing: model.safetensors, token"],
    ["no-config", [MODEL[1], MODEL[2]].map(([path]) => file(path)), "Missing: config.json."],
    ["several-models", ["a", "b"].flatMap((name) => MODEL.map(([path]) => file(`${name}/${path}`))), "a/, b/"],
    ["file-twice", archive(zipped([...MODEL, MODEL[0]])), "config.json is there twice"],
    ["too-many-weights", [MODEL[0][0], ...Array.from({ length: 1001 }, (_, i) => `${i}.safetensors`)].map(
      (path) => file(path)
    ), "1001 files"],
    ["text-too-large", [file("config.json", " ".repeat(2 ** 20 + 1)), file("model.safetensors")], "config.json"],
  ];
  for (const [code, files, words] of cases)
    await assert.rejects(ownFilesOf(files), (error) => coded(code)(error) && error.message.includes(words), words);
  const weights = { path: "model.safetensors", size: 2 ** 32, read: async () => assert.fail("it was read") };
  await assert.rejects(ownFilesOf([file("config.json"), weights]), coded("weights-too-large"));
});

test("an adapter beside a whole model is not read", async () => {
  const adapter = ["adapter_config.json", "adapter_model.safetensors"];
  const { unused, weights } = await ownFilesOf([...MODEL, ...adapter.map((path) => [path, "{}"])].map(
    ([path, text]) => file(path, text)
  ));
  assert.deepEqual([unused, Object.keys(weights)], [adapter, ["model.safetensors"]]);
});

test("the outermost folder with a config.json counts, and thousands of folders take no time", async () => {
  const nested = ["a/b/", "", "a/"].flatMap((folder) => MODEL.map(([path]) => file(`tiny/${folder}${path}`)));
  assert.equal((await ownFilesOf(nested)).name, "tiny");
  const many = Array.from({ length: 10_000 }, (_, i) => file(`models/${"long-name-".repeat(8)}${i}/config.json`));
  const start = performance.now();
  await assert.rejects(ownFilesOf(many), coded("several-models"));
  assert.ok(performance.now() - start < 1000);
});
