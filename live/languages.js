// The names of languages, as the browser knows them.

/** The name of a language. @param {string} code @param {string} inLanguage Of the visitor, or the language itself. */
export function languageName(code, inLanguage) {
  try {
    return new Intl.DisplayNames([inLanguage], { type: "language" }).of(code) ?? code;
  } catch {
    return code; // a checkpoint may name its languages in another way
  }
}
