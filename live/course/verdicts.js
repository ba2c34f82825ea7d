// Compare a prediction with what the run shows.

/**
 * @typedef {import("./rich.js").Values} Values For the placeholders in the text of an outcome.
 * @typedef {{ right: boolean, outcome: string, values: Values }} Verdict Whether the step is done, and the name of the
 *   text that says so.
 * @typedef {{ choices: Choices, parameters: Record<string, any>,
 *   figures: Record<string, number> }} CheckedStep
 *   The choices that the step opens, the numbers and words that its check compares with, and the measured figures of
 *   its lesson.
 * @typedef {(situation: import("./situation.js").Situation, answer: any, step: CheckedStep) => Promise<Verdict>} Check
 *   The answer is the name of an option, the index of a token, a number, words, or null after an action on the page.
 * @typedef {Record<string, Check>} Checks Step → its check.
 */

/** @param {string} outcome @param {Values} values @returns {Verdict} */
export function verdict(outcome, values) {
  return { right: outcome === "right", outcome, values };
}

/**
 * The verdict on a chosen option: "right" or "wrong".
 * @param {unknown} answer
 * @param {unknown[]} right All right ones.
 * @param {Values} values
 */
export function chosen(answer, right, values) {
  return verdict(right.includes(answer) ? "right" : "wrong", values);
}

/**
 * The verdict on an estimated number: "right", "too-low" or "too-high".
 * @param {unknown} answer
 * @param {number} truth The number of this run.
 * @param {number} within How far a right answer may be from it.
 * @param {Values} values Besides `answer`.
 */
export function estimated(answer, truth, within, values) {
  const number = Number(answer);
  return verdict(Math.abs(number - truth) <= within ? "right" : number < truth ? "too-low" : "too-high",
    { answer: number, ...values });
}
