// The list of lessons, with the visitor's progress.
import { draw, el } from "../ui/dom.js";
import { say } from "../ui/words.js";
import { button } from "../controls/controls.js";
import { linkOf } from "./catalogue.js";
import { rich } from "./rich.js";

/**
 * @typedef {import("./course.js").Course} Course
 * @typedef {import("./catalogue.js").Lesson} Lesson
 */

/** @param {Element} root @param {Course} course */
export function drawList(root, course) {
  const tour = course.lessons.find(({ number }) => !number);
  draw(root, [
    ...(course.finished ? [summary(course, course.finished)] : []),
    el("p", { class: "caption" },
      say("Each lesson opens the pages of Headlight and asks you before it shows a picture. " +
        "Your own run of the model gives the answer.")
        + (course.language === "zh" ? "" : " ")
        + (globalThis.platform ? say("Your learning platform keeps your answers.")
          : say("Your answers stay in this browser."))),
    el("ol", { class: "lessons" }, course.lessons.filter(({ number }) => number).map((lesson) => row(course, lesson))),
    el("div", { class: "row" }, [
      ...(tour ? [button(say("Take the tour"), () => course.begin(linkOf(tour, tour.steps[0])))] : []),
      ...(Object.keys(course.progress).length ? [el("details", { class: "forget" }, [
        el("summary", {}, say("Forget my progress")),
        el("p", {}, say("Remove your answers? This cannot be undone.")),
        button(say("Remove my answers"), () => course.forget()),
      ])] : []),
    ]),
  ]);
}

/** What the visitor has found in a lesson. @param {Course} course @param {Lesson} lesson */
function summary(course, lesson) {
  const { title, goal, steps: texts } = course.texts[lesson.name];
  const found = lesson.steps.flatMap((step) => {
    const verdict = course.found.get(linkOf(lesson, step)), text = texts[step.name];
    if (!verdict || (!verdict.right && step.answer.form === "action")) return [];
    const said = rich("span", text.outcomes[verdict.outcome], verdict.values);
    return [el("p", {}, [rich("b", text.title), el("span", {}, ": "), said])];
  });
  const missing = lesson.steps.length - found.length;
  return el("section", { class: "summary" }, [
    el("h2", {}, say("What you have found in “{lesson}”", { lesson: textOf(title) })),
    rich("p", goal),
    ...found,
    ...(missing ? [el("p", { class: "quiet" }, say("Steps without a result: {n}.", { n: missing }))] : []),
  ]);
}

/** One lesson. Its button opens the first step without an answer. @param {Course} course @param {Lesson} lesson */
function row(course, lesson) {
  const { progress } = course, { title, goal } = course.texts[lesson.name];
  const { steps, number, minutes, only_in_app: others } = lesson, all = steps.length;
  const names = steps.map((step) => linkOf(lesson, step)), open = names.filter((name) => !progress[name]);
  const done = all - open.length;
  const facts = [
    ...(all ? [say("Steps: {n}. About {minutes} minutes.", { n: all, minutes }),
      say("Answered: {done} of {all}.", { done, all })] : []),
    ...(others ? [say("Steps only in the app: {n}.", { n: others })] : []),
  ];
  const label = done === 0 ? say("Start") : done < all ? say("Continue") : say("Again");
  return el("li", {}, [
    el("div", {}, [
      el("p", {}, [rich("b", `${number}. ${title}`), el("span", {}, " "), rich("span", goal)]),
      el("p", { class: "quiet" }, facts.join(course.language === "zh" ? "" : " ")),
    ]),
    ...(all ? [button(label, () => course.begin(open[0] ?? names[0]),
      { class: `plain${done < all ? " main" : ""}`, "aria-label": `${label}: ${textOf(title)}` })] : []),
  ]);
}

/** A title without markup. @param {string} html */
function textOf(html) {
  return new DOMParser().parseFromString(html, "text/html").body.textContent ?? "";
}
