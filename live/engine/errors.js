// An error that a visitor can read. Its code says which message a page may show in another language.

export class EngineError extends Error {
  /**
   * @param {string} code Such as "weights-damaged"; README.md lists them.
   * @param {string} message One or two sentences: the value, the reason, the remedy.
   */
  constructor(code, message) {
    super(message);
    this.name = "EngineError";
    this.code = code;
  }
}

/**
 * @param {unknown} condition
 * @param {string} code
 * @param {string} message
 * @returns {asserts condition}
 */
export function require(condition, code, message) {
  if (!condition) throw new EngineError(code, message);
}
