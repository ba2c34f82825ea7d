// The lessons that a site holds, their names in links, and their style sheet.
import { contentOf, missing } from "../app/held.js";

/**
 * @typedef {{ name: string, page: string, choices: Choices,
 *   answer: import("./progress.js").AnswerForm, parameters: Record<string, any>, figures: Record<string, number>,
 *   target: string, any_sentence: boolean, puzzle: boolean, outcomes: string[],
 *   offers: Choices[], points_at: string }} Step As viz_app/export/live_lessons.py writes it.
 * @typedef {{ name: string, number: number, minutes: number, only_in_app: number, steps: Step[] }} Lesson
 *   The tour has the number 0.
 * @typedef {{ title: string, text: string, question: string, options: Record<string, string>, hints: string[],
 *   outcomes: Record<string, string>, source: string }} StepText As HTML.
 * @typedef {{ title: string, goal: string, steps: Record<string, StepText> }} LessonText
 */

/**
 * The lessons of a site, after their style sheet is there.
 * @param {{ lessons: any, style: string }} course
 * @returns {Promise<Lesson[]>}
 */
export async function readLessons({ lessons, style }) {
  const found = await contentOf(lessons);
  await loadStyle(style);
  return found;
}

/** The name of a step in links: "query-key-value.scale". @param {Lesson} lesson @param {Step} step */
export function linkOf(lesson, step) {
  return `${lesson.name}.${step.name}`;
}

/** @param {Lesson[]} lessons @returns {Map<string, Step>} By name in links. */
export function stepsByLink(lessons) {
  return new Map(lessons.flatMap((lesson) => lesson.steps.map(
    (step) => /** @type {[string, Step]} */ ([linkOf(lesson, step), step]))));
}

/** @param {string} file "" where the page holds the styles of the lessons. */
async function loadStyle(file) {
  if (!file) return;
  const link = Object.assign(document.createElement("link"), { rel: "stylesheet", href: file });
  await new Promise((done) => {
    link.onload = done;
    link.onerror = () => done(missing(file));
    document.head.append(link);
  });
}
