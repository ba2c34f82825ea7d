// The lessons that a site holds, their names in links, and what the visitor has answered, which the browser keeps.
import { keptObject, PROGRESS } from "../ui/kept.js";

/**
 * @typedef {{ name: string, page: string, choices: Choices,
 *   answer: AnswerForm, parameters: Record<string, any>,
 *   lines: [string, import("./expressions.js").Tree][], target: string, any_sentence: boolean, puzzle: boolean,
 *   offers: Choices[], points_at: string }} Step As viz_app/export/live_lessons.py writes it.
 * @typedef {{ name: string, number: number, minutes: number, only_in_app: number, steps: Step[] }} Lesson
 *   The tour has the number 0.
 * @typedef {{ lesson: Lesson, step: Step, link: string }} Opened The link is its name in links.
 * @typedef {{ title: string, text: string, question: string, options: Record<string, string>, hints: string[],
 *   outcomes: Record<string, string>, source: string }} StepText As HTML.
 * @typedef {{ title: string, goal: string, steps: Record<string, StepText> }} LessonText
 */

/** The name of a step in links: "query-key-value.scale". @param {Lesson} lesson @param {Step} step */
export function linkOf(lesson, step) {
  return `${lesson.name}.${step.name}`;
}

/** @param {Lesson[]} lessons @returns {Map<string, Opened>} By name in links. */
export function stepsByLink(lessons) {
  return new Map(lessons.flatMap((lesson) => lesson.steps.map((step) => {
    const link = linkOf(lesson, step);
    return /** @type {[string, Opened]} */ ([link, { lesson, step, link }]);
  })));
}

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
 * @param {Map<string, Opened>} steps By name in links.
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
