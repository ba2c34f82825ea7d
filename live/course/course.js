// The lessons of a site: the open step, the visitor's answers, and what the visitor's own run says about them.
import { draw, el } from "../ui/dom.js";
import { keep, keepRecords, onOtherTab, PROGRESS, readKept } from "../ui/kept.js";
import { onPage } from "../ui/page_events.js";
import { isPointedAt, POINTING } from "../ui/pointing.js";
import { say } from "../ui/words.js";
import { readAddress, writeAddress } from "../app/link.js";
import { unmount } from "../controls/controls.js";
import { contentOf } from "../app/held.js";
import { namesOfPage } from "../pages/pages.js";
import { fits, linkOf, readProgress, stepsByLink } from "./catalogue.js";
import { drawList } from "./lessons_page.js";
import { fillTexts } from "./rich.js";
import { check, Situation } from "./situation.js";
import { describedStrip } from "./strip.js";
import { markTarget, showTarget } from "./target.js";

/**
 * @typedef {import("./catalogue.js").Answer} Answer
 * @typedef {import("./catalogue.js").Lesson} Lesson
 * @typedef {import("./catalogue.js").Step} Step
 * @typedef {import("./catalogue.js").Opened} Opened
 * @typedef {import("./expressions.js").Verdict} Verdict
 */

const BEFORE = "headlight-live-before"; // where the browser keeps the address from before a lesson
const PATIENCE = 500; // milliseconds until the strip shows that a check goes on
const OUTSIDE = ["lang", "lesson"]; // choices that a lesson neither sets nor restores

export class Course {
  /** @param {App} app */
  constructor(app) {
    this.app = app;
    /** @type {Lesson[]} */
    this.lessons = [];
    /** @type {Record<string, import("./catalogue.js").LessonText>} */
    this.texts = {};
    this.language = "";
    /** @type {Map<string, Opened>} By name in links. */
    this.steps = new Map();
    /** @type {import("./catalogue.js").Progress} */
    this.progress = {};
    /** @type {Opened | null} */
    this.opened = null;
    /** @type {{ name: string, page: string } | null} A name that no step has, and the page of its link. */
    this.unknown = null;
    /** @type {Map<string, number>} Step → how many hints are shown. */
    this.hints = new Map();
    /** @type {Set<string>} Steps whose page an answer or the last hint has shown. */
    this.revealed = new Set();
    /** @type {Map<string, string>} Step → the text of the page when the visitor chose a token. */
    this.about = new Map();
    /** @type {string | undefined} What the visitor has typed in the open step. */
    this.draft = undefined;
    /** @type {Token[] | null} The tokens that the visitor chooses from. */
    this.tokens = null;
    this.tokensText = ""; // the text of the page to which they belong
    // What the run says about the latest answer.
    /** @type {{ verdict?: Verdict, note?: string, waits?: boolean } | null} */
    this.outcome = null;
    /** @type {[number, number] | null} How much of a long check is done, and all of it. */
    this.checked = null;
    this.isNew = false; // the visitor has just opened the step
    /** @type {Map<string, Verdict>} Step → what a run said, rather a right answer than a wrong one. */
    this.found = new Map();
    /** @type {Lesson | null} The lesson whose summary is shown. */
    this.finished = null;
    /** @type {Set<string>} Steps whose part of the page the visitor has pointed at. */
    this.pointed = new Set();
    this.reveals = false; // the visitor has just made the page or its frame appear
    this.stopScrolling = () => {};
    onOtherTab(() => this.use(readProgress(this.steps)));
    onPage(POINTING, (event) => this.point(event));
  }

  /** Before a page is drawn: read what the lessons need, and open the step that the link names. */
  async follow() {
    await this.read();
    const { app } = this, name = app.choices.lesson ?? "", found = this.stepOf(name);
    const alone = Object.keys(app.choices).every((one) => OUTSIDE.includes(one));
    if (found && alone) return this.begin(found.link, { how: "replaceState" }); // Back must not open it again
    if (name === (this.opened?.link ?? "")) return;
    this.show(found);
    if (!found && name) this.unknown = { name, page: app.page };
    app.choices = { ...app.choices, lesson: found?.link ?? "" };
  }

