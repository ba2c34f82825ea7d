// The regular expressions of tokenizers, which are written for Oniguruma, as those of JavaScript. Both search with
// backtracking, so a pattern passes only if an attempt to match takes a time proportional to the text: as in
// model/text/bounded_tokenizer.py, at most one repetition without a limit may come before the last part that can fail,
// and no group with a choice may be repeated. Every other pattern is refused with a sentence.
import { EngineError, N_, require, shown } from "../errors.js";

const MAX_PATTERN = 2000, MAX_BRACKETS = 50, MAX_TIMES = 100;
const MAX_CHOICES = 64; // in a pattern; and in all patterns of a tokenizer, of those that may read a text to its end
const ESCAPE = String.raw`\\(?:([pP])\{(\^?)(\w+)\}|x\{([\da-fA-F]+)\}|([sSdDwhnrtfvA])|(\W))`;
/** An escape, a class, an opening bracket or a sign. */
const TOKEN = new RegExp(
  String.raw`${ESCAPE}|\[\^?(?:\\.|[^\]\\[])+\]|\((?:\?(?:i?:|<?[=!]))?(?!\?)|[^\\*+?{}[\]]`, "suy"
);
const IN_CLASS = new RegExp(String.raw`${ESCAPE}|[^\\]`, "gsu");
const QUANTIFIER = /(?:[*+?]|\{(\d+)(,?)(\d*)\}(?!\+))([?+]?)(?![*+?{])/uy;
/** Letters of escapes that mean other characters in JavaScript, inside a class. @type {Record<string, string>} */
const SETS = {
  s: "\\p{White_Space}", S: "\\P{White_Space}", d: "\\p{Nd}", D: "\\P{Nd}",
  w: "\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}", h: "\\da-fA-F",
};
/** @type {Record<string, string>} */
const SIGNS = {
  "^": "(?<![^\\n])", $: "(?![^\\n])", ".": "[^\\n]", "\\A": "(?<![^])", // lines end only at a line feed
};
/** @type {Record<string, string>} */
const ALSO = { s: "\u017f", k: "\u212a" }; // what two letters match beside their own cases

/** `\p{…}` with the name of a category or of a script. */
function propertyOf(letter, not, name) {
  const sign = `\\${(letter === "P") === (not === "^") ? "p" : "P"}`;
  try {
    return new RegExp(`${sign}{${name}}`, "u").source;
  } catch {
    return `${sign}{Script=${name}}`;
  }
}

/** Both cases of a letter of ASCII; others have more than two. */
function cased(sign) {
  const small = sign.toLowerCase(), large = sign.toUpperCase();
  if (sign === "-" || (sign > "\x7f" && small !== large)) throw sign;
  return small === large ? sign : small + large + (ALSO[small] ?? "");
}

/** An escape or a sign in JavaScript, inside a class or outside. */
function translated([text, letter, not, name, code, set, sign], isCased, isInside) {
  if (letter) return propertyOf(letter, not, name);
  if (code || sign) return `\\u{${code ?? sign.codePointAt(0).toString(16)}}`;
  const inside = set ? SETS[set] ?? text : isCased ? cased(text) : text;
  return isInside ? inside : inside === text ? SIGNS[text] ?? text : `[${inside}]`;
}

/**
 * A pattern of Oniguruma as one of JavaScript, and how many choices may read a text to its end in vain. It throws where
 * the pattern has something unknown or has no limit.
 */
function javaScriptOf(pattern) {
  let at = 0, kept = 0, slow = 0; // `kept`: parts that give nothing back
  const take = (form) => {
    form.lastIndex = at;
    const found = form.exec(pattern);
    if (found) at = form.lastIndex;
    return found ?? [];
  };
  /** Up to the closing bracket. `ways` is the number of ways to match one text. */
  const read = (depth, isCased) => {
    let source = "", ways = 0, product = 1, endless = 0, hasEndless = false, isSlow = false;
    for (;;) {
      const token = take(TOKEN), [text] = token;
      if (text === undefined || text === "|" || text === ")") {
        if (text ? text === ")" && !depth : depth || at < pattern.length) throw text;
        ways += product;
        if (isSlow) slow += product;
        if (product > MAX_CHOICES) throw ways;
        if (text !== "|") return { source, ways, hasEndless };
        [source, product, endless, isSlow] = [`${source}|`, 1, 0, false];
        continue;
      }
      const isGroup = text[0] === "(";
      let written, inside = 1;
      if (isGroup) {
        const before = kept, group = read(depth + 1, isCased || text === "(?i:");
        if (group.hasEndless || depth > MAX_BRACKETS || (text[2] === "<" && kept > before)) throw text;
        written = `${text.replace(/^\((\?i:)?$/, "(?:")}${group.source})`;
        inside = group.ways;
      } else if (text[0] === "[" && text.length > 1) {
        if (text.includes("&&")) throw text;
        const start = text[1] === "^" ? 2 : 1, signs = text.slice(start, -1).matchAll(IN_CLASS);
        written = `${text.slice(0, start)}${Array.from(signs, (one) => translated(one, isCased, true)).join("")}]`;
      } else written = translated(token, isCased, false);
      const [times = "", fewest, comma, most, mode] = take(QUANTIFIER);
      const sign = times[0], least = sign === "{" ? Number(fewest) : Number(!sign || sign === "+");
      const limit = fewest ? (comma ? Number(most || Infinity) : least) : sign && sign !== "?" ? Infinity : 1;
      const isEndless = limit > MAX_TIMES;
      if ((fewest && !comma && mode) || (isGroup && limit > 1) || (least && endless > 1)) throw times;
      // A lookahead gives nothing back, so its text is what `++` matches.
      source += mode === "+"
        ? `(?=(?<k${++kept}>${written}${times.slice(0, -1)}))\\k<k${kept}>`
        : written + times;
      product *= limit === 1 ? inside + 1 - least : inside * ((isEndless ? 1 : limit - least) + 1);
      isSlow ||= least > 0 && endless > 0;
      if (isEndless) endless++;
      hasEndless ||= isEndless;
    }
  };
  const { source } = read(0, false);
  return { source, slow };
}

/** A pattern of Oniguruma for JavaScript, with `slow` of `javaScriptOf`. @param {string} pattern */
export function regExpOf(pattern) {
  try {
    if (pattern.length <= MAX_PATTERN) {
      const { source, slow } = javaScriptOf(pattern);
      return { regExp: new RegExp(source, "gu"), slow };
    }
  } catch {} // the sentence below says it
  throw new EngineError("pattern-unsupported", N_(
    "The tokenizer has the pattern {pattern}. The browser does not know it, or its time may have no limit."
  ), { pattern: shown(pattern) });
}

/** Refuse a tokenizer whose patterns together take too long. @param {string[]} patterns */
export function requireFast(patterns) {
  require(patterns.reduce((sum, one) => sum + regExpOf(one).slow, 0) <= MAX_CHOICES, "pattern-unsupported", N_(
    "The patterns of the tokenizer take too long together. Open this model in the app."
  ));
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
