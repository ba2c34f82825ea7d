// Rules that choose heads of an atlas, such as "previous > 0.5 and layer <= 2". A rule is read once; a head either
// fulfils it, or not, or has no such number.
import { say } from "./words.js";

const LONGEST_RULE = 200; // characters
const PART_OF_RULE = /\s*(?:(-?(?:\d+(?:\.\d+)?|\.\d+)(?:e-?\d+)?)|([A-Za-z_]\w*)|(>=|<=|!=|==|[><=≥≤≠()]))/y;
/** @type {Record<string, (a: any, b: any) => boolean>} */
const COMPARED = {
  ">": (a, b) => a > b, "<": (a, b) => a < b, ">=": (a, b) => a >= b, "<=": (a, b) => a <= b,
  "=": (a, b) => a === b, "!=": (a, b) => a !== b,
};
const SIGNS_OF_RULE = new Map([
  ...Object.keys(COMPARED).map((sign) => /** @type {[string, string]} */ ([sign, sign])),
  ["≥", ">="], ["≤", "<="], ["≠", "!="], ["==", "="],
]);
/** A comparison with a number that a head does not have is undefined. @typedef {boolean | undefined} Truth */
const not = (one) => (one === undefined ? undefined : !one);
const either = (one, other) => (one || other || (one === undefined || other === undefined ? undefined : false));
const both = (one, other) => not(either(not(one), not(other)));

/** A rule that cannot be read. Its message is a sentence in the language of the visitor. */
export class RuleError extends Error {}

/**
 * Read a rule.
 * @param {string} text "" for all heads.
 * @param {{ numbers: string[], kinds: string[] }} known The names of numbers, with the ends of their intervals.
 * @returns {(read: (name: string) => number | string) => boolean} Whether a head with these values fulfils it.
 * @throws {RuleError}
 */
export function readRule(text, { numbers, kinds }) {
  const parts = partsOfRule(text);
  if (!parts.length) return () => true;
  let at = 0;
  const next = () => parts[at]?.text.toLowerCase();
  const wrong = (expected) => new RuleError(at < parts.length
    ? say("“{part}” is not expected here. Write {expected}.", { part: parts[at].text, expected })
    : say("The rule is not complete. Write {expected}.", { expected }));

  function alternatives() {
    const all = [conjunction()];
    while (next() === "or") { at++; all.push(conjunction()); }
    return (read) => all.reduce((found, one) => either(found, one(read)), /** @type {Truth} */ (false));
  }

  function conjunction() {
    const all = [negation()];
    while (next() === "and") { at++; all.push(negation()); }
    return (read) => all.reduce((found, one) => both(found, one(read)), /** @type {Truth} */ (true));
  }

  function negation() {
    if (next() === "not") {
      at++;
      const one = negation();
      return (read) => not(one(read));
    }
    if (next() !== "(") return comparison();
    at++;
    const inside = alternatives();
    if (next() !== ")") throw wrong(say("a closing parenthesis"));
    at++;
    return inside;
  }

  function comparison() {
    const name = next();
    if (parts[at]?.kind !== "name") throw wrong(say("the name of a number"));
    if (name !== "kind" && name !== "layer" && name !== "head" && !numbers.includes(name))
      throw new RuleError(say("There is no number {name}. Write one of these: {numbers}.", {
        name: parts[at].text,
        numbers: ["kind", "layer", "head", ...numbers.filter((one) => !/_(low|high)$/.test(one))].join(", "),
      }));
    at++;
    const sign = SIGNS_OF_RULE.get(next()) ?? "";
    if (!sign) throw wrong(say("a sign such as > or <="));
    at++;
    const value = name === "kind" ? kindAt() : numberAt();
    at++;
    return (read) => {
      const found = read(name);
      return found === undefined || Number.isNaN(found) ? undefined : COMPARED[sign](found, value);
    };
  }

  function kindAt() {
    if (!kinds.includes(next())) throw wrong(say("one of these kinds: {kinds}", { kinds: kinds.join(", ") }));
    return next();
  }

  function numberAt() {
    if (parts[at]?.kind !== "number") throw wrong(say("a number"));
    return Number(next());
  }

  const rule = alternatives();
  if (at < parts.length) throw wrong(say("“and” or “or”"));
  return (read) => rule(read) === true;
}

/** The parts of a rule. @param {string} text @returns {{ kind: "number" | "name" | "sign", text: string }[]} */
function partsOfRule(text) {
  if (text.length > LONGEST_RULE)
    throw new RuleError(say("The rule has {n} characters. Shorten it to {limit}.", {
      n: text.length, limit: LONGEST_RULE,
    }));
  /** @type {{ kind: "number" | "name" | "sign", text: string }[]} */
  const parts = [], whole = text.trimEnd();
  PART_OF_RULE.lastIndex = 0;
  for (let end = 0; end < whole.length; end = PART_OF_RULE.lastIndex) {
    const found = PART_OF_RULE.exec(whole);
    if (!found)
      throw new RuleError(say("“{part}” cannot stand in a rule. Write for example: {example}.", {
        part: whole.slice(end).trimStart().slice(0, 1), example: "previous > 0.5 and layer <= 2",
      }));
    parts.push({ kind: found[1] ? "number" : found[2] ? "name" : "sign", text: found[0].trim() });
  }
  return parts;
}
