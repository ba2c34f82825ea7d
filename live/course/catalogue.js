// The lessons that a site holds, and their names in links.

/**
 * @typedef {{ name: string, page: string, choices: Choices,
 *   answer: import("./progress.js").AnswerForm, parameters: Record<string, any>,
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
