// The regular expressions of tokenizers, which are written for Oniguruma, as those of JavaScript. Both search with
// backtracking, so only patterns pass whose attempts take a time proportional to the text: the rules of `is_linear` in
// model/text/bounded_tokenizer.py, which explains them. Every other pattern is refused with a sentence.
import { EngineError, N_ } from "../errors.js";

const MAX_PATTERN = 2000, MAX_BRACKETS = 50, MAX_CHOICES = 64, MAX_TIMES = 100;
const ESCAPE = /\\(?:([pP])\{(\^?)(\w+)\}|x\{([\da-fA-F]+)\}|u([\da-fA-F]{4})|([sSdDwhnrtfv])|(\W))/uy;
const PLAIN = /[^\\()|*+?{}[\]]/uy;
const CHARACTER_CLASS = /\[(\^?)((?:\\.|[^\]\\[])+)\]/suy;
const OPENING = /\((\?(?::|i:|=|!|<=|<!))?(?!\?)/uy;
const QUANTIFIER = /(?:[*+?]|\{(\d*)(,?)(\d*)\})([?+]?)/uy;
/** Letters of escapes with another meaning, inside a class. @type {Record<string, string>} */
const SETS = {
  s: "\\p{White_Space}", S: "\\P{White_Space}", d: "\\p{Nd}", D: "\\P{Nd}",
  w: "\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}", h: "\\da-fA-F",
};
/** @type {Record<string, string>} */
const SIGNS = { "^": "(?<![^\\n])", $: "(?![^\\n])", ".": "[^\\n]" }; // lines end only at a line feed
/** @type {Record<string, string>} */
const ALSO = { s: "\u017f", k: "\u212a" }; // what two letters match beside their own cases

/**
 * A character, a group or a lookaround with its quantifier; `body` has the alternatives of a group.
 * @typedef {{ source: string, body: Part[][], least: number, most: number }} Part
 */

const isEndless = ({ most }) => most > MAX_TIMES;
const product = (numbers) => numbers.reduce((all, one) => all * one, 1);

/** The number of ways to match one text, if the part is not endless. @param {Part} part @returns {number} */
function choices(part) {
  const ways = part.body.reduce((sum, parts) => sum + product(parts.map(choices)), 0);
  const inside = part.body.length ? ways : 1, times = isEndless(part) ? 1 : part.most - part.least;
  return part.most === 1 ? inside + times : inside * (times + 1);
}

/** Whether a part is a character, or a group that occurs at most once and has no repetition without a limit. */
function isSimple({ body, most }) {
  return body.length === 0 || (most === 1 && body.flat().every((part) => isSimple(part) && !isEndless(part)));
}

/** Whether one attempt to match takes a time proportional to the text. @param {Part[]} parts @returns {boolean} */
function isLinear(parts) {
  const [first] = parts;
  if (parts.length === 1 && first.body.length && first.most === 1) return first.body.every(isLinear);
  const before = parts.slice(0, Math.max(parts.findLastIndex(({ least }) => least > 0), 0));
  return parts.every(isSimple) && before.filter(isEndless).length <= 1
    && product(parts.map(choices)) <= MAX_CHOICES;
}

/** Reads a pattern from left to right. A method throws where it meets something unknown. */
class PatternReader {
  constructor(pattern) {
    this.pattern = pattern;
    this.at = 0;
    this.kept = 0; // parts that give nothing back
  }

  /** The next part of the pattern, if it has this form. @param {RegExp} form */
  take(form) {
    form.lastIndex = this.at;
    const found = form.exec(this.pattern);
    if (found) this.at = form.lastIndex;
    return found;
  }

  /** All alternatives up to the closing bracket. `ignoresCase` is true in `(?i: … )`. @returns {Part[][]} */
  alternatives(depth = 0, ignoresCase = false) {
    if (depth > MAX_BRACKETS) throw new Error("too many brackets");
    /** @type {Part[][]} */
    const all = [[]];
    while (this.at < this.pattern.length && this.pattern[this.at] !== ")")
      if (this.take(/\|/y)) all.push([]);
      else all[all.length - 1].push(this.quantified(this.group(depth, ignoresCase) ?? {
        source: this.characterClass(ignoresCase) ?? this.character(ignoresCase), body: [],
      }));
    return all;
  }

  group(depth, ignoresCase) {
    const opening = this.take(OPENING);
    if (!opening) return null;
    const kind = opening[1] ?? "?:", kept = this.kept;
    const body = this.alternatives(depth + 1, ignoresCase || kind === "?i:");
    if (this.pattern[this.at++] !== ")" || (kind.startsWith("?<") && this.kept > kept)) throw new Error("brackets");
    return { source: `(${kind === "?i:" ? "?:" : kind}${sourceOf(body)})`, body };
  }

  quantified({ source, body }) {
    const found = this.take(QUANTIFIER);
    if (!found) return { source, body, least: 1, most: 1 };
    const [all, fewest, comma, most, mode] = found, sign = all[0];
    if ((sign === "{" && (mode === "+" || !comma && (mode || !fewest))) || this.take(QUANTIFIER))
      throw new Error("a repetition");
    const range = sign === "{"
      ? [Number(fewest), comma ? (most ? Number(most) : Infinity) : Number(fewest)]
      : [Number(sign === "+"), sign === "?" ? 1 : Infinity];
    const times = all.slice(0, all.length - mode.length).replace("{,", "{0,");
    // A lookahead gives nothing back, so its text is what `++` matches.
    const written = mode === "+"
      ? `(?=(?<k${++this.kept}>${source}${times}))\\k<k${this.kept}>`
      : source + times + mode;
    return { source: written, body, least: range[0], most: range[1] };
  }

  characterClass(ignoresCase) {
    const found = this.take(CHARACTER_CLASS);
    if (!found) return null;
    const inside = new PatternReader(found[2]);
    let written = "";
    if (found[2].includes("&&")) throw new Error("sets");
    while (inside.at < found[2].length) written += inside.character(ignoresCase, true);
    return `[${found[1]}${written}]`;
  }

  /** An escape or a sign. `isInside` a class, all signs stand for themselves. */
  character(ignoresCase, isInside = false) {
    const found = this.take(ESCAPE);
    if (!found) {
      const sign = this.take(isInside ? /[^\\]/suy : PLAIN)?.[0];
      if (sign === undefined || (isInside && ignoresCase && sign === "-")) throw new Error("a sign");
      if (isInside && !ignoresCase) return sign; // a minus is a range
      return isInside ? cased(sign) : SIGNS[sign] ?? (ignoresCase ? `[${cased(sign)}]` : sign);
    }
    const [, property, not, name, long, short, letter, sign] = found;
    if (property) return propertyOf(property, not, name);
    if (long ?? short) return `\\u{${long ?? short}}`;
    if (sign) return /[$()*+.?[\\\]^{|}]/.test(sign) || (isInside && sign === "-") ? `\\${sign}` : sign;
    const set = SETS[letter] ?? `\\${letter}`;
    return isInside ? set : `[${set}]`;
  }
}

/** Both cases of a letter of ASCII; others have more than two. */
function cased(sign) {
  const small = sign.toLowerCase(), large = sign.toUpperCase();
  if (sign > "\x7f" && small !== large) throw new Error("a letter");
  return (small === large ? sign : small + large + (ALSO[small] ?? "")).replace(/[\\\]^-]/g, "\\$&");
}

