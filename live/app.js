// Headlight Live: the frame of the page. It opens a checkpoint, keeps the visitor's choices in the link, and draws the page
// that the link names. A page draws itself from the choices; when one changes, it draws again.
import { announce } from "./assets/announcer.js";
import { draw, el, find } from "./assets/dom.js";
import savePictures from "./assets/save_pictures.js";
import { isChosen, readAddress, readForced, writeAddress } from "./choices.js";
import { button, list, mount, place, unmount } from "./controls.js";
import { contentOf } from "./held.js";
import { cleaningChanges } from "./engine/text/cleaning.js";
import { loadLessons } from "./lessons.js";
import { offerOffline, renew } from "./offline.js";
import { PAGES } from "./pages.js";
import { recordedText } from "./report_texts.js";
import { Session } from "./session.js";
import { say, useWords } from "./assets/words.js";

/** @typedef {import("./session.js").Site} Site */

const LONGEST = 1000; // characters of a sentence
const NO_EXAMPLE = "-"; // an option without a value would get that of its label
const SCRIPTS = { de: /\p{Script=Latin}/u, en: /\p{Script=Latin}/u, zh: /\p{Script=Han}/u }; // language → its letters, as in model/inference/confidence.py
const PATIENCE = 500; // milliseconds until a page shows that the model is writing

class OutOfDate extends Error {}

export class App {
  /**
   * @param {{ checkpoints: Site[], words: Record<string, string[] | string>, course?: any, report?: Report }} site
   * @typedef {{ text: string, second: string, link: string, chosen: Record<string, string>, pages: string[], made: string, note: string }} Report A page
   *   that holds the recorded answers of one text: the link to what it shows at first, and choices that it cannot change.
   */
  constructor(site) {
    this.site = site;
    useWords(/** @type {any} */ (site.words.en));
    this.session = new Session();
    this.main = /** @type {HTMLElement} */ (document.querySelector("main"));
    this.page = "";
    /** @type {import("./choices.js").Choices} */
    this.choices = {};
    /** @type {Record<string, any>} Which tables of the page are open. */
    this.opened = {};
    this.run = 0;
    /** @type {any} The open checkpoint. */
    this.info = null;
    this.language = "en";
    /** @type {import("./course/course.js").Course | null} From the first lesson on. */
    this.course = null;
    this.redraw = () => { void this.show(); };
    this.since = 0; // when the latest drawing began
    this.session.onStep = (step) => this.drawStep(step);
  }

  start() {
    this.follow();
    addEventListener("hashchange", () => this.follow());
  }

  /** Read the link, and draw its page. */
  follow() {
    const { page, choices } = readAddress(location.hash || (this.site.report?.link ?? ""), this.pages);
    this.choices = { ...choices, ...this.site.report?.chosen };
    this.session.stopMeasuring();
    if (page !== this.page) this.leave(page);
    void this.show();
  }

  /** @param {string} page */
  leave(page) {
    unmount(this.main);
    [this.page, this.opened] = [page, {}];
    this.main.replaceChildren();
    scrollTo(0, 0);
  }

  /**
   * Choose something. The link and the page follow.
   * @param {Record<string, string>} choices
   * @param {{ page?: string, how?: "pushState" | "replaceState" }} [options] How the address is kept: so that Back leads to the one
   *   before, or in its place.
   */
  change(choices, { page = this.page, how = page !== this.page || "lesson" in choices ? "pushState" : "replaceState" } = {}) {
    const before = this.choices;
    this.choices = Object.fromEntries(Object.entries({ ...before, ...choices }).filter(isChosen));
    if ("text" in choices || "checkpoint" in choices) for (const name of ["forced", "step", "query", "window_row", "window_column"]) if (!(name in choices)) delete this.choices[name];
    const address = this.linkTo(page);
    keepAddress(how, address);
    if (page !== this.page) this.leave(page);
    if ("text" in choices) this.session.cancel();
    this.session.stopMeasuring();
    void this.show();
  }

  /** The names of the pages. */
  get pages() {
    return this.site.report?.pages ?? Object.keys(PAGES).filter((name) => name !== "lessons" || this.site.course);
  }

  /** Whether the page only shows recorded answers. */
  get isReport() {
    return Boolean(this.site.report);
  }

