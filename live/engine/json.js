// JSON of files from elsewhere. A browser ends the whole page where a text is nested too deeply for its own reader.
const MAX_DEPTH = 64;

/** @param {string} text @returns {any} @throws {SyntaxError} It is no JSON, or too deep. */
export function parseJson(text) {
  let depth = 0, isInside = false; // a string
  for (let i = 0; i < text.length; i++) {
    const code = text[i];
    if (isInside) {
      if (code === "\\") i++;
      else if (code === '"') isInside = false;
    } else if (code === '"') isInside = true;
    else if (code === "[" || code === "{") {
      if (++depth > MAX_DEPTH) throw new SyntaxError(`The file is nested more than ${MAX_DEPTH} deep.`);
    } else if (code === "]" || code === "}") depth--;
  }
  return JSON.parse(text);
}
