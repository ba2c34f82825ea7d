// Lesson 2: query, key, value. One row of a map by hand: products, the division, the softmax, the weighted sum.
import { noChanges } from "../../app/link.js";
import { largestIndices } from "../../engine/decoding/search.js";
import { hookName, KINDS } from "../../engine/trace.js";
import { everyHead } from "../../pages/heads.js";
import { chosenRow, derive, partsOf, ROW_STAGES } from "../../pages/inside.js";
import { largestAt, sumOf } from "../map_rows.js";
import { chosen, estimated, verdict } from "../verdicts.js";

/** @typedef {import("../situation.js").Situation} Situation */

/** The entropy of some weights, in nats. */
const entropy = (weights) => -sumOf(weights.map((weight) => (weight > 0 ? weight * Math.log(weight) : 0)));

/** The row that the page shows. @param {Situation} situation */
async function rowOf(situation) {
  const row = await chosenRow(situation, (record) =>
    situation.translate(situation.text, { forced: situation.forced, record }));
  const { kind, layer, head, query, queries, translation } = row;
  const parts = partsOf(translation.recorded, { kind, layer, head, query });
  const open = (numbers, masked = false) =>
    numbers.map((number, i) => (parts.masked[i] === masked ? number : -Infinity));
  return { ...row, parts, derived: derive(parts), open,
    place: { layer: layer + 1, head: head + 1, query: queries[query] } };
}

/**
 * The mean entropy of all rows of all heads: as the model computes them, and without the division.
 * @param {Situation} situation
 */
async function meanEntropies(situation) {
  const { info, text, forced } = situation, record = ROW_STAGES.map((stage) => `*.${stage}`);
  const translation = await situation.translate(text, { forced, record });
  const rows = everyHead(info.heads).flatMap((head) =>
    translation[KINDS[head.kind].queries].map((_token, query) => partsOf(translation.recorded, { ...head, query })));
  return [true, false].map((scaled) => sumOf(rows.map((parts) => entropy(derive(parts, { scaled }).shares)))
    / rows.length);
}

/**
 * The length of each value of a head after the output projection, ‖v W_O‖ (Kobayashi et al. 2020, "Attention is Not
 * Only a Weight"), for each key. The model itself computes it: query i of the head gets the whole weight on key i, and
 * all other heads of the layer are silenced. What is then left of the output without any head is the bias.
 * @param {Situation} situation
 * @param {ChosenRow} row
 */
async function valueNorms({ session, info }, { kind, layer, head, keys, translation }) {
  const place = { kind, layer, head }, source = translation.source.map(({ id }) => id);
  const name = hookName(kind, layer, "output");
  // a query for each key
  const read = kind === "decoder" ? translation.read.map(({ id }) => id) : keys.map(() => translation.read[0].id);
  const all = Array.from({ length: info.heads[kind][1] }, (_, one) => ({ ...place, head: one }));
  const others = all.filter((one) => one.head !== head);
  const pattern = { ...place, weights: keys.map((_, i) => keys.map((_, j) => +(i === j))) };
  const outputOf = async (changes) => {
    const request = { changes: { ...noChanges(), ...changes }, record: [name] };
    return (await session.engine.read(source, read, request)).recorded[name];
  };
  const { data, shape: [, width] } = await outputOf({ ablated: others, replaced: [pattern] });
  const bias = await outputOf({ ablated: all });
  const added = (i) => data.slice(i * width, (i + 1) * width).map((number, at) => number - bias.data[at]);
  return keys.map((_, i) => Math.hypot(...added(i)));
}

