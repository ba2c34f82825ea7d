// An error that a visitor can read. With its code, a page can show the sentence in another language.

export class EngineError extends Error {
  constructor(code, message) {
    super(message);
    this.name = "EngineError";
    this.code = code;
  }
}

/** @param {unknown} condition @returns {asserts condition} */
export function require(condition, code, message) {
  if (!condition) throw new EngineError(code, message);
}
