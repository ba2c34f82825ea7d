// Measures the engine of Headlight Live in Node.js for benchmarks/live.py: { folder, texts, repeats } → milliseconds.
import { readFileSync } from "node:fs";
import { readCheckpoint } from "../live/engine/opening.js";
import { translating } from "../live/engine/inference/translate.js";

/** The whole translation of a text. */
function translate(checkpoint, text) {
  const work = translating(checkpoint, text);
  let step = work.next();
  while (!step.done) step = work.next();
  return step.value;
}

/** The median of the milliseconds that some calls take, on the clock and on the processor. */
function median(repeats, call) {
  const times = Array.from({ length: repeats }, () => {
    const [clock, used] = [performance.now(), process.cpuUsage()];
    call();
    const { user, system } = process.cpuUsage(used);
    return [performance.now() - clock, (user + system) / 1000];
  });
  return [0, 1].map((side) => times.map((pair) => pair[side]).sort((a, b) => a - b)[Math.floor(repeats / 2)]);
}

const { folder, texts: given, repeats } = JSON.parse(readFileSync(0, "utf8"));
const started = performance.now();
const read = (name) => readFileSync(`${folder}/${name}`);
const weights = { "model.safetensors": new Blob([read("model.safetensors")]) };
const texts = { "config.json": `${read("config.json")}`, "tokenizer.json": `${read("tokenizer.json")}` };
const checkpoint = await readCheckpoint({ texts, weights });
const load = performance.now() - started;
const first = performance.now();
translate(checkpoint, given[0]);
const cold = performance.now() - first;
for (let i = 0; i < 5; i++) for (const text of given) translate(checkpoint, text);
const sentences = given.map(
  (text) => ({
    tokens: translate(checkpoint, text).written.length, times: median(repeats, () => translate(checkpoint, text)),
  })
);
console.log(JSON.stringify({ load, cold, sentences, node: process.version }));
