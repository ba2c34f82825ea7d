// The pure functions of our components.
import assert from "node:assert/strict";
import test from "node:test";
import { edgePath } from "../../live/ui/circuit.js";
import { arrowHead, boxPlaces } from "../../live/ui/diagrams.js";
import { nearestIn } from "../../live/ui/dom.js";
import { uncounted } from "../../live/ui/head_switches.js";
import { dashOf, linesToDraw, visibleLines } from "../../live/ui/lines.js";
import { cellBox, gridHeight, headPixels, mapLayout, scalePosition, withoutNumber } from "../../live/ui/maps.js";
import { blocksOf, colourAt, decodeFloats, levelOf, meanOf, palette, WEIGHTS } from "../../live/ui/numbers.js";
import { fontsFor, parsedColour, wrapped } from "../../live/ui/picture_files.js";
import { fileName } from "../../live/ui/saving.js";
import { isRight, rowsLayout } from "../../live/ui/stepper.js";
import {
  directionOf, headName, isolated, letters, percent, say, shortened, spoken, useWords
} from "../../live/ui/words.js";

test("numbers are little-endian float32", () => {
  assert.deepEqual([...decodeFloats("AACAPwAAAL8=")], [1, -0.5]);
});

test("a colour lies between the stops of its scale", () => {
  const stops = ["#000000", "#ffffff"];
  assert.deepEqual([-1, 0.5, 2].map((share) => colourAt(stops, share)), [
    "rgb(0,0,0)", "rgb(128,128,128)", "rgb(255,255,255)",
  ]);
});

test("a mean leaves out masked numbers, and a number that is none makes it none", () => {
  assert.equal(meanOf([1, -Infinity, 3]), 2);
  assert.equal(meanOf([-Infinity]), -Infinity);
  assert.ok(Number.isNaN(meanOf([1, Number.NaN])));
});

test("a cell that is not a number has a colour and a name of its own", () => {
  assert.deepEqual([0, 1, -Infinity, Number.NaN, Infinity].map(levelOf), [0, 253, 255, 254, 254]);
  const colours = new Set([WEIGHTS.masked, WEIGHTS.broken, ...WEIGHTS.scale]);
  const bytes = new Uint8Array(palette(WEIGHTS).buffer, 4 * 254, 3);
  assert.equal(colours.size, 2 + WEIGHTS.scale.length);
  assert.equal(`#${[...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("")}`, WEIGHTS.broken);
  assert.deepEqual([0.5, -Infinity, Number.NaN].map(withoutNumber), ["", "masked: weight exactly 0", "not a number"]);
  assert.deepEqual([Number.NaN, -Infinity].map((share) => scalePosition(share, true)), [Number.NaN, -Infinity]);
  assert.equal(percent(Number.NaN), "not a number");
});

test("texts and numbers are short, and read well aloud", () => {
  assert.equal(shortened("a\nbcd", 4), "a↵b…");
  assert.deepEqual([1, 0.934, 0.0123].map(percent), ["100\u00a0%", "93.4\u00a0%", "1.23\u00a0%"]);
  assert.equal(spoken(["query: a", "weight: 0.123456"]), "query: a; weight: 0.12");
});

test("a Chinese or Korean letter is twice as wide, and a text from right to left keeps its direction", () => {
  assert.deepEqual(["Hund", "狗狗", "강아지", "e\u0301", "“…”"].map(letters), [4, 4, 6, 1, 3]);
  assert.deepEqual([shortened("一二三四五", 10), shortened("一二三四五六", 10)], ["一二三四五", "一二三四…"]);
  assert.deepEqual([["<s>", "كلب", "يجري"], ["<s>", "a", "שלום"], []].map(directionOf), ["rtl", "rtl", false]);
  assert.deepEqual(["Hund!", "שלום!", "كلب."].map(isolated), ["Hund!", "\u2068שלום!\u2069", "\u2068كلب.\u2069"]);
});

test("a saved picture names the fonts of its own language before those of others", () => {
  const before = (fonts, one, other) => fonts.indexOf(one) > 0 && fonts.indexOf(one) < fonts.indexOf(other);
  assert.ok(before(fontsFor("zh-Hans"), "Microsoft YaHei", "Malgun Gothic"));
  assert.ok(before(fontsFor("ko"), "Malgun Gothic", "Microsoft YaHei"));
  assert.ok(["", "en", "ko"].every(
    (lang) => fontsFor(lang).startsWith("Arial") && fontsFor(lang).endsWith("sans-serif")
  ));
});