  /** @returns {Site} */
  get listed() {
    const { checkpoints } = this.site;
    return checkpoints.find(({ name }) => name === this.choices.checkpoint) ?? checkpoints[0];
  }

  /**
   * The link to a page with everything that it depends on, so that the app shows the same: also the checkpoint and the text,
   * whose defaults may differ.
   * @param {string} page
   */
  linkTo(page) {
    const text = PAGES[page].asksForText === false || this.isReport ? "" : this.textOf(page);
    return writeAddress(page, { checkpoint: this.listed.name, text, ...this.choices });
  }

  /** The sentence of the page. */
  get text() {
    return this.textOf(this.page);
  }

  /** @param {string} page */
  textOf(page) {
    return this.site.report?.text ?? (this.choices.text ?? (PAGES[page].opening?.(this.listed) || this.listed.examples[0])).slice(0, LONGEST);
  }

  /** The translation of the sentence, with the forced words. @param {{ record?: string[] }} [options] */
  translate({ record } = {}) {
    return this.session.translate(this.text, { forced: this.forced, record });
  }

  /** The forced words that this model has. */
  get forced() {
    const { max_length: length, target_vocab_size: size } = this.info.config;
    return new Map([...readForced(this.choices.forced ?? "")].filter(([at, id]) => this.isReport || (at < length && id < size)));
  }

  /**
   * Wait for a result; if the page has changed meanwhile, the work that waits ends.
   * @template T
   * @param {T | Promise<T>} work
   * @returns {Promise<T>}
   */
  async ifCurrent(work) {
    const run = this.run;
    const value = await work;
    if (run !== this.run) throw new OutOfDate();
    return value;
  }

  async show() {
    const run = ++this.run;
    this.since = performance.now();
    try {
      await this.useWords();
      await this.ifCurrent(this.followLesson());
      await this.open();
      this.drawFrame();
      await (this.course?.hidden ?? PAGES[this.page]).show(this.place(), this);
      this.finish();
      await this.ifCurrent(this.course?.judge());
    } catch (error) {
      if (run === this.run && /** @type {any} */ (error)?.code !== "cancelled") this.fail(error);
    }
  }

  async useWords() {
    const wanted = this.choices.lang ?? navigator.language.slice(0, 2);
    const code = wanted in this.site.words ? wanted : "en";
    if (code === this.language) return;
    useWords(await this.ifCurrent(contentOf(this.site.words[code])));
    this.language = code;
    document.documentElement.lang = code;
  }

  /** Open the lesson of the link. */
  async followLesson() {
    if (!this.site.course || !(this.course || this.choices.lesson || this.page === "lessons")) return;
    const { Course } = await loadLessons(this.site.course);
    this.course ??= new Course(this);
    await this.course.follow();
  }

  async open() {
    const { session, listed, run } = this;
    this.info = session.name === listed.name ? session.info : null; // an earlier run may have opened it
    if (this.info) return;
    this.drawFrame();
    const report = () => { if (run === this.run) this.drawProgress(session.progress); }, opened = session.open(listed, report);
    report();
    this.info = await this.ifCurrent(opened);
    void offerOffline();
  }

  /** The place of the page, empty at first. @returns {Element} */
  place() {
    return /** @type {Element} */ (this.main.querySelector(".page"));
  }

  drawProgress({ bytes, total }) {
    draw(this.place(), [el("div", { class: "opening" }, [
      el("p", {}, say("Opening {name} …", { name: this.listed.name })),
      el("progress", total ? { max: total, value: Math.min(bytes, total), "aria-label": say("Opening the checkpoint") } : { "aria-label": say("Opening the checkpoint") }),
    ])]);
  }

  drawFrame() {
    drawMenu(this);
    const { title, instruction } = PAGES[this.page].names(), withText = (this.course?.hidden ?? PAGES[this.page]).asksForText !== false;
    document.title = `${title} · Headlight`;
    draw(this.main, [
      this.course?.strip() ?? el("div", { class: "title" }, [el("h1", { tabindex: -1 }, title), el("span", {}, this.isReport ? say("This file holds the recorded answers for one text, without the model. To ask something new, open Headlight.") : instruction)]),
      this.isReport ? recordedText(this) : withText ? this.textField() : el("div", { class: "nothing" }, []),
      el("div", { class: "empty" }, this.textNotes()),
      el("div", { class: "page" }),
      place("save", "hidden"),
      el("div", { class: "working", "aria-live": "off" }),
      el("div", { class: "below" }, aboutOf(this)),
    ]);
    this.course?.fill();
  }

