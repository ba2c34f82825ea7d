// One form for each text, so that a model reads what it has learned, as in model/text/cleaning.py.
import { N_ } from "../errors.js";

/** What happens, the characters, and what replaces them. @type {[string, RegExp, string][]} */
const STEPS = [
  [N_("line breaks of other kinds became ordinary ones"), /\r\n?|[\v\f\x85\u2028\u2029]/gu, "\n"],
  [N_("unusual spaces became ordinary ones"), /[\t\xa0\u1680\u2000-\u200a\u202f\u205f\u3000]/gu, " "],
  [N_("invisible characters were removed"), new RegExp(
    String.raw`[\0-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5`
    + String.raw`\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f`
    + String.raw`\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\u{e0000}-\u{e0fff}]`, "gu",
  ), ""],
  [N_("characters without a meaning became \ufffd"), /\p{Surrogate}/gu, "\ufffd"],
];
const COMPOSED = N_("accents were joined with their letters");

/**
 * The text as our own checkpoints read it: composed (NFC), with ordinary spaces, without invisible characters.
 * @param {string} text
 */
export function clean(text) {
  return STEPS.reduce(
    (changed, [, pattern, replacement]) => changed.replace(pattern, replacement), text
  ).normalize("NFC").trim();
}

/** What `clean` changes in a text, beside spaces at its ends, as parts of a sentence. @param {string} text */
export function cleaningChanges(text) {
  const inside = text.replace(/^[ \n]+|[ \n]+$/gu, "");
  const found = STEPS.filter(([, pattern]) => inside.search(pattern) >= 0).map(([name]) => name);
  return inside.normalize("NFC") === inside ? found : [...found, COMPOSED];
}
