// The tour of a first visit: five steps on Translate. Nothing is hidden, and nothing has to be answered.
import { everyHead } from "../../pages/heads.js";
import { largestAt, mapRows } from "../map_rows.js";
import { verdict } from "../verdicts.js";

/** @type {import("../verdicts.js").Checks} */
export const FIRST_VISIT = {
  async sentence(situation, _, { choices }) {
    return verdict(situation.text.trim() === choices.text ? "wrong" : "right",
      { text: situation.text, translation: (await situation.translation()).text });
  },

  /** The token that got the lowest probability. */
  async tokens(situation) {
    const { written } = await situation.translation();
    const { text: token, probability = 1 } = written[largestAt(written.map((one) => -(one.probability ?? 1)))];
    return verdict("right", { token, probability });
  },

  /** The visitor has opened a head that did not open by itself. */
  async heads({ choices, info }) {
    const [layers, heads] = info.heads.cross, { layer = String(layers), head = "1" } = choices;
    return verdict(layer === String(layers) && head === "1" ? "wrong" : "right", { layer, head, all: layers * heads });
  },

  /** The key with the largest weight of the first query, in the head that is open. */
  async map(situation) {
    const { written, source, maps: { cross } } = await situation.translation();
    const numbers = [situation.choices.layer, situation.choices.head].map(Number);
    const [layer, head] = numbers.every(Number.isInteger) ? numbers : [cross.shape[0], 1];
    const row = mapRows(cross, layer - 1, head - 1)[0], key = largestAt(row);
    return verdict("right", { query: written[0].text, key: source[key].text, weight: row[key] });
  },

  /** The visitor has chosen another kind of attention. How many maps the model has computed. */
  async more({ choices, info }) {
    return verdict((choices.kind ?? "cross") === "cross" ? "wrong" : "right", { maps: everyHead(info.heads).length });
  },
};
