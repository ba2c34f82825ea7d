// The checks of lessons. viz_app/course/expressions.py writes each expression as a tree of lists: a number, a name,
// ["text", …], or a function with its arguments. Whatever is computed with something missing is missing.
import { largestIndices } from "../engine/decoding/search.js";

/**
 * @typedef {any} Tree
 * @typedef {import("./rich.js").Values} Values For the placeholders in the text of an outcome.
 * @typedef {{ right: boolean, outcome: string, values: Values }} Verdict Whether the step is done, and the name of the
 *   text that says so.
 * @typedef {(name: string, values: any[]) => any} Call Computes a quantity of the run.
 */

const isTrue = (value) => Boolean(value) && value.length !== 0;
/** @type {(value: any) => any} */
const isList = (value) => Array.isArray(value) || ArrayBuffer.isView(value);

/** The items of a list, or the names of a mapping. @returns {any[]} */
const itemsOf = (values) => (isList(values) ? Array.from(values) : Object.keys(values));

/** @returns {number[]} */
const numbersOf = (values) => Array.from(isList(values) ? values : Object.values(values));

/** The words of a text in their order, in small letters. @param {string} text @returns {string[]} */
export function words(text) {
  return text.toLowerCase().match(/[\p{L}\p{N}_]+/gu) ?? [];
}

/** @param {Iterable<number>} numbers */
export function sumOf(numbers) {
  let sum = 0;
  for (const one of numbers) sum += one;
  return sum;
}

/** The place of the largest number; the first one of several. @param {ArrayLike<number>} numbers */
export function largestAt(numbers) {
  return largestIndices(/** @type {Float32Array} */ (numbers), 1)[0];
}

/** The largest difference of two rows. @param {ArrayLike<number>} one @param {ArrayLike<number>} other */
export function largestDifference(one, other) {
  return Math.max(...Array.from(one, (number, i) => Math.abs(number - other[i])));
}

/** @type {Record<string, (...values: any[]) => any>} */
const FUNCTIONS = {
  "+": (a, b) => a + b,
  "-": (a, b) => a - b,
  "*": (a, b) => a * b,
  "/": (a, b) => a / b,
  "//": (a, b) => Math.floor(a / b),
  "**": (a, b) => a ** b,
  minus: (a) => -a,
  "==": (a, b) => a === b,
  "!=": (a, b) => a !== b,
  "<": (a, b) => a < b,
  "<=": (a, b) => a <= b,
  ">": (a, b) => a > b,
  ">=": (a, b) => a >= b,
  in: (one, many) => many.includes(one),
  "not in": (one, many) => !many.includes(one),
  at: (values, place) => (isList(values) || typeof values === "string" ? values.at(place)
    : Object.hasOwn(values, place) ? values[place] : undefined),
  slice: (values, first, last) => values.slice(first, last === "" ? undefined : last),
  list: (...values) => values,
  right_if: (right) => (right ? "right" : "wrong"),
  estimated: (given, truth, within) =>
    (Math.abs(given - truth) <= within ? "right" : given < truth ? "too-low" : "too-high"),
  abs: Math.abs,
  exp: Math.exp,
  len: (values) => values.length,
  round: (number, digits = 0) => Math.round(number * 10 ** digits) / 10 ** digits,
  range: (count) => [...Array(count).keys()],
  number: Number,
  shown: (number, digits = 6) => String(Number(number.toPrecision(digits))),
  sum: (values) => sumOf(numbersOf(values)),
  max: (values) => (values.length === 0 ? undefined : Math.max(...numbersOf(values))),
  min: (values) => Math.min(...numbersOf(values)),
  index: (values, one) => (values.includes(one) ? values.indexOf(one) : undefined),
  largest: (values) => largestAt(numbersOf(values)),
  largest_name: (named) => Object.keys(named)[largestAt(numbersOf(named))],
  ranked: (values) => largestIndices(values, values.length),
  among: (values, chosen) => Array.from(values, (one, i) => (chosen[i] ? one : -Infinity)),
  times: (one, other) => Array.from(one, (number, i) => number * other[i]),
  apart: largestDifference,
  distinct: (values) => [...new Set(values)],
  most_common: (values) => largestAt([...Array(Math.max(...values) + 1).keys()].map(
    (one) => values.filter((other) => other === one).length)),
  joined: (texts, between) => texts.join(between),
  words,
  is_count: (text) => /^\d+$/.test(text),
  trimmed: (text) => text.trim(),
  ends: (text, end) => text.endsWith(end),
};

/**
 * The value of an expression; undefined where it is missing.
 * @param {Tree} tree
 * @param {Record<string, any>} names
 * @param {Call} call
 * @returns {Promise<any>}
 */
async function resultOf(tree, names, call) {
  const value = (part) => resultOf(part, names, call);
  if (typeof tree === "string") return Object.hasOwn(names, tree) ? names[tree] : call(tree, []);
  if (!Array.isArray(tree)) return tree ?? undefined;
  const [name, ...parts] = tree;
  if (name === "text") return parts[0];
  if (name === "if") return value(isTrue(await value(parts[0])) ? parts[1] : parts[2]);
  if (name === "not") return !isTrue(await value(parts[0]));
  if (name === "and") {
    for (const part of parts) if (!isTrue(await value(part))) return false;
    return true;
  }
  if (name === "or") {
    let found;
    for (const part of parts) {
      found = await value(part);
      if (isTrue(found)) break;
    }
    return found;
  }
  if (name === "for") {
    const [item, many, condition, element] = parts, found = [];
    for (const one of itemsOf((await value(many)) ?? [])) {
      const inner = { ...names, [item]: one };
      if (await resultOf(condition, inner, call)) found.push(await resultOf(element, inner, call));
    }
    return found;
  }
  const values = [];
  for (const part of parts) values.push(await value(part));
  if (values.some((one) => one === undefined || one === null)) return undefined;
  return Object.hasOwn(FUNCTIONS, name) ? FUNCTIONS[name](...values) : call(name, values);
}

/**
 * What a check says about an answer.
 * @param {[string, Tree][]} lines
 * @param {Record<string, any>} given The answer and the parameters of the step by name.
 * @param {Call} call
 * @returns {Promise<Verdict>}
 */
export async function evaluate(lines, given, call) {
  /** @type {Map<string, any>} */
  const known = new Map(); // quantities without arguments
  const once = (name, values) => {
    if (values.length) return call(name, values);
    if (!known.has(name)) known.set(name, call(name, values));
    return known.get(name);
  };
  const names = { ...given };
  /** @type {Record<string, any>} */
  const values = {};
  for (const [name, tree] of lines) {
    const value = await resultOf(tree, names, once);
    names[name] = value;
    if (name.startsWith("_") || value === undefined) continue;
    if (typeof value === "object") Object.assign(values, value);
    else values[name] = value;
  }
  const { outcome, ...shown } = values;
  if (outcome === undefined) throw new Error("The check has no outcome for this run.");
  return { right: outcome === "right", outcome, values: shown };
}
