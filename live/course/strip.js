// The strip of a lesson above a page: the question, the answer, and what the visitor's own run says about it.
import { el } from "../ui/dom.js";
import { say, shortened } from "../ui/words.js";
import { button, field, list } from "../controls/controls.js";
import { namesOfPage } from "../pages/pages.js";
import { linkOf } from "./catalogue.js";
import { rich } from "./rich.js";

const MOST_CHIPS = 24; // tokens; more are a list

/**
 * @typedef {import("./course.js").Course} Course
 * @typedef {import("./course.js").Opened} Opened
 */

/** @param {Course} course @returns {Described} */
export function describedStrip(course) {
  const { lesson, step } = /** @type {Opened} */ (course.opened), texts = course.texts[lesson.name];
  const text = texts.steps[step.name];
  const parts = course.isHere ? [el("div", { class: "columns" }, [
    el("div", {}, [rich("div", text.text), ...(text.source && !course.hidden
      ? [rich("p", say("Source: {source}", { source: text.source }), {}, { class: "quiet" })] : [])]),
    el("div", {}, [rich("p", text.question, {}, { class: "question" }), ...answers(course), ...offers(course),
      ...hints(course)]),
  ])] : [elsewhere(course)];
  return el("section", { class: "lesson", "aria-label": say("Lesson") }, [
    el("div", { class: "strip" }, [header(course, texts.title, text.title), ...parts]),
    ...(course.isHere ? [outcome(course)] : []),
  ]);
}

/** Page, lesson and step, how far the visitor is, and the buttons for the way. */
function header(course, title, stepTitle) {
  const before = course.after(-1), next = course.after(1);
  return el("div", { class: "head" }, [
    el("h1", { tabindex: -1 }, [
      el("span", { class: "where" }, namesOfPage(course.app.page, course.app.listed.task).title),
      rich("span", say("{lesson}: {step}", { lesson: title, step: stepTitle }))]),
    dots(course),
    el("div", { class: "way" }, [
      ...(course.isUnchanged ? [] : [button(say("Reset this step"),
        () => course.begin(course.opened.link, { ownPlace: true }), { class: "plain bare" })]),
      button(say("Back"), () => course.begin(before), { disabled: !before }),
      next ? button(say("Next step"), () => course.begin(next), { class: "plain main" })
        : button(say("Finish"), () => course.finish(), { class: "plain main" }),
      button(say("Leave the lesson"), () => course.leave(), { class: "plain bare" }),
    ]),
  ]);
}

/** One dot for each step: open, answered or right. The dot of the open step has a ring. */
function dots({ opened: { lesson, step }, progress }) {
  const records = lesson.steps.map((one) => progress[linkOf(lesson, one)]);
  const right = records.filter((one) => one?.right).length;
  const spoken = say("Step {number} of {all}. Steps with a right answer: {right}.",
    { number: lesson.steps.indexOf(step) + 1, all: lesson.steps.length, right });
  return el("div", { class: "dots", role: "img", "aria-label": spoken, title: spoken }, lesson.steps.map((one, i) =>
    el("i", { class: [records[i] ? (records[i].right ? "right" : "answered") : "open", one === step && "here",
      one.puzzle && "puzzle"].filter(Boolean).join(" ") })));
}

/** The control in which a visitor answers, for each form of answer. @param {Course} course @returns {Described[]} */
function answers(course) {
  const { step, link, lesson } = /** @type {Opened} */ (course.opened), { answer: form } = step;
  const record = course.progress[link], { options } = course.textOf(lesson, step);
  if (!course.app.info) return [];
  if (form.form === "one_token") return tokens(course, form, record && Number(record.answer));
  if (form.form === "number") return number(course, form, record?.answer);
  return form.options ? [pills(form.options.map((one) => rich("button", options[one], {},
    pill(one === record?.answer, () => course.answer(one)))))] : [];
}

const pill = (pressed, onclick) => ({ type: "button", class: "plain", "aria-pressed": String(pressed), onclick });

/** @param {Described[]} buttons */
function pills(buttons) {
  return el("div", { class: "pills", role: "group", "aria-label": say("Your answer") }, buttons);
}

/** @param {Course} course @param {import("./catalogue.js").AnswerForm} form @param {number | undefined} given */
function tokens(course, { side }, given) {
  const { app, tokens: shown, opened } = course, lang = app.listed.languages[side === "writes" ? 1 : 0];
  const answered = given !== undefined && course.isAboutThisRun(opened?.link ?? "", given) ? given : undefined;
  if (!shown) return [];
  if (shown.length <= MOST_CHIPS) return [pills(shown.map(({ text, word }, i) =>
    el("button", pill(i === answered, () => course.answer(i)),
      [el("bdi", { lang: word >= 0 ? lang : false }, shortened(text, 40))])))];
  const options = shown.map(({ text }, i) => /** @type {[string, string]} */ ([String(i), `${i + 1} · ${text}`]));
  return [list(say("Your answer"), [["", say("Choose a token")], ...options], String(answered ?? ""),
    (value) => { if (value) course.answer(Number(value)); }, { lang })];
}