/** `\p{…}` with the name of a category or of a script. */
function propertyOf(letter, not, name) {
  const sign = `\\${(letter === "P") === (not === "^") ? "p" : "P"}`;
  try {
    return new RegExp(`${sign}{${name}}`, "u").source;
  } catch {
    return `${sign}{Script=${name}}`;
  }
}

/** @param {Part[][]} alternatives */
function sourceOf(alternatives) {
  return alternatives.map((parts) => parts.map(({ source }) => source).join("")).join("|");
}

/** @param {string} pattern of Oniguruma @returns {RegExp} */
export function regExpOf(pattern) {
  try {
    const reader = new PatternReader(pattern), alternatives = reader.alternatives();
    if (pattern.length <= MAX_PATTERN && reader.at === pattern.length && alternatives.every(isLinear))
      return new RegExp(sourceOf(alternatives), "gu");
  } catch {} // the sentence below says it
  throw new EngineError("pattern-unsupported", N_(
    "The tokenizer has the pattern {pattern}. The browser does not know it, or its time may have no limit."
  ), { pattern: String(pattern).slice(0, 80) });
}

/**
 * Start and end of all matches in a text. As in Oniguruma, no empty match follows another match.
 * @param {RegExp} pattern @param {string} text
 */
export function placesOf(pattern, text) {
  let last = -1;
  return Array.from(text.matchAll(pattern), ({ index, 0: { length } }) => [index, index + length]).filter(
    ([start, end]) => {
      const isKept = start < end || start !== last;
      last = end;
      return isKept;
    }
  );
}
