// An error that a visitor can read: a sentence with its values. With its template, a page shows it in another language.

export class EngineError extends Error {
  /**
   * @param {string} code
   * @param {string} template English, with a `{name}` for each value.
   * @param {Record<string, unknown>} [values]
   */
  constructor(code, template, values = {}) {
    super(String(template).replace(/\{(\w+)\}/g, (all, name) => (name in values ? String(values[name]) : all)));
    this.name = "EngineError";
    this.code = code;
    this.template = template;
    this.values = values;
  }
}

/** An error as a message can hold it. @param {any} error */
export function writeError({ code = "internal", message, template = message, values = {} }) {
  return { code, template, values };
}

/** @param {{ code: string, template: string, values: Record<string, unknown> }} error */
export function readError({ code, template, values }) {
  return new EngineError(code, template, values);
}

/** Mark a text for translation. A page translates it where it shows it. @param {string} text */
export function N_(text) {
  return text;
}

/**
 * @param {unknown} condition @param {string} code @param {string} template @param {Record<string, unknown>} [values]
 * @returns {asserts condition}
 */
export function require(condition, code, template, values) {
  if (!condition) throw new EngineError(code, template, values);
}

/** A name or a value of a file in a sentence, which it cannot make long. @param {unknown} value */
export function shown(value) {
  const text = String(typeof value === "object" ? JSON.stringify(value) : value ?? "missing");
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}