/**
 * A field with a button; Enter in the field is the same. Not a form: a frame may forbid it.
 * @param {Course} course @param {import("./catalogue.js").AnswerForm} form @param {any} answered
 */
function number(course, { low = 0, high = 0, step = 1 }, answered) {
  const answer = ({ target }) => {
    const input = target.closest(".answer").querySelector("input");
    if (input.reportValidity()) course.answer(Number(input.value));
  };
  const onkeydown = (event) => { if (event.key === "Enter" && !event.isComposing
    && event.target.matches("input")) answer(event); };
  return [el("div", { class: "answer", onkeydown }, [
    field(say("Your estimate, {low} to {high}", { low, high }), {
      type: "number", min: low, max: high, step, inputmode: step % 1 ? "decimal" : "numeric", required: true,
      autocomplete: "off", enterkeyhint: "go", value: course.draft ?? answered ?? "",
      oninput: ({ target }) => { course.draft = target.value; },
    }),
    button(say("Answer"), answer),
  ])];
}

/** What the visitor can take instead of own sentences. @param {Course} course */
function offers({ app, opened }) {
  const { offers: all } = /** @type {Opened} */ (opened).step;
  if (!all.length) return [];
  const names = all.map((one, i) => /** @type {[string, string]} */ ([String(i), Object.values(one).join(" · ")]));
  return [list(say("Choose a sentence"), [["", say("Or choose a sentence")], ...names], "",
    (i) => { if (i) app.change(all[Number(i)]); }, { lang: app.listed.languages[0] })];
}

/** What the run says. A screen reader reads it when it changes. @param {Course} course */
function outcome(course) {
  const { opened, progress } = course, { lesson, step, link } = /** @type {Opened} */ (opened);
  const { verdict, note, waits } = course.outcome ?? {};
  if (!verdict) return el("div", { class: "outcome", role: "status" },
    note ? [el("p", {}, note), ...(waits ? [bar(course.checked, note)] : [])] : []);
  const unsolved = progress[link]?.right ? "done" : "open";
  const state = verdict.right ? "right" : step.answer.form === "action" ? unsolved : "wrong";
  const invited = invitation(course, verdict.right);
  const mark = { right: say("Right."), wrong: say("Not so."), open: say("Not yet."),
    done: say("Already done.") }[state];
  return el("div", { class: "outcome", role: "status" }, [
    el("p", { class: state }, [el("b", {}, mark), el("span", {}, " "),
      rich("span", course.textOf(lesson, step).outcomes[verdict.outcome], verdict.values)]),
    ...(invited ? [el("p", { class: "quiet" }, invited)] : []),
  ]);
}

/** How far a check is. @param {[number, number] | null} checked null: it does not say. @param {string} name */
function bar(checked, name) {
  return el("progress", { "aria-label": name, ...(checked ? { max: checked[1], value: checked[0] } : {}) });
}

/** Let the visitor try another sentence, where the step works with it. @param {Course} course @param {boolean} right */
function invitation({ opened, app }, right) {
  const { lesson, step } = /** @type {Opened} */ (opened), changed = app.text !== (step.choices.text ?? app.text);
  if (changed && !step.any_sentence && !step.offers.length)
    return say("This step is about its own sentence. Reset this step to see it.");
  const invites = right && !changed && step.any_sentence && lesson.number && app.asksForText(app.page);
  return invites ? say("Try it with your own sentence: type it in the field below.") : "";
}

/** The hints that the visitor has asked for, and a button for the next one. @param {Course} course */
function hints(course) {
  const { lesson, step, link } = /** @type {Opened} */ (course.opened), { hints: all } = course.textOf(lesson, step);
  const given = course.hints.get(link) ?? 0;
  const next = [say("Hint"), say("Another hint"), say("Show me")][given];
  return [
    el("div", { role: "status" }, given ? [el("ol", { class: "hints" },
      all.slice(0, given).map((hint) => rich("li", hint)))] : []),
    ...(given < all.length && !course.progress[link]?.right
      ? [button(next, () => course.hint(), { class: "plain bare hint" })] : []),
  ];
}

/** On another page: the way back to the page of the step. @param {Course} course */
function elsewhere({ app, opened }) {
  const { page } = /** @type {Opened} */ (opened).step;
  const { title } = namesOfPage(page, app.listed.task), sentence = say("This step is on the page {page}. Open it.", {
    page: title,
  });
  return el("p", {}, [button(sentence, () => app.change({}, { page }))]);
}
