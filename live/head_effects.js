// What a change does to a translation: the log-probability of its tokens, and the effect of silencing each head alone.
import { times } from "./assets/numbers.js";
import { kindsOf } from "./kinds.js";

/** @typedef {import("./changes.js").Changes} Changes */

/** Every head of a model. @param {Record<string, number[]>} heads Kind → layers and heads. @returns {Head[]} */
export function everyHead(heads) {
  return kindsOf(heads).flatMap((kind) => times(heads[kind][0] * heads[kind][1], (i) =>
    ({ kind, layer: Math.floor(i / heads[kind][1]), head: i % heads[kind][1] })));
}

/** The log-probability of the written tokens in nats. @param {Translation} translation */
export function logProbability({ written, given = 0 }) {
  return written.slice(given).reduce((sum, { probability = 0 }) => sum + Math.log(probability), 0);
}

/** The tokens of a translation, to be forced: position → id. @param {Translation} translation */
export function asForced({ written }) {
  return new Map(written.map(({ id }, i) => [i, id]));
}

/**
 * The effects of silencing each head that are measured so far.
 * @param {import("./session.js").Session} session @param {string} text @returns {SilencingEffect[]}
 */
export function measuredEffects({ results }, text) {
  const name = `effects ${text}`, measured = results.get(name) ?? [];
  results.delete(name); // the latest result is kept longest
  results.set(name, measured);
  return measured;
}
