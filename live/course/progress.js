// What the visitor has answered, and the address from before a lesson. The browser keeps both.
import { keptObject, PROGRESS } from "../ui/kept.js";

export const BEFORE = "headlight-live-before";
const MOST_TOKENS = 10_000;

/**
 * @typedef {string | number | null} Answer null: the visitor has acted on the page instead.
 * @typedef {Record<string, LessonRecord>} Progress By the name of the step in links.
 * @typedef {{ form: string, options?: string[], side?: string, low?: number, high?: number, step?: number }} AnswerForm
 */

const isCount = (value) => Number.isInteger(value) && value >= 0 && value < MOST_TOKENS;

/** Name of a form → whether an answer has it. @type {Record<string, (form: any, answer: any) => boolean>} */
const FITS = {
  one_of: ({ options }, answer) => options.includes(answer),
  one_token: (_, answer) => isCount(answer),
  number: ({ low, high }, answer) => typeof answer === "number" && answer >= low && answer <= high,
  action: (_, answer) => answer === null,
};

/** Whether an answer has the form that a step asks for. @param {AnswerForm} form @param {unknown} answer */
export function fits(form, answer) {
  return FITS[form.form](form, answer);
}

/**
 * The records that have the form of their steps.
 * @param {Map<string, import("./catalogue.js").Opened>} steps By name in links.
 * @returns {Progress}
 */
export function readProgress(steps) {
  const all = keptObject(PROGRESS), known = [...steps].filter(([name, { step: { answer: form } }]) => {
    const record = all[name];
    return record && typeof record === "object" && fits(form, record.first) && fits(form, record.answer);
  });
  return Object.fromEntries(known.map(([name]) =>
    [name, { first: all[name].first, answer: all[name].answer, right: all[name].right === true }]));
}
