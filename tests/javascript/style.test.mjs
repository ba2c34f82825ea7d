// The style of our JavaScript that Biome does not check.
import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import test from "node:test";

const ROOT = new URL("../../", import.meta.url).pathname;
const FILES = ["live/**/*.js", "tests/{javascript,live}/*.mjs", "benchmarks/*.mjs"];
const LONGEST = 120; // characters, as in Python

test("no line is longer than in Python", () => {
  const files = FILES.flatMap((pattern) => globSync(ROOT + pattern));
  assert.ok(files.length > 80);
  const long = files.flatMap((file) => readFileSync(file, "utf8").split("\n").flatMap(
    (line, i) => (line.length > LONGEST ? [`${file.slice(ROOT.length)}:${i + 1}`] : [])
  ));
  assert.deepEqual(long, []);
});
