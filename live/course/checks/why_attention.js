// Lesson 1: why attention. Where a network with attention looks while it writes a word.
import { largestAt, mapRows, sumOf } from "../map_rows.js";
import { chosen, estimated, verdict } from "../verdicts.js";
import { wordAt, wordsOf } from "../words.js";

const CLEAR = 0.5; // of a row's weight: the network looks at one token

/** @type {import("../verdicts.js").Checks} */
export const WHY_ATTENTION = {
  /** The source token to which the network attends most while it writes a word. */
  async alignment(situation, answer, { parameters }) {
    const { written, source, maps } = await situation.translation();
    const weights = mapRows(maps.cross, 0, 0)[written.findIndex(({ text }) => text === parameters.written)];
    const best = largestAt(weights);
    return chosen(Number(answer), [best], { token: source[best].text, weight: weights[best],
      answer: source[answer].text, answer_weight: weights[answer] });
  },

  /** Where the network looks while it writes the last sentence mark. */
  async "full-stop"(situation, answer) {
    const { written, source, maps } = await situation.translation();
    const row = written.findLastIndex(({ word }) => word >= 0);
    const weights = mapRows(maps.cross, 0, 0)[row], best = largestAt(weights), { text, word } = source[best];
    return chosen(answer, [word < 0 ? "end" : wordsOf(text).size ? "word" : "stop"], {
      mark: written[row].text, token: text, weight: weights[best],
      on_mark: sumOf(weights.filter((_, i) => source[i].text === ".")),
    });
  },

  async "many-maps"(situation, answer) {
    const shapes = Object.values((await situation.translation()).maps).map(({ shape }) => shape);
    const [layers, heads] = shapes[0], total = sumOf(shapes.map(([l, h]) => l * h));
    return estimated(answer, total, 0, { total, kinds: shapes.length, layers, heads });
  },

  /** A sentence for which the network looks at one token, and later at another that stands some tokens before it. */
  async "puzzle-backwards"(situation, _, { parameters: { least } }) {
    const { written, source, maps } = await situation.translation();
    const rows = mapRows(maps.cross, 0, 0).map((weights) => [largestAt(weights), Math.max(...weights)]);
    const clear = rows.flatMap(([key, weight], row) =>
      (weight >= CLEAR && wordsOf(source[key].text).size ? [{ row, key }] : []));
    const jumps = clear.flatMap((one, at) =>
      clear.slice(at + 1).map((other) => ({ back: one.key - other.key, i: one.row, j: other.row })));
    if (!jumps.length) return verdict("unclear", { clear: CLEAR });
    const { back, i, j } = jumps.reduce((most, other) =>
      (other.back - most.back || other.i - most.i || other.j - most.j) > 0 ? other : most);
    return verdict(back >= least ? "right" : "forward",
      { back: Math.max(back, 0), least, first: wordAt(written, i), second: wordAt(written, j) });
  },
};