  /** What is not finite in the model, and what is changed in the text before the model reads it. */
  textNotes() {
    const changes = this.isReport ? [] : cleaningChanges(this.text).map((change) => say(change)), broken = this.info?.notFinite ?? [], notes = [];
    if (broken.length) notes.push(say("This model has weights that are not finite: {tensors}. What depends on them is shown as “not a number”.", { tensors: broken.join(", ") }));
    if (changes.length) notes.push(say("The model reads a cleaned text: {changes}.", { changes: new Intl.ListFormat(document.documentElement.lang).format(changes) }));
    return notes.map((note) => el("p", { class: "note" }, note));
  }

  /** Show what the model has written so far, if that takes long. @param {Progress | null} step null: it has finished. */
  drawStep(step) {
    const place = this.main.querySelector(".working");
    if (!place || (step && performance.now() - this.since < PATIENCE)) return;
    draw(place, step ? [
      el("span", {}, say("Token {n} of at most {most}", { n: step.position + 1, most: step.most })),
      el("bdi", { lang: this.listed.languages[1] }, `…${(step.text ?? "").slice(-60)}`),
    ] : []);
  }

  textField() {
    const { listed } = this, name = languageName(listed.languages[0]);
    const submit = (event) => {
      event.preventDefault();
      const text = event.target.elements.text.value.trim();
      if (text) return this.change({ text });
      const sentence = say("Type a sentence above, or choose an example.");
      draw(find(this.main, ".empty"), [el("p", { class: "note" }, sentence)]);
      announce(sentence);
    };
    return el("form", { class: "ask", onsubmit: submit }, [
      el("label", { class: "control" }, [
        el("span", { class: "label" }, say("Type a sentence in {language} and press Enter", { language: name })),
        el("input", { name: "text", type: "text", maxlength: LONGEST, autocomplete: "off", spellcheck: "false", enterkeyhint: "go",
          lang: listed.languages[0], value: document.activeElement?.matches("input[name=text]") ? /** @type {any} */ (document.activeElement).value : this.text }),
      ]),
      list(say("Examples"), [[NO_EXAMPLE, say("Examples")], ...listed.examples.map((one) => /** @type {[string, string]} */ ([one, one]))], NO_EXAMPLE,
        (text) => { if (text !== NO_EXAMPLE) this.change({ text }); }, { lang: listed.languages[0] }),
    ]);
  }

  /** After a page: lists show the chosen value, pictures can be saved, and a screen reader reads a new translation. */
  finish() {
    this.drawStep(null);
    for (const one of document.querySelectorAll("select[data-value]")) /** @type {any} */ (one).value = one.getAttribute("data-value");
    const { report } = this.site, link = [say("Link"), location.href.startsWith("file:") ? location.hash : location.href];
    const facts = [[say("Checkpoint"), this.listed.name], [say("Sentence"), this.text], ...(report?.second ? [[say("Second text"), report.second]] : []), ...(report ? report.note ? [[say("Note"), report.note]] : [] : [link])];
    mount(this.main, "save", savePictures, { facts });
    document.documentElement.dataset.ready = String(this.run);
  }

  /** What limits a translation, as described paragraphs. @param {Translation} translation */
  notesOf({ dropped, finished, read, maps }) {
    const notes = [], { report } = this.site;
    if (report) notes.push(...(report.note ? [el("p", { class: "note" }, report.note)] : []));
    else if (this.forced.size) notes.push(el("p", { class: "note" }, [
      el("span", {}, say("Forced words: {n}. The model had to write them.", { n: this.forced.size })),
      button(say("Clear forced words"), () => this.change({ forced: "", step: "" })),
    ]));
    else if (this.isForeign) {
      const language = languageName(this.listed.languages[0]);
      notes.push(el("p", { class: "note" }, say("Most letters of this text are not {language}, and this model reads {language}.", { language })));
    }
    const positions = this.info.config.max_length;
    if (Object.values(maps).some(({ data }) => data.some((weight) => !Number.isFinite(weight)))) notes.push(el("p", { class: "note" }, say("Some weights are not a number.")));
    if (dropped && positions) notes.push(el("p", { class: "note" }, report?.second
      ? say("This model has {positions} positions. {dropped} tokens at the end of the longer text, or of both texts, were left out.", { positions, dropped })
      : say("This model has {positions} positions. The last {n} tokens of the text were left out.", { positions, n: dropped })));
    if (!finished) notes.push(el("p", { class: "note" }, say("The translation has no end: the model was stopped after {n} tokens.", { n: read.length })));
    return notes;
  }

