// Opens folders as the page does with those that are dropped, and runs a text. Standard input: { folder, run }, standard
// output: the ids of the result, its maps and its logits, or the sentence of a refusal. An array of numbers is written as
// { numbers: base64 of float32, shape }.
import { openAsBlob, readdirSync, readFileSync, statSync } from "node:fs";
import { ownFilesOf } from "../live/app/own_files.js";
import { LocalEngine } from "../live/engine/engine.js";
import { EngineError } from "../live/engine/errors.js";

const { folder, run } = JSON.parse(readFileSync(0, "utf8"));
const files = readdirSync(folder).map((name) => ({
  path: `model/${name}`, size: statSync(`${folder}/${name}`).size, read: () => openAsBlob(`${folder}/${name}`),
}));

async function opened() {
  const engine = new LocalEngine();
  await engine.open(await ownFilesOf(files));
  const { source, written, maps, recorded } = await engine.result(run, { record: ["logits"] });
  return { source: source.map(({ id }) => id), written: written.map(({ id }) => id), maps, logits: recorded.logits };
}

const found = await opened().catch((error) => {
  if (error instanceof EngineError) return { refusal: error.message };
  throw error;
});
process.stdout.write(JSON.stringify(found, (_, value) => (value?.data instanceof Float32Array
  ? { numbers: Buffer.from(value.data.buffer, value.data.byteOffset, value.data.byteLength).toString("base64"),
    shape: value.shape }
  : value)));