  async read() {
    const { course } = this.app.site, { language } = this.app;
    if (!this.lessons.length) {
      this.lessons = await contentOf(course.lessons);
      this.steps = stepsByLink(this.lessons);
      this.progress = readProgress(this.steps);
    }
    if (this.language === language) return;
    const texts = await contentOf(course.texts[language]);
    if (language === this.app.language) [this.texts, this.language] = [texts, language];
  }

  /**
   * The step that a link names; the name of a lesson alone means its first step.
   * @param {string} name
   * @returns {Opened | null}
   */
  stepOf(name) {
    const { steps } = this;
    return steps.get(name) ?? [...steps.values()].find(({ lesson }) => lesson.name === name) ?? null;
  }

  /** @param {Opened | null} found */
  show(found) {
    this.opened = found;
    [this.unknown, this.outcome, this.checked, this.tokens, this.reveals] = [null, null, null, null, false];
    this.stopScrolling();
    this.draft = undefined;
  }

  /**
   * Open a step.
   * @param {string} name Of the step in links.
   * @param {{ ownPlace?: boolean, how?: "pushState" | "replaceState" }} [options] With the text of the step, also where
   *   the visitor has typed another; how the address is kept.
   */
  begin(name, { ownPlace = false, how } = {}) {
    const found = this.stepOf(name), { app } = this;
    if (!found) return;
    const text = ownPlace ? "" : this.ownText(found.step);
    if (!this.opened) keep(BEFORE, writeAddress(app.page, { ...app.choices, lesson: "" }));
    this.finished = null;
    this.show(found);
    this.isNew = true;
    app.change({ ...this.cleared(), ...found.step.choices, ...(text ? { text } : {}), lesson: found.link },
      { page: found.step.page, how });
    scrollTo(0, 0);
  }

  /** Restore what the visitor had before the lesson. @param {string} [page] To open; "" for the page from before. */
  leave(page = "") {
    const { app } = this, place = readKept(BEFORE);
    const before = place ? readAddress(place, app.pages) : { page: app.page, choices: {} };
    keep(BEFORE, "");
    this.show(null);
    app.change({ ...this.cleared(), ...before.choices, lesson: "", lang: app.choices.lang ?? "" },
      { page: page || before.page });
  }

  /** Leave the lesson for its summary. */
  finish() {
    this.finished = this.opened?.lesson ?? null;
    this.leave("lessons");
  }

  /** All choices of the visitor, without a value. @returns {any} */
  cleared() {
    const names = Object.keys(this.app.choices).filter((one) => one !== "lang");
    return Object.fromEntries(names.map((one) => [one, undefined]));
  }

  /** The text that the visitor typed in the open step, if another step can use it; else "". @param {Step} step */
  ownText(step) {
    const last = this.opened?.step.choices, { text = "", checkpoint } = this.app.choices;
    if (!last || !step.any_sentence || checkpoint !== last.checkpoint || checkpoint !== step.choices.checkpoint)
      return "";
    return text !== last.text ? text.trim() : "";
  }

  /** The step so many steps after the open one, as links name it; "" outside the lesson. @param {number} distance */
  after(distance) {
    const { lesson, step } = /** @type {Opened} */ (this.opened);
    const other = lesson.steps[lesson.steps.indexOf(step) + distance];
    return other ? linkOf(lesson, other) : "";
  }

  /** Whether the page shows exactly the place of the open step. */
  get isUnchanged() {
    const { choices } = this.app, own = this.opened?.step.choices ?? {};
    return Object.keys(own).every((name) => choices[name] === own[name])
      && !["text", "intervention", "forced"].some((name) => choices[name] && !own[name]);
  }

  /** Whether the page of the open step is that of the address. */
  get isHere() {
    return this.opened?.step.page === this.app.page;
  }