  /** Whether most letters of the text are in another script than that of the language. */
  get isForeign() {
    const own = SCRIPTS[this.listed.languages[0]], letters = this.text.match(/\p{L}/gu) ?? [];
    return own && letters.filter((letter) => !own.test(letter)).length > letters.length / 2;
  }

  fail(error) {
    const sentence = error?.values && error.code !== "internal" ? say(error.template, error.values) : say("This page could not be drawn: {reason}", { reason: String(error?.message ?? error) });
    if (!this.main.querySelector(".page")) this.drawFrame();
    unmount(this.place());
    this.drawStep(null);
    draw(this.place(), error?.code === "not-recorded" ? [el("p", { class: "note" }, sentence)] : [el("div", { class: "problem", role: "alert" }, [
      el("p", {}, sentence), error?.code === "new-version" ? button(say("Load the new version"), renew) : button(say("Try again"), () => location.reload()),
    ])]);
    announce(sentence);
    document.documentElement.dataset.ready = String(this.run);
  }
}

/** Write the address. The frame of a notebook has none of its own. @param {"pushState" | "replaceState"} how @param {string} address */
function keepAddress(how, address) {
  try {
    history[how](null, "", address);
  } catch {
    // The choices are kept without an address too.
  }
}

/** The name of a language in the language of the visitor. @param {string} code */
function languageName(code) {
  return { en: say("English"), de: say("German"), zh: say("Chinese") }[code] ?? code;
}

/** The name of a language in itself. @param {string} code */
function ownName(code) {
  return new Intl.DisplayNames([code], { type: "language" }).of(code) ?? code;
}

/** The menu of the pages, the checkpoint and the language. @param {App} app */
function drawMenu(app) {
  const menu = /** @type {Element} */ (document.querySelector("nav"));
  const link = (name) => el("a", {
    href: writeAddress(name, app.choices), "aria-current": name === app.page && "page",
    onclick: (event) => { if (!event.ctrlKey && !event.metaKey && !event.shiftKey) { event.preventDefault(); app.change({}, { page: name }); } },
  }, PAGES[name].names().title);
  const { checkpoints } = app.site, [source, target] = app.listed.languages.map(languageName);
  draw(menu, [
    el("div", { class: "pages" }, app.pages.map(link)),
    el("div", { class: "settings" }, [
      list(say("Checkpoint"), checkpoints.map(({ name }) => [name, name]), app.listed.name, (checkpoint) => app.change({ checkpoint, text: "", layer: "", intervention: "" })),
      el("p", { class: "quiet" }, source && target ? `${source} → ${target}` : source),
      list(say("Language"), Object.keys(app.site.words).map((code) => [code, ownName(code)]), app.language, (lang) => app.change({ lang })),
      ...aboutOf(app),
    ]),
  ]);
}

/** What the menu ends with; on a phone, it is below the page. @param {App} app */
function aboutOf(app) {
  return [
    ...(app.isReport ? [] : [el("details", { class: "quiet" }, [
      el("summary", {}, say("Links and the app")),
      el("p", {}, say("The address of this page keeps your choices. To see the same in the Headlight app, write what follows # behind the address of the app. A link of the app opens here in the same way.")),
    ])]),
    el("p", { class: "quiet about" }, app.site.report?.made ?? say("The model runs in this browser. What you type stays on this device.")),
  ];
}

/** Read what the site holds, and begin. Without its style sheet, the page says that a file is missing (start.js). */
export function begin() {
  if (/** @type {any} */ (document.querySelector("link[integrity]"))?.sheet.cssRules.length === 0) return;
  new App(JSON.parse(document.getElementById("site")?.textContent ?? "null")).start();
  document.documentElement.dataset.begun = "true";
}
