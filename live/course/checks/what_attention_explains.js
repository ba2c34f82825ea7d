// Lesson 7: what attention explains, and what it does not.
import { noChanges, readChanges, writeChanges } from "../../app/link.js";
import { everyHead } from "../../pages/heads.js";
import { allEffects } from "../effects.js";
import { averageOf, mapRows, sumOf } from "../map_rows.js";
import { chosen, estimated, verdict } from "../verdicts.js";

/** @typedef {import("../situation.js").Situation} Situation */

/**
 * The largest weight of each row of a head. The first query of a decoder has only one key, so it does not count.
 * @param {Translation} translation
 * @param {Head} head
 */
function largestWeights({ maps }, { kind, layer, head }) {
  return mapRows(maps[kind], layer, head).slice(kind === "decoder" ? 1 : 0).map((row) => Math.max(...row));
}

/** The place of each number in their order; equal numbers share their mean place. @param {number[]} numbers */
function ranks(numbers) {
  return numbers.map((number) => numbers.filter((other) => other < number).length
    + (numbers.filter((other) => other === number).length + 1) / 2);
}

/** Spearman's rank correlation: 1 for the same order. @param {number[]} first @param {number[]} second */
function rankCorrelation(first, second) {
  const [x, y] = [first, second].map((numbers) => ranks(numbers).map((rank) => rank - (numbers.length + 1) / 2));
  const product = (a, b) => sumOf(a.map((one, i) => one * b[i]));
  return product(x, y) / Math.sqrt(product(x, x) * product(y, y));
}

/** Every head of a kind gives all its keys the same weight. @param {Situation} situation @param {string} kind */
function allUniform({ info }, kind) {
  return { ...noChanges(), uniform: everyHead(info.heads).filter((head) => head.kind === kind) };
}

/** Whether the translation changes when all heads of a kind are uniform. @type {import("../verdicts.js").Check} */
async function uniform(situation, answer, { parameters: { kind } }) {
  const { text: usual } = await situation.usual();
  const { text: changed } = await situation.translate(situation.text, { changes: allUniform(situation, kind) });
  return chosen(answer, [changed === usual ? "stays" : "changes"], { usual, changed });
}

/** @type {import("../verdicts.js").Checks} */
export const WHAT_ATTENTION_EXPLAINS = {
  /** Whether the largest weights put the heads in the order of the effects of silencing them. */
  async "largest-weight"(situation, answer) {
    const usual = await situation.usual(), found = await allEffects(situation);
    const effects = found.map(({ change }) => Math.abs(change));
    const sizes = found.map((head) => averageOf(largestWeights(usual, head)));
    const correlation = rankCorrelation(sizes, effects), size = Math.abs(correlation);
    const [least, tenth] = [sizes, effects].map((numbers) => numbers.toSorted((a, b) => b - a)[9]);
    const shared = effects.filter((one, i) => one >= tenth && sizes[i] >= least).length;
    return chosen(answer, [size < 0.3 ? "none" : size < 0.6 ? "some" : "similar"],
      { correlation, shared, heads: effects.length });
  },

  /** In how many translations a word changes without some heads. */
  async "best-pointer"(situation, answer, { parameters: { heads, sentences } }) {
    const texts = await situation.bothTextsOf(sentences, readChanges(heads) ?? noChanges());
    const changed = texts.changed.filter((text, i) => text !== texts.usual[i]);
    return estimated(answer, changed.length, 2,
      { count: changed.length, all: sentences.length, examples: changed.slice(0, 2).join(" · ") || "–" });
  },

  "uniform-encoder": uniform,
  "uniform-cross": uniform,

  /** Several heads with a large weight are silenced, and the translation stays equal. */
  async "puzzle-strong-and-silent"(situation, _, { parameters: { heads, weight } }) {
    const { changes } = situation, before = await situation.usual(), { text: usual } = before;
    const count = changes.ablated.filter((head) => Math.max(0, ...largestWeights(before, head)) > weight).length;
    const values = { count, heads, least: weight, usual };
    if (writeChanges(changes) !== writeChanges({ ...noChanges(), ablated: changes.ablated }))
      return verdict("other-change", values);
    if (count < heads) return verdict("few", values);
    const { text } = await situation.translation();
    return verdict(text === usual ? "right" : "changed", { ...values, text });
  },

  /** A sentence whose translation changes when all heads of a kind are uniform, and nothing else is changed. */
  async "puzzle-needs-patterns"(situation, _, { parameters: { kind } }) {
    const wanted = allUniform(situation, kind);
    if (writeChanges(situation.changes) !== writeChanges(wanted))
      return verdict("other-change", { heads: wanted.uniform.length });
    const { text: usual } = await situation.usual(), { text } = await situation.translation();
    return verdict(text === usual ? "unchanged" : "right", { source: situation.text, usual, text });
  },
};
