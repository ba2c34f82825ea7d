// Positional encoding: the numbers that give the model the position of each token, and a translation without them.
import { caption, heading, list, mount, note, place, segmented } from "../controls/controls.js";
import { compared } from "../controls/tokens.js";
import { noChanges } from "../engine/changes.js";
import { positionTable, wavelengths } from "../engine/network/positional.js";
import { numberPicture, wavePicture } from "../pictures/plots.js";
import { draw, el } from "../ui/dom.js";
import { times } from "../ui/numbers.js";
import { say } from "../ui/words.js";

const SHOWN = 64; // positions
const SHOWN_KINDS = ["sinusoidal", "learned", "rotary"];
const INTRODUCTIONS = {
  sinusoidal: () => say("This model adds sines and cosines to each token. Each position has its own row of numbers."),
  rotary: () => say("This model rotates pairs of numbers of each query and key. The angles grow with the position."),
};

/** @param {Element} root @param {App} app */
export async function showPositions(root, app) {
  const { config } = app.info, { positional, architecture } = config;
  if (architecture === "recurrent") {
    draw(root, [
      note(say(
        "This model is a recurrent network. It reads the tokens in their order and needs no positional encoding."
      )),
    ]);
    return;
  }
  if (!app.isReport && (app.listed.family !== "headlight" || !SHOWN_KINDS.includes(positional))) {
    draw(root, [note(say(
      "This page is about the positional encoding of models of Headlight that add or rotate vectors. Choose another "
      + "checkpoint."
    ))]);
    return;
  }
  const introduction = INTRODUCTIONS[positional];
  const tabs = [...(introduction ? ["matrix", "waves"] : []), ...(app.isReport ? [] : ["sentence"])];
  const tab = tabs.includes(app.choices.position_tab) ? app.choices.position_tab : tabs[0];
  const names = { matrix: say("The matrix"), waves: say("Waves"), sentence: say("In a sentence") };
  const table = introduction && positionTable(config, SHOWN);
  const parts = tab === "sentence" ? await inSentence(app) : pictures(tab);
  draw(root, [
    caption(introduction?.() ?? say("This model has learned one vector for each position.")),
    el("div", { class: "row" }, [
      segmented(say("View"), tabs.map((one) => [one, names[one]]), tab, app.set("position_tab")),
    ]),
    el("div", {}, parts),
  ]);
  if (tab === "matrix") mount(root, "matrix", numberPicture, matrixData(table));
  if (tab === "waves") mount(root, "waves", wavePicture, waveData(table, wavelengths(config)));
}

function pictures(tab) {
  return tab === "matrix"
    ? [
      heading(say("The matrix"), say(
        "A row for each position, a column for each dimension. Fast waves are on the left, slow waves on the right."
      )),
      place("matrix"),
    ]
    : [
      heading(say("Sinusoids"), say("The sines of some dimensions, from the shortest wave to the longest.")),
      place("waves"),
    ];
}

function matrixData(table) {
  return {
    numbers: table.data, rows: table.shape[0], columns: table.shape[1], bound: 1,
    rowName: say("position"), columnName: say("dimension"), title: say("The positional encoding"),
    alt: say("Heatmap of the positional encoding: positions down, dimensions across"),
  };
}

/** Five dimensions at equal distances, with the length of each wave. */
function waveData({ data, shape: [positions, width] }, lengths) {
  const dimensions = [...new Set([0, 1, 2, 3, 4].map((i) => 2 * Math.round((i / 4) * (width / 2 - 1))))];
  return {
    curves: dimensions.map((dimension) => ({
      name: say("dimension {n}: wavelength {length}", {
        n: dimension, length: Math.round(lengths[dimension / 2]).toLocaleString("en"),
      }),
      values: times(positions, (p) => data[p * width + dimension]),
    })),
    x: say("position"), y: say("value"), title: say("Sinusoids"),
    alt: say("Sine waves of five dimensions over the position"),
  };
}

