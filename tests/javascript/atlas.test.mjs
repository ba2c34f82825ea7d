// The pure functions of the page Atlas.
import assert from "node:assert/strict";
import test from "node:test";
import { chosenRows, niceTicks, shownNumber } from "../../live/ui/atlas.js";
import { distanceNames } from "../../live/ui/atlas_head.js";
import { chosenPlaces, drawnTokens, withoutSinks } from "../../live/ui/atlas_places.js";
import { readRule, RuleError } from "../../live/ui/atlas_rule.js";
import { readTable } from "../../live/ui/atlas_table.js";

const KNOWN = { numbers: ["previous", "previous_low", "sinks"], kinds: ["cross", "encoder"] };
const HEAD = { kind: "encoder", layer: 2, head: 8, previous: 0.6, previous_low: 0.4, sinks: Number.NaN };
const fulfilled = (text) => readRule(text, KNOWN)((name) => HEAD[name]);

test("a rule compares numbers, and joins comparisons", () => {
  for (const text of [
    "", "previous > 0.5", "Previous >= .6 AND layer <= 2", "previous ≥ 0.6 and layer ≤ 2", "kind = encoder",
    "kind != cross and head == 8", "previous > 0.9 or layer = 2", "not (previous > 0.9 or layer = 3)",
    "previous_low<0.5", "layer = 2 or layer = 3 and head = 1", "not not layer = 2",
  ]) assert.equal(fulfilled(text), true, text);
  for (const text of ["previous > 0.6", "layer = 3 and head = 8", "(layer = 2 or layer = 3) and head = 1"])
    assert.equal(fulfilled(text), false, text);
});

test("a head without a number fulfils no rule about it, and its opposite neither", () => {
  const unknown = ["sinks > 0", "not sinks > 0", "not (sinks > 0 and layer = 2)"];
  assert.deepEqual(unknown.map(fulfilled), unknown.map(() => false));
  assert.deepEqual(["sinks > 0 or layer = 2", "not (sinks > 0 and layer = 3)"].map(fulfilled), [true, true]);
});

test("a wrong rule gets a sentence that names the wrong part", () => {
  const wrong = {
    "previus > 1": /no number previus.*previous, sinks\.$/, "previous >": /not complete. Write a number/,
    "previous > cross": /“cross”.*a number/, "kind = both": /“both”.*cross, encoder/, "previous 1": /“1”.*a sign/,
    "(previous > 1": /a closing parenthesis/, "previous > 1 layer = 2": /“layer”.*and/, "previous > 1; x": /“;” cannot/,
    constructor: /no number constructor/, "previous constructor 1": /a sign/, "> 1": /the name of a number/,
    ["(".repeat(201)]: /201 characters/, __proto__x: /no number/,
  };
  for (const [text, message] of Object.entries(wrong))
    assert.throws(() => readRule(text, KNOWN), (error) => error instanceof RuleError && message.test(error.message));
});

const TABLE = readTable({
  kinds: [{ kind: "encoder", layers: 1, heads: 2 }, { kind: "cross", layers: 1, heads: 1 }],
  numbers: ["previous", "sinks"],
  values: Float32Array.from([0.25, 0.2, 0.3, 0.5, 0.4, 0.6, 0.75, 0.7, 0.8, 0.125, 0, 0.25, NaN, NaN, NaN, 1, 1, 1]),
});

test("the table has each number of each head", () => {
  assert.deepEqual(TABLE.heads.map(({ name }) => name), ["encoder.1.1", "encoder.1.2", "cross.1.1"]);
  assert.deepEqual([TABLE.value(1, "previous"), TABLE.value(2, "sinks_high")], [0.75, 1]);
  assert.ok(Number.isNaN(TABLE.value(2, "previous")));
});

test("heads are filtered and sorted; those without the number are last", () => {
  const rule = (text) => readRule(text, { numbers: TABLE.columns, kinds: TABLE.kinds });
  const names = (text, order) => chosenRows(TABLE, rule(text), order).map(({ name }) => name);
  assert.deepEqual(names("", { by: "previous", down: true }), ["encoder.1.2", "encoder.1.1", "cross.1.1"]);
  assert.deepEqual(names("", { by: "previous", down: false }), ["encoder.1.1", "encoder.1.2", "cross.1.1"]);
  assert.deepEqual(names("sinks >= 0.5 and layer = 1", { by: "head", down: false }), ["encoder.1.1", "cross.1.1"]);
});

const CLASSES = ["special", "punctuation", "number", "first", "later"];
const side = (classes) => ({
  tokens: classes.map(String), words: classes.map((_, i) => i), classes: classes.map((one) => CLASSES.indexOf(one)),
});

test("without sinks, the other weights are divided by their sum, and the text says how much was taken", () => {
  const text = { rows: side(["first"]), keys: side(["first", "first", "punctuation", "later", "special"]) };
  const place = { keys: [4, 1, 3, 0, 2], weights: [0.5, 0.3, 0.1, 0.06, 0.04] };
  const { keys, weights, taken } = withoutSinks(place, text, CLASSES);
  assert.deepEqual(keys, [1, 3]);
  assert.deepEqual([...weights, taken].map((one) => Number(one.toFixed(6))), [0.75, 0.25, 0.6]);
});

test("places like this have the same classes, and in self-attention the same distance", () => {
  const texts = { 1: { rows: null, keys: side(["first", "later", "first", "special"]) } };
  const at = (row, key, group, weight) => ({ line: 1, row, group, keys: [key], weights: [weight] });
  const places = [at(1, 0, 5, 0.5), at(2, 1, 6, 0.6), at(1, 3, 10, 0.9), at(1, 0, 10, 0.5)];
  const found = (like) => chosenPlaces({ places, texts }, CLASSES, { like, group: 10 })
    .map(({ row, keys }) => [row, keys[0]]);
  assert.deepEqual(found(""), [[1, 3], [1, 0]]); // those of the group
  assert.deepEqual(found("later>first"), [[1, 0]]); // once, though two groups have it
  assert.deepEqual([found("later>first@-1"), found("later>first@1"), found("first>later")], [[[1, 0]], [], [[2, 1]]]);
});

test("of a long text, the tokens near what matters are drawn", () => {
  assert.deepEqual(drawnTokens(3, []), [0, 1, 2]);
  const drawn = drawnTokens(1000, [0, 500]);
  assert.deepEqual([drawn[0], drawn[7], drawn[8], drawn[9], drawn.at(-2), drawn.at(-1)], [0, 7, -1, 493, 507, -1]);
  assert.equal(drawnTokens(1000, [999]).at(-1), 999);
});

test("numbers, distances and axes read easily", () => {
  assert.deepEqual([0.00812, 0.0123, 0.456, 12.34, -1.5, Number.NaN, 0].map(shownNumber),
    ["0.0081", "0.012", "0.46", "12.3", "−1.50", "–", "0.00"]);
  assert.deepEqual(distanceNames([-16, -8, -4, 0, 4]), ["≤ −9", "−8 to −5", "−4 to −1", "0 to 3", "≥ 4"]);
  assert.deepEqual(niceTicks(0, 0.74), [0, 0.2, 0.4, 0.6, 0.8]);
  assert.deepEqual(niceTicks(0.5, 0.5).length > 1, true);
});
