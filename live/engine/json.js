// JSON of files from elsewhere. A browser ends the whole page where a text is nested too deeply for its own reader.
const MAX_DEPTH = 64, MAX_VALUES = 1 << 22; // of all lists and objects; a tokenizer of 262,000 tokens has 2.3 million
const MAX_NAMES = 3 << 18; // in all objects, which take more time than lists; such a tokenizer has 320,000

/** @param {string} text @returns {any} @throws {SyntaxError} It is no JSON, too deep, or has too many values. */
export function parseJson(text) {
  let depth = 0, values = 0, names = 0, isInside = false; // a string
  for (let i = 0; i < text.length; i++) {
    const code = text[i];
    if (isInside) {
      if (code === "\\") i++;
      else if (code === '"') isInside = false;
    } else if (code === '"') isInside = true;
    else if (code === ",") values++;
    else if (code === ":") names++;
    else if (code === "[" || code === "{") {
      values++;
      if (++depth > MAX_DEPTH) throw new SyntaxError(`The file is nested more than ${MAX_DEPTH} deep.`);
    } else if (code === "]" || code === "}") depth--;
  }
  if (values > MAX_VALUES) throw new SyntaxError(`The file has more than ${MAX_VALUES} values.`);
  if (names > MAX_NAMES) throw new SyntaxError(`The file has more than ${MAX_NAMES} names.`);
  return JSON.parse(text);
}
