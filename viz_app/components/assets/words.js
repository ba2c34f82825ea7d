// The words of the components in the language of the visitor. The server sends them with the data of each component.

/** @type {Record<string, string>} English → translation, and "" → the language. All components of a page have one. */
const translations = {};

/**
 * Use these translations from now on, and those that other components have brought in the same language.
 * @param {Record<string, string>} words English → translation, and "" → the language. Without a language, they replace all.
 */
export function useWords(words) {
  if (!words[""] || words[""] !== translations[""]) for (const text of Object.keys(translations)) delete translations[text];
  Object.assign(translations, words);
}

/**
 * A text in the language of the visitor, with its values. The server finds the texts by this call, so the first argument
 * is one literal.
 * @param {string} text English, with a `{name}` for each value.
 * @param {Record<string, unknown>} [values]
 */
export function say(text, values = {}) {
  return (translations[text] ?? text).replace(/\{(\w+)\}/g, (all, name) => (name in values ? String(values[name]) : all));
}
