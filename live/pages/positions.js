// Positional encoding: the numbers that give the model the position of each token, and a translation without them.
import { times } from "../assets/numbers.js";
import { draw, el } from "../assets/dom.js";
import { say } from "../assets/words.js";
import { noChanges } from "../changes.js";
import { compared } from "../compared.js";
import { caption, heading, list, mount, note, place, segmented } from "../controls.js";
import { numberPicture, wavePicture } from "../plots.js";
import { positionTable, wavelengths } from "../position_table.js";
import { shuffled } from "../shuffled.js";

const SHOWN = 64; // positions
const INTRODUCTIONS = {
  sinusoidal: () => say("This model adds sines and cosines to each token. Each position has its own row of numbers."),
  rotary: () => say("This model rotates pairs of numbers of each query and key. The angles grow with the position."),
};

/**
 * @param {Element} root
 * @param {import("../app.js").App} app
 */
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
  const introduction = INTRODUCTIONS[positional];
  const tabs = [...(introduction ? ["matrix", "waves"] : []), ...(app.isReport ? [] : ["sentence"])];
  const tab = tabs.includes(app.choices.position_tab) ? app.choices.position_tab : tabs[0];
  const names = { matrix: say("The matrix"), waves: say("Waves"), sentence: say("In a sentence") };
  const table = introduction && positionTable(config, SHOWN);
  const parts = tab === "sentence" ? await inSentence(app) : pictures(tab);
  draw(root, [
    caption(introduction?.() ?? say("This model has learned one vector for each position.")),
    el("div", { class: "row" }, [
      segmented(say("View"), tabs.map((one) => [one, names[one]]), tab, (value) => app.change({ position_tab: value })),
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
    [session.translate(text), session.translate(text, blind), session.translate(other), session.translate(other, blind)]
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
      list(
        say("Other order"), orders.map((one) => [one, one]), String(number), (value) => app.change({ shuffle: value })
      ),
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