  /** What takes the place of a page that waits for an answer; null where the page is shown. */
  get hidden() {
    const { opened, progress, revealed } = this;
    const waits = opened && this.isHere && opened.step.answer.form !== "action" && !progress[opened.link]
      && !revealed.has(opened.link);
    return waits ? { asksForText: () => false, show: drawHidden } : null;
  }

  /** The strip above the page; null without a lesson. */
  strip() {
    if (this.opened) return describedStrip(this);
    return this.unknown?.page === this.app.page ? el("section", { class: "lesson" }, [
      el("div", { class: "strip" }, [
        el("h1", { tabindex: -1 }, namesOfPage(this.app.page, this.app.listed.task).title),
        el("p", { class: "note" },
          say(
            "This page has no step “{name}”. The page Lessons lists all steps that it has.",
            { name: this.unknown.name }
          )),
      ]),
    ]) : null;
  }

  /** After the strip is drawn. A keyboard and a screen reader continue at the heading of a new step. */
  fill() {
    fillTexts(this.app.main, this.app.language);
    const heading = /** @type {HTMLElement | null} */ (this.app.main.querySelector(".lesson h1"));
    if (!this.isNew || !heading) return;
    this.isNew = false;
    heading.focus({ preventScroll: true });
  }

  /** The tokens of the run that the visitor can choose from; null where the answer is none. @param {Step} step */
  async tokensOf({ answer: { form, side } }) {
    if (form !== "one_token") return null;
    const { source, written } = await this.situation().translation();
    return side === "reads" ? source : written;
  }

  /** What the frame marks, as the app names it; "" for no frame. In a puzzle, the last hint shows it. */
  get target() {
    if (!this.opened || !this.isHere || this.hidden) return "";
    const { lesson, step, link } = this.opened;
    return step.puzzle && this.hints.get(link) !== this.textOf(lesson, step).hints.length ? "" : step.target;
  }

  situation() {
    const { step, link } = /** @type {Opened} */ (this.opened);
    return new Situation({ app: this.app, step,
      report: (done, all) => { if (this.opened?.link === link) this.showChecked(done, all); } });
  }

  /** Move the bar in the strip, without drawing the strip again. @param {number} done @param {number} all */
  showChecked(done, all) {
    this.checked = [done, all];
    const bar = /** @type {HTMLProgressElement | null} */ (this.app.main.querySelector(".outcome progress"));
    if (bar) [bar.max, bar.value] = [all, done];
  }

  /** Open the table of one head at first: the hints name its columns. */
  openNumbers() {
    const { page, opened, main } = this.app;
    const table = /** @type {HTMLDetailsElement | null} */ (main.querySelector(".page .numbers"));
    if (table && page === "inside" && !("table" in opened)) table.open = true;
  }

  /** The page Lessons. @param {Element} root */
  drawList(root) {
    drawList(root, this);
    this.fill();
  }

  /** After the page: the tokens to choose from, and what the run says about the answer. */
  async judge() {
    markTarget(this.target);
    if (this.reveals && this.target) [this.reveals, this.stopScrolling] = [false, showTarget(this.app.main)];
    if (!this.opened || !this.isHere) return;
    this.openNumbers();
    const { app } = this, { run, text } = app, { step, link } = this.opened, record = this.progress[link];
    const tokens = await this.tokensOf(step);
    if (run !== app.run) return;
    const areNew = tokens !== this.tokens;
    [this.tokens, this.tokensText] = [tokens, text];
    if (areNew) this.draw();
    if (this.hidden || (step.answer.form !== "action" && !record)
      || (step.points_at && !record && !this.pointed.has(link))) return;
    const outcome = await this.patiently(this.outcomeOf(record?.answer ?? null), run);
    if (run !== app.run) return;
    const isSolved = outcome.verdict?.right && !record?.right;
    const isNew = JSON.stringify(outcome) !== JSON.stringify(this.outcome);
    this.outcome = outcome;
    if (outcome.verdict && (outcome.verdict.right || !this.found.get(link)?.right))
      this.found.set(link, outcome.verdict);
    if (isSolved) this.note(link, { first: record?.first ?? null, answer: record?.answer ?? null, right: true });
    if (isSolved || isNew) this.draw();
  }

