// The words of the components in the language of the visitor. The server sends them with the data of each component.

/** @type {Record<string, Record<string, string>>} Language → English → translation. */
const known = {};
let used = ""; // the language of the page

/**
 * Use this language from now on, with these words and those that other components have brought in it.
 * @param {Record<string, string>} words English → translation, and "" → the language. Without a language, they replace
 *   all.
 */
export function useWords(words) {
  used = words[""] ?? "";
  known[used] = { ...(used && known[used]), ...words };
}

/**
 * A text in the language of the visitor, with its values. The server finds the texts by this call, so the first
 * argument is one literal.
 * @param {string} text English, with a `{name}` for each value.
 * @param {Record<string, unknown>} [values]
 */
export function say(text, values = {}) {
  return (known[used]?.[text] ?? text).replace(
    /\{(\w+)\}/g, (all, name) => (name in values ? String(values[name]) : all)
  );
}
