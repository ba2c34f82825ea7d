// The parts of a published page that need no browser: changes and choices as a link writes them.
import assert from "node:assert/strict";
import { test } from "node:test";
import { filesOf } from "../../live/app/answers.js";
import { readAddress, readForced, writeAddress, writeForced } from "../../live/app/link.js";
import { SHARED } from "../../live/app/shared.js";
import { switchedOn } from "../../live/controls/switches.js";
import { noChanges, readChanges, toggled, within, writeChanges } from "../../live/engine/changes.js";
import { licenceOf, withoutMetadata } from "../../live/pages/own_model.js";
import shared from "../../live/shared.json" with { type: "json" };

Object.assign(SHARED, shared);

const CODE = "off.cross.3.1-2~paint.encoder.1.4.2.3.0.75~nopositions"; // the form of model/interventions.py

test("changes have the form of the app, and count from 1 there", () => {
  const changes = readChanges(CODE);
  assert.deepEqual(changes?.ablated, [{ kind: "cross", layer: 2, head: 0 }, { kind: "cross", layer: 2, head: 1 }]);
  assert.deepEqual(changes?.painted, [{ kind: "encoder", layer: 0, head: 3, query: 1, key: 2, weight: 0.75 }]);
  assert.equal(changes?.positions, false);
  assert.equal(writeChanges(changes ?? noChanges()), CODE);
  assert.equal(writeChanges(noChanges()), "");
});

test("a code with an unknown part is no code", () => {
  for (const code of ["off.cross.3", "paint.cross.1.1.1.1.2", "off.__proto__.1.1", "positions", "off.cross.1.1~"])
    assert.equal(readChanges(code), null, code);
});

test("a head is silenced, then uniform, then as trained, and heads that a model lacks are left out", () => {
  const head = { kind: "cross", layer: 1, head: 2 }, silenced = toggled(noChanges(), head, "ablated");
  const uniform = toggled(silenced, head, "uniform");
  assert.equal(writeChanges(silenced), "off.cross.2.3");
  assert.equal(writeChanges(uniform), "uniform.cross.2.3");
  assert.equal(writeChanges(toggled(uniform, head, "uniform")), "");
  assert.equal(writeChanges(within(uniform, { cross: [2, 2], encoder: [2, 2], decoder: [2, 2] })), "");
});

test("a link keeps a page and its choices, whatever the sentence contains", () => {
  const choices = { text: "a # b & c=1 ？\n<b>", layer: "2", head: "mean", forced: "1.4-2.7", intervention: CODE };
  assert.deepEqual(readAddress(writeAddress("heads", choices), ["translate", "heads"]), {
    page: "heads", choices, unknown: [],
  });
});

test("a link without sense opens the first page without choices, and all of it is unknown", () => {
  const hostile = "#__proto__?layer=-1&head=9999&kind=constructor&checkpoint=../../etc"
    + "&forced=1&intervention=x&toString=1";
  assert.deepEqual(readAddress(hostile, ["translate", "heads"]), {
    page: "translate", choices: {}, unknown: hostile.slice(1).split(/[?&]/),
  });
  assert.deepEqual(readAddress("", ["translate"]), { page: "translate", choices: {}, unknown: [] });
});

test("the metadata of a card are left out, except for its licence", () => {
  const card = "---\r\nlanguage: en\r\nlicense: apache-2.0 \r\n---\r\n# Name\n";
  assert.deepEqual([licenceOf(card), withoutMetadata(card)], ["apache-2.0", "# Name\n"]);
  assert.deepEqual([licenceOf("license: no"), withoutMetadata("# Name")], ["", "# Name"]);
  assert.equal(licenceOf(), "");
});

test("forced words are sorted by their positions", () => {
  const forced = readForced("7.1-2.30");
  assert.equal(forced.get(2), 30);
  assert.equal(writeForced(forced), "2.30-7.1");
  assert.equal(writeForced(readForced("")), "");
});

test("switches change the view together, and only those that are on", () => {
  const { choices } = SHARED, unordered = { form: "switch", view: { order: "none" } };
  try {
    SHARED.choices = { ...choices, unordered };
    const on = { hide_special: "true", logarithmic: "false", unordered: "true", text: "true" };
    assert.deepEqual(switchedOn(on), { hide_special: true, order: "none" });
    assert.deepEqual(switchedOn({}), {});
  } finally {
    SHARED.choices = choices;
  }
});

test("the weights of a site may have 2 GB together, and a download ends there", async () => {
  const { caches, document, fetch } = globalThis, loaded = [];
  const part = Object.defineProperty(new Uint8Array(1), "length", { value: 2 ** 30 });
  const parts = async (file) => new Response(new ReadableStream({
    pull: (stream) => { loaded.push(file); stream.enqueue(part); },
  }, { highWaterMark: 0 }));
  try {
    Object.assign(globalThis, { document: { baseURI: "https://example.org/" }, fetch: parts, caches: undefined });
    const files = { "a.safetensors": "a.1", "b.safetensors": "b.1" };
    await assert.rejects(filesOf({ name: "large", files }, {}), { code: "weights-too-large" });
    assert.ok(loaded.length < 6);
  } finally {
    Object.assign(globalThis, { document, fetch, caches });
  }
});