/** The same words in two orders, with the encoding and without it. */
async function inSentence(app) {
  const { session, text } = app;
  const number = Number(app.choices.shuffle ?? (text === app.listed.order && app.listed.reordered ? 0 : 1));
  const other = number || text !== app.listed.order ? shuffled(text, number) : app.listed.reordered;
  const blind = { changes: { ...noChanges(), positions: false } };
  const all = await app.ifCurrent(Promise.all(
    [{ text }, { text, ...blind }, { text: other }, { text: other, ...blind }].map((asked) => session.result(asked))
  ));
  const labels = [
    say("first order, with the encoding: {text}", { text }), say("first order, without it: {text}", { text }),
    say("other order, with the encoding: {text}", { text: other }),
    say("other order, without it: {text}", { text: other }),
  ];
  const first = app.listed.reordered && text === app.listed.order ? 0 : 1;
  const orders = [...new Set([...times(12, (i) => first + i), number])].map(String);
  return [
    heading(say("Without the encoding"), say(
      "The same words in two orders. Words that differ from the first translation are marked."
    )),
    el("div", { class: "row" }, [
      list(say("Other order"), orders, String(number), app.set("shuffle")),
    ]),
    compared(all.map((one, i) => /** @type {[string, string]} */ ([labels[i], one.text])), all[0].languages[1]),
    caption(all[1].text === all[3].text
      ? say(
        "Without the encoding, both orders have the same translation. The encoder cannot distinguish one order from "
        + "the other, so it cannot know who does what to whom."
      )
      : ""),
  ];
}

const SIZE = 624, MIDDLE = 397;

/**
 * Whole random numbers of 32 bits from a seed: the Mersenne Twister (Matsumoto and Nishimura 1998), seeded as in
 * Python.
 * @param {number} seed
 */
function mersenneTwister(seed) {
  const state = new Uint32Array(SIZE), before = (i) => state[i - 1] ^ (state[i - 1] >>> 30);
  state[0] = 19650218;
  for (let i = 1; i < SIZE; i++) state[i] = Math.imul(1812433253, before(i)) + i;
  let at = 1;
  const mix = (times, factor, added) => {
    for (; times; times--) {
      state[at] = (state[at] ^ Math.imul(before(at), factor)) + added(at);
      if (++at === SIZE) [state[0], at] = [state[SIZE - 1], 1];
    }
  };
  mix(SIZE, 1664525, () => seed);
  mix(SIZE - 1, 1566083941, (i) => -i);
  state[0] = 0x80000000;
  at = SIZE;
  const twist = () => {
    for (let i = 0; i < SIZE; i++) {
      const y = (state[i] & 0x80000000) | (state[(i + 1) % SIZE] & 0x7fffffff);
      state[i] = state[(i + MIDDLE) % SIZE] ^ (y >>> 1) ^ (y & 1 ? 0x9908b0df : 0);
    }
    at = 0;
  };
  return () => {
    if (at === SIZE) twist();
    let y = state[at++];
    y ^= y >>> 11;
    y ^= (y << 7) & 0x9d2c5680;
    y ^= (y << 15) & 0xefc60000;
    return (y ^ (y >>> 18)) >>> 0;
  };
}

/** The words of a text, or its characters if it has no spaces, in the random order with this number. */
export function shuffled(text, number) {
  const trimmed = text.trim(), spaced = trimmed.includes(" "), words = spaced ? trimmed.split(/\s+/) : [...trimmed];
  const next = mersenneTwister(number);
  for (let i = words.length - 1; i > 0; i--) {
    const bits = 32 - Math.clz32(i + 1);
    let j = next() >>> (32 - bits);
    while (j > i) j = next() >>> (32 - bits);
    [words[i], words[j]] = [words[j], words[i]];
  }
  return words.join(spaced ? " " : "");
}