  /** Draw the strip again. The page below it stays. */
  draw() {
    this.app.drawFrame();
    this.app.finish();
  }

  /**
   * Wait for a check. If that takes long, the strip says so.
   * @template T
   * @param {Promise<T>} work
   * @param {number} run
   */
  async patiently(work, run) {
    const slow = setTimeout(() => {
      if (run !== this.app.run) return;
      this.outcome = { note: say("Your run is being checked …"), waits: true };
      this.draw();
    }, PATIENCE);
    try {
      return await work;
    } finally {
      clearTimeout(slow);
    }
  }

  /** @param {Answer} answer @returns {Promise<{ verdict?: Verdict, note?: string }>} */
  async outcomeOf(answer) {
    const { step, link } = /** @type {Opened} */ (this.opened);
    if (step.answer.form === "one_token" && !this.isAboutThisRun(link, Number(answer)))
      return { note: say("The sentence has changed. Answer again.") };
    try {
      return { verdict: await check(step, this.situation(), answer) };
    } catch (error) {
      if (/** @type {any} */ (error)?.code === "cancelled") throw error;
      console.error(error);
      return { note: say("The answer could not be checked.") };
    }
  }

  /**
   * Whether a token that the visitor chose is one of this run, and not of an earlier sentence.
   * @param {string} link
   * @param {number} answer
   */
  isAboutThisRun(link, answer) {
    return (this.about.get(link) ?? this.app.text) === this.app.text && answer < (this.tokens?.length ?? 0);
  }

  /** Note an answer to the open step. @param {Answer} answer */
  answer(answer) {
    const { step, link } = /** @type {Opened} */ (this.opened), before = this.progress[link];
    if (!fits(step.answer, answer)) return;
    this.about.set(link, this.tokensText);
    [this.outcome, this.checked] = [null, null];
    this.reveal(link);
    this.note(link, { first: before ? before.first : answer, answer, right: before?.right ?? false });
    this.app.redraw();
  }

  /** @param {string} link @param {LessonRecord} record */
  note(link, record) {
    this.progress = { ...this.progress, [link]: record };
    keepRecords([[link, record]]);
  }

  /** The visitor points at something: at what a step asks for? @param {Event} event */
  point(event) {
    const { step, link } = this.opened ?? {};
    if (!step || !link || this.pointed.has(link) || !isPointedAt(step.points_at, event)) return;
    this.pointed.add(link);
    void this.judge();
  }

  /** Show the page of a step. @param {string} link */
  reveal(link) {
    this.reveals = Boolean(this.hidden) || this.opened?.step.answer.form === "action";
    if (this.hidden) this.app.place().replaceChildren();
    this.revealed.add(link);
  }

  /** Show one hint more. The last one shows the page. */
  hint() {
    const { lesson, step, link } = /** @type {Opened} */ (this.opened), { hints } = this.textOf(lesson, step);
    const shown = Math.min((this.hints.get(link) ?? 0) + 1, hints.length);
    this.hints.set(link, shown);
    if (shown === hints.length) this.reveal(link);
    this.app.redraw();
  }

  /** @param {Lesson} lesson @param {Step} step */
  textOf(lesson, step) {
    return this.texts[lesson.name].steps[step.name];
  }

  forget() {
    keep(PROGRESS, "");
    for (const kept of [this.hints, this.revealed, this.about, this.found, this.pointed]) kept.clear();
    this.use({});
  }

  /**
   * Draw with other records than before. What was said about an answer may have no answer now.
   * @param {import("./catalogue.js").Progress} progress
   */
  use(progress) {
    [this.progress, this.outcome] = [progress, null];
    this.app.redraw();
  }
}

/** In the place of a page that waits for an answer. @param {Element} root */
async function drawHidden(root) {
  unmount(root);
  draw(root, [el("p", { class: "caption" }, say("Answer first. Then the picture appears."))]);
}