/** @type {import("../verdicts.js").Checks} */
export const QUERY_KEY_VALUE = {
  async row(situation, answer) {
    const { parts, keys, place } = await rowOf(situation), total = sumOf(parts.weights);
    return chosen(answer, [Math.abs(total - 1) < 1e-3 ? "one" : "any"], { total, keys: keys.length, ...place });
  },

  /** The key with the largest product. */
  async "best-key"(situation, answer) {
    const { derived: { dots }, keys, open, place } = await rowOf(situation);
    const [first, second] = largestIndices(open(dots), 2);
    return chosen(Number(answer), [first], {
      key: keys[first], product: dots[first], second: keys[second], second_product: dots[second], answer: keys[answer],
      answer_product: dots[answer], ...place,
    });
  },

  /** The number by which the model divides the products. */
  async divide(situation, answer) {
    const { parts, derived: { dots, scores }, keys, open } = await rowOf(situation), width = parts.query.length;
    const root = Math.sqrt(width), at = largestAt(open(dots));
    const values = { root, width, key: keys[at], product: dots[at], score: scores[at] };
    return Number(answer) === width ? verdict("width", values) : estimated(answer, root, 0.3, values);
  },

  /** How many times larger a weight is if its score is larger by 1. */
  async softmax(situation, answer) {
    const { derived: { scores, shares }, keys, open } = await rowOf(situation);
    const [first, second] = largestIndices(open(scores), 2);
    const gap = scores[first] - scores[second], ratio = shares[first] / shares[second];
    return estimated(answer, gap > 1e-3 ? ratio ** (1 / gap) : Math.E, 0.3, {
      factor: Math.E, first: keys[first], second: keys[second], gap, ratio, first_weight: shares[first],
      second_weight: shares[second],
    });
  },

  async "no-division"(situation, answer, { figures }) {
    const [divided, undivided] = await meanEntropies(situation), { parts, derived, keys } = await rowOf(situation);
    const at = largestAt(derived.shares);
    const truth = Math.abs(divided - undivided) < 0.02 ? "same" : undivided < divided ? "sharper" : "flatter";
    const others = derive(parts, { scaled: false }).shares;
    return chosen(answer, [truth], { divided, undivided, key: keys[at], weight: derived.shares[at],
      other_weight: others[at], ...figures });
  },

  /** The value that points most in the direction of the head output. */
  async "weighted-sum"(situation, answer) {
    const { parts, derived: { shares, result }, keys } = await rowOf(situation);
    const cosines = parts.values.map((value) =>
      sumOf(result.map((number, i) => number * value[i])) / Math.hypot(...value) / Math.hypot(...result));
    const at = largestAt(cosines);
    return chosen(Number(answer), [at], {
      key: keys[at], cosine: cosines[at], weight: shares[at], answer: keys[answer], answer_cosine: cosines[answer],
      answer_weight: shares[answer],
    });
  },

  /** Whether the key with the largest weight also adds the longest vector to the output of the layer. */
  async "small-value"(situation, answer) {
    const row = await rowOf(situation), { derived: { shares }, keys } = row, norms = await situation.session.kept(
      JSON.stringify(["value norms", situation.text, [...situation.forced], row.place, row.kind]),
      () => valueNorms(situation, row));
    const added = shares.map((share, i) => share * norms[i]), [heavy, long] = [largestAt(shares), largestAt(added)];
    return chosen(answer, [heavy === long ? "yes" : "no"], {
      heavy: keys[heavy], heavy_weight: shares[heavy], heavy_added: added[heavy], long: keys[long],
      long_weight: shares[long], long_added: added[long],
    });
  },

  /** A row in which one key has nearly all the weight, although the query may attend to several. */
  async "puzzle-certain"(situation, _, { parameters: { least } }) {
    const { parts: { weights, masked }, keys, place } = await rowOf(situation), at = largestAt(weights);
    const outcome = masked.filter((one) => !one).length < 2 ? "only" : weights[at] >= least ? "right" : "spread";
    return verdict(outcome, { key: keys[at], weight: weights[at], least, ...place });
  },

  /** The division stays on, and the temperature gives nearly the weights that the row has without the division. */
  async "puzzle-temperature"(situation, _, { parameters: { within } }) {
    const { parts } = await rowOf(situation), temperature = Number(situation.choices.head_temperature ?? 1);
    const wanted = derive(parts, { scaled: false }).shares, { shares } = derive(parts, { temperature });
    const difference = Math.max(...shares.map((share, i) => Math.abs(share - wanted[i])));
    const [spread, now] = [entropy(wanted), entropy(shares)];
    const values = { temperature: String(temperature), difference, within, best: 1 / Math.sqrt(parts.query.length),
      spread };
    if (situation.choices.scaled === "false") return verdict("switched-off", values);
    if (spread < 0.1) return verdict("no-spread", values);
    return difference < within ? verdict("right", values)
      : verdict(now > spread ? "flat" : "sharp", { ...values, now });
  },

  /** A row in which a masked key has a larger product than all keys that the query may attend to. */
  async "puzzle-masked"(situation, _, { parameters: { least } }) {
    const { parts, derived: { dots }, keys, open, place } = await rowOf(situation);
    if (!parts.masked.includes(true)) return verdict("nothing-masked", place);
    const [masked, free] = [largestAt(open(dots, true)), largestAt(open(dots))], ahead = dots[masked] - dots[free];
    return verdict(ahead >= least ? "right" : ahead > 0 ? "little" : "behind", {
      masked: keys[masked], masked_product: dots[masked], open: keys[free], open_product: dots[free], ahead, least,
      ...place,
    });
  },
};