test("no translated word enters the name of a file", () => {
  assert.equal(fileName("Cross-attention, layer 3, head 2", "head_map"), "headlight-cross-attention-layer-3-head-2");
  assert.equal(fileName("交叉注意力，第 3 层，第 2 头", "head_map"), "headlight-head-map-3-2");
});

test("lines have at least the smallest weight, and each query keeps its best keys", () => {
  const maps = { weights: [0.9, 0.1, 0.4, 0.6], queries: 2, keys: 2, selected: [0], smallest: 0.2, best: 0 };
  assert.deepEqual(visibleLines(maps).map(([weight]) => weight), [0.9, 0.4, 0.6]);
  assert.deepEqual(visibleLines({ ...maps, best: 1 }).map(([, t, s]) => [t, s]), [[0, 0], [1, 1]]);
  assert.deepEqual([dashOf(2, [5, 2]), dashOf(5, [5, 2])], [false, "10 8"]);
});

test("a selected word has thinner lines too, and only its own", () => {
  const weights = new Float32Array([0.5, 0.1, 0.01, 0.9]);
  assert.deepEqual(linesToDraw(weights, 2, 2, null).map(([, t, s]) => [t, s]), [[0, 0], [1, 1]]);
  assert.deepEqual(linesToDraw(weights, 2, 2, { query: 0 }).map(([, t, s]) => [t, s]), [[0, 0], [0, 1]]);
  assert.deepEqual(linesToDraw(weights, 2, 2, { key: 0 }).map(([, t, s]) => [t, s]), [[0, 0]]);
});

test("clicks that the server has counted are sent no more, and clicks of another board are kept", () => {
  const clicks = { board: "a", first: 2, places: [["cross", 0, 0], ["cross", 0, 1]] };
  assert.deepEqual(uncounted(clicks, { board: "a", clicks: 3 }), { board: "a", first: 3, places: [["cross", 0, 1]] });
  assert.equal(uncounted(clicks, { board: "b", clicks: 9 }), clicks);
  assert.equal(uncounted(clicks, {}), clicks);
});

test("a map keeps its cells within the width, and labels that do not fit are left out", () => {
  const map = (columns) => ({ queries: ["a", "b"], keys: Array(columns).fill("k"), query_title: "query" });
  const few = mapLayout(map(4), 400), many = mapLayout(map(80), 400);
  assert.ok(few.right <= 400 && few.every === 1 && !few.upright);
  assert.ok(many.cell === 10 && many.every === 2 && many.upright);
  assert.equal(cellBox(few, [1, 2]).y, few.high);
  const chinese = mapLayout({ ...map(0), keys: [..."一二三四五六七八九十".repeat(4), "</s>"] }, 400);
  assert.ok(chinese.square && chinese.every === 2 && chinese.right < 400, "two cells have room for one letter");
  const bar = { unit: "attention weight", ticks: [[1, "1"], [0.75, "0.75"]] };
  const long = { ...map(40), queries: Array(40).fill("·representation"), bar };
  for (const width of [460, 500, 700]) { // beside another map, and beside all heads, on a screen of 1280 pixels
    const { right, beside, cell } = mapLayout(long, width);
    assert.ok(right + beside < width + 1 && cell >= 7, "the colour bar stands beside a map of 40 columns");
  }
  assert.equal(mapLayout(long, 360).cell, 10, "a map that scrolls has cells that a finger can find");
});

test("every head has a tile of one picture, and a masked or broken cell its own colour", () => {
  const levels = Uint8Array.from({ length: 2 * 3 * 4 * 5 }, (_, i) => i);
  const shape = { layers: 2, heads: 3, rows: 4, columns: 5 };
  [levels[0], levels[1]] = [levelOf(-Infinity), levelOf(NaN)];
  const { width, height, data } = headPixels({ levels, ...shape }), colours = palette(WEIGHTS);
  assert.deepEqual([width, height], [3 * (5 + 1), 2 * (4 + 1)]);
  const pixels = new Uint32Array(data.buffer), at = (x, y) => pixels[y * width + x];
  assert.equal(at(0, 0), colours[levelOf(-Infinity)]);
  assert.equal(at(1, 0), colours[levelOf(NaN)]);
  const layer = 1, head = 2, row = 3, column = 4; // the last cell
  assert.equal(at(head * 6 + column, layer * 5 + row), colours[levels.at(-1)]);
  assert.equal(pixels.filter((one) => one === 0).length, width * height - levels.length); // the gaps are clear
});

test("sizes and places follow the numbers of layers, heads and steps", () => {
  assert.equal(gridHeight({ layers: 3, heads: 8, rows: 10, columns: 10 }, 800, 1000), 330);
  assert.equal(gridHeight({ layers: 3, heads: 8, rows: 10, columns: 10 }, 800, 200), 230);
  assert.equal(gridHeight({ layers: 24, heads: 16, rows: 10, columns: 10 }, 400, 200), 24 * 16 + 30);
  assert.deepEqual(boxPlaces([{ depth: 1 }, { depth: 1 }, { depth: 2 }]).map(({ y }) => y), [26, 60, 26]);
  const layout = rowsLayout({ shape: [2, 3], labels: ["ab", "狗狗狗"], available: 300 });
  assert.equal(layout.top, 14 + 6 * 6);
  assert.equal(layout.y(4) - layout.y(3), 16 + 5);
  const low = rowsLayout({ shape: [3, 8], labels: ["Hund"], available: 300, below: 300 });
  assert.ok(low.cell < 16 && low.height <= 300 && low.height > 300 - 25);
  assert.equal(scalePosition(0.01, true), 0.5);
  assert.ok(arrowHead([[0, 0], [10, 0]]).includes("L10,0L"));
});

test("an arrow key goes to the nearest element in its direction", () => {
  const at = (x, y) => ({ x, y, width: 2, height: 2 });
  const others = [at(10, 0), at(20, 0), at(0, 10)];
  assert.deepEqual([[1, 0], [0, 1], [-1, 0]].map((direction) => nearestIn(at(0, 0), direction, others)), [0, 2, -1]);
});

test("pixels become blocks of one colour without the transparent ones", () => {
  const red = [255, 0, 0, 255], blue = [0, 0, 255, 255], clear = [0, 0, 0, 0];
  const data = new Uint8ClampedArray([...red, ...red, ...clear, ...red, ...red, ...blue]);
  assert.deepEqual(blocksOf({ data, width: 3, height: 2 }), [
    { colour: "#ff0000", left: 0, right: 2, top: 0, bottom: 2 },
    { colour: "#0000ff", left: 2, right: 3, top: 1, bottom: 2 },
  ]);
});

test("a saved picture has plain colours and whole words", () => {
  assert.deepEqual(parsedColour("rgb(47, 111, 176)"), { colour: "#2f6fb0", opacity: 1 });
  assert.deepEqual(parsedColour("color(srgb 1 0 0 / 0.5)"), { colour: "#ff0000", opacity: 0.5 });
  assert.equal(parsedColour("none"), null);
  assert.deepEqual(wrapped("one two three.", 8, (text) => text.length), ["one two ", "three."]);
});

test("a guess is right whatever its case and its subword mark", () => {
  assert.ok(isRight(" HUND ", "·Hund"));
  assert.ok(!isRight("Katze", "Hund"));
});

test("a text has the words of the visitor's language, and its values are never read as places for values", () => {
  useWords({ "layer {layer}, head {head}": "층 {layer}, 헤드 {head}", "{number}\u00a0%": "{number}%" });
  assert.deepEqual([headName(1, 1), percent(0.5)], ["층 2, 헤드 2", "50.0%"]);
  assert.equal(say("“{word}” of {words}", { word: "{words}" }), "“{words}” of {words}");
  useWords({ "": "ko", Play: "재생" });
  useWords({ "": "ko", Pause: "일시 정지" });
  assert.deepEqual(
    ["Play", "Pause"].map((text) => say(text)), ["재생", "일시 정지"], "components bring their words one by one"
  );
  useWords({ "": "en" });
  assert.equal(say("Play"), "Play");
  assert.deepEqual([headName(1, 1), percent(0.5)], ["layer 2, head 2", "50.0\u00a0%"]);
  useWords({ "": "ko", Stop: "중지" });
  assert.equal(say("Play"), "재생", "a component that is drawn again in its old language takes no words away");
  useWords({ Play: "播放" });
  assert.deepEqual(["Play", "Pause"].map((text) => say(text)), ["播放", "Pause"], "words without a language replace all");
});

test("an edge of a circuit bends around the rows that it passes, and enters another stack from below", () => {
  const from = { x: 50, y: 200, width: 30 };
  assert.equal(edgePath(from, { x: 50, y: 154, width: 30 }, false).split(" ")[0].split(",")[0], "M50");
  const bow = (y) => Number(edgePath(from, { x: 50, y, width: 30 }, false).match(/C([\d.]+)/)[1]) - 50;
  assert.deepEqual([154, 108, 62].map(bow), [0, 15, 30]);
  assert.match(edgePath(from, { x: 300, y: 108, width: 30 }, true), /^M65,200C.* 300,121$/);
});
