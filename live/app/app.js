// Headlight Live: the frame of the page. It opens a checkpoint, keeps the visitor's choices in the link, and draws the
// page that the link names. A page draws itself from the choices; when one changes, it draws again.
import { button, cutNote, field, firstOf, list, mount, note, place, unmount } from "../controls/controls.js";
import { chosenHead } from "../controls/heads.js";
import { EngineError, N_ } from "../engine/errors.js";
import { cleaningChanges } from "../engine/text/cleaning.js";
import { Course } from "../course/course.js";
import { OwnModel } from "../pages/own_model.js";
import { namesOfPage, PAGES, taskSentence } from "../pages/pages.js";
import { announce, draw, el, find } from "../ui/dom.js";
import { later, loadLater } from "../ui/later.js";
import { tooltips } from "../ui/page_events.js";
import { savePictures } from "../ui/saving.js";
import { say, useWords } from "../ui/words.js";
import { takeDrops } from "./dropping.js";
import { contentOf, offerOffline, partOf, renew } from "./held.js";
import { isChosen, linkNote, readForced, readLink, writeAddress } from "./link.js";
import { Session } from "./session.js";
import { SHARED } from "./shared.js";

const LONGEST = 1000; // characters of a sentence
// language → its letters, as in model/inference/confidence.py
const LATIN = /\p{Script=Latin}/u, SCRIPTS = new Map([["de", LATIN], ["en", LATIN], ["zh", /\p{Script=Han}/u]]);
const SENTENCE = /^(text|second|batch_.*|checkpoint|lesson|atlas_(head|second|like))$/; // choices that Back undoes
const RECORDED = N_(
  "This file holds the recorded answers for one text, without the model. To ask something new, open Headlight."
);
const MOST_NAMES = 4; // of tensors in a sentence
const PATIENCE = 500, MOST_PATIENCE = 2000; // milliseconds until a page shows what is written, and a button to stop it

class OutOfDate extends Error {}

/** How much is loaded so far. @param {number} bytes @param {number} total */
function megabytes(bytes, total) {
  const [done, all] = [bytes, total].map((count) => Math.ceil(count / 2 ** 20));
  return say("{done} of {all} MB", { done, all });
}

export class App {
  /**
   * @param {{ checkpoints: Site[], words: Record<string, string[] | string>, shared: typeof SHARED, course?: any,
   *   scripts?: Record<string, string>, styles?: Record<string, string>, hub?: string, report?: Report }} site
   *   `scripts`, `styles`: the addresses of the parts that are loaded later, by their names. `hub`: the address of a
   *   host that has models.
   */
  constructor(site) {
    this.site = site;
    useWords(/** @type {any} */ (site.words.en));
    Object.assign(SHARED, site.shared);
    loadLater((name) => partOf(site.scripts?.[name] ?? "", site.styles?.[name]));
    this.session = new Session(site.scripts?.foreign);
    this.main = /** @type {HTMLElement} */ (document.querySelector("main"));
    this.page = "";
    /** @type {Choices} */
    this.choices = {};
    this.closed = ""; // the visitor's own model that the link names and that is not open
    /**
     * @type {string[] | null} What the link asks for and this site does not have; null after a choice of the visitor.
     */
    this.unknown = null;
    /** @type {string | null} What the visitor types. */
    this.draft = null;
    /** @type {{ table?: boolean }} Whether the table of the page is open. */
    this.opened = {};
    this.run = 0;
    /** @type {any} The open checkpoint. */
    this.info = null;
    this.language = "en";
    /** @type {Course | null} From the first lesson on. */
    this.course = null;
    this.redraw = () => { void this.show(); };
    this.next = ""; // the page of the link, once its model is open
    this.since = 0; // when the latest drawing began
    this.session.onStep = (step) => this.drawStep(step);
    /** @type {OwnModel | null} From the first visit of its page on. */
    this.own = null;
  }

  start() {
    this.follow();
    addEventListener("hashchange", () => this.follow());
    if (!this.isReport) takeDrops((files) => this.look(files));
    tooltips();
  }

  /** Read the link, and draw its page. */
  follow() {
    const { report } = this.site, link = readLink(location.hash || (report?.link ?? ""), this), { page } = link;
    this.choices = { ...link.choices, ...report?.chosen };
    [this.next, this.closed] = [link.next, link.closed];
    [this.unknown, this.draft] = [report ? null : link.unknown, null];
    this.session.stopMeasuring();
    if (page !== this.page) this.leave(page);
    void this.show();
  }

  /** @param {string} page */
  leave(page) {
    unmount(this.main);
    [this.page, this.opened, this.draft] = [page, {}, null];
    this.main.replaceChildren();
    scrollTo(0, 0);
  }

  /**
   * Choose something. The link and the page follow.
   * @param {Record<string, string>} choices
   * @param {{ page?: string, how?: "pushState" | "replaceState" }} [options] How the address is kept: so that Back
   *   leads to the one before, such as the one with the sentence before, or in its place.
   */
  change(choices, { page = this.page, how } = {}) {
    const before = this.choices, isNew = page !== this.page || Object.keys(choices).some((name) => SENTENCE.test(name));
    this.unknown = null;
    this.closed = "";
    this.choices = Object.fromEntries(Object.entries({ ...before, ...choices }).filter(isChosen));
    if ("text" in choices || "second" in choices || "checkpoint" in choices)
      for (const name of ["forced", "step", "query", "window_row", "window_column"])
        if (!(name in choices)) delete this.choices[name];
    const address = this.linkTo(page);
    keepAddress(how ?? (isNew ? "pushState" : "replaceState"), address, { own: Boolean(this.listed.own) });
    if (page !== this.page) this.leave(page);
    if ("text" in choices || "second" in choices) {
      this.session.cancel();
      this.draft = null;
    }
    this.session.stopMeasuring();
    void this.show();
  }

  /** What a control calls with the value that the visitor chooses. @param {string} name Of the choice. */
  set(name) {
    return (/** @type {string | number | boolean} */ value) => this.change({ [name]: String(value) });
  }

  /** The names of the pages. */
  get pages() {
    const { report, course, checkpoints } = this.site;
    const missing = [course || "lessons", checkpoints.some(({ atlas }) => atlas) || "atlas"];
    return report?.pages ?? Object.keys(SHARED.pages).filter((name) => !missing.includes(name));
  }

  /**
   * Whether a model can show a page. A report has only pages that fit.
   * @param {string} page @param {Site} [site] The model, by default the chosen one.
   */
  fits(page, site = this.listed) {
    const { info } = this.session, isOpen = site.name === this.session.name;
    return this.isReport || (PAGES[page].fits?.(site, isOpen ? info : null) ?? true);
  }

  /** Whether a page of this name asks for a text. @param {string} page */
  asksForText(page) {
    return (this.course?.hidden ?? PAGES[page]).asksForText?.(this) ?? true;
  }

  /** Whether the page only shows recorded answers. */
  get isReport() {
    return Boolean(this.site.report);
  }

  /** @returns {Site} */
  get listed() {
    return this.listedAs(this.choices.checkpoint);
  }

  /** @param {string} wanted @returns {Site} */
  listedAs(wanted) {
    const { checkpoints } = this.site;
    return checkpoints.find(({ name }) => name === wanted) ?? checkpoints[0];
  }

  /**
   * Choose a checkpoint. A sentence stays where the model does the same with texts of its language.
   * @param {string} checkpoint @param {string} [page] @param {Record<string, string>} [more] Other choices with it.
   */
  choose(checkpoint, page = this.page, more = {}) {
    const [now, next] = [this.listed, this.listedAs(checkpoint)];
    const isSame = next.languages[0] === now.languages[0] && next.task === now.task;
    const text = isSame ? this.choices.text ?? "" : "", shown = this.fits(page, next) ? page : "translate";
    const hub = next.own?.hub ?? "";
    this.change({
      checkpoint, hub, text, second: "", layer: "", head: "", intervention: "", atlas_head: "", atlas_second: "",
      ...more,
    }, { page: shown });
  }

  /**
   * The link to a page with everything that it depends on, so that the app shows the same: also the checkpoint and the
   * text, whose defaults may differ.
   * @param {string} page @param {Choices} [more] Other choices than now.
   */
  linkTo(page, more = {}) {
    const text = !this.asksForText(page) || this.isReport ? "" : this.textOf(page);
    return writeAddress(page, { checkpoint: this.listed.name, text, ...this.choices, ...more });
  }

  /** The sentence of the page. */
  get text() {
    return this.textOf(this.page);
  }

  /** @param {string} page */
  textOf(page) {
    return this.site.report?.text ?? firstOf(
      this.choices.text ?? (PAGES[page].opening?.(this.listed) || this.listed.examples[0]), LONGEST
    );
  }

  /** What the visitor asks the model for, without changes inside it. @returns {Asked} */
  get asked() {
    return { text: this.text, second: this.second, forced: this.forced };
  }

  /** What the model does for it. @param {{ record?: string[] }} [options] */
  result(options) {
    return this.session.result(this.asked, options);
  }

  /** The second text of a pair, for a model that reads pairs. */
  get second() {
    return this.listed.pairs ? firstOf(this.choices.second ?? "", LONGEST) : "";
  }

  /** The forced words that this model has. */
  get forced() {
    const { max_length: length, target_vocab_size: size } = this.info.config;
    return new Map([...readForced(this.choices.forced ?? "")].filter(
      ([at, id]) => this.isReport || (at < length && id < size)
    ));
  }

  /**
   * Wait for a result; if the page has changed meanwhile, the work that waits ends.
   * @template T @param {T | Promise<T>} work @returns {Promise<T>}
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
    let late = 0;
    try {
      await this.useWords();
      await this.ifCurrent(this.followLesson());
      if (this.closed && !this.isReport) {
        const own = await this.ifCurrent(this.ownModel());
        this.drawFrame();
        draw(this.place(), own.closedSection(this.closed));
        this.finish();
        return;
      }
      await this.open();
      this.drawFrame();
      late = window.setTimeout(() => {
        if (run === this.run && this.session.engine.isBusy) this.drawStep({});
      }, MOST_PATIENCE);
      await (this.course?.hidden ?? PAGES[this.page]).show(this.place(), this);
      this.finish();
      if (this.isReport && Object.keys(this.info.heads).length) { // for a notebook (widget.js)
        parent.postMessage({ headlight: chosenHead(this) }, "*");
      }
      await this.ifCurrent(this.course?.judge());
    } catch (error) {
      if (run === this.run && /** @type {any} */ (error)?.code !== "cancelled") this.fail(error);
    } finally {
      clearTimeout(late);
    }
  }

  async useWords() {
    const wanted = this.choices.lang ?? navigator.language.slice(0, 2);
    const code = Object.hasOwn(this.site.words, wanted) ? wanted : "en";
    if (code === this.language) return;
    useWords(await this.ifCurrent(contentOf(this.site.words[code])));
    this.language = code;
    document.documentElement.lang = code;
  }

  /** Open the lesson of the link. */
  async followLesson() {
    const { course } = this.site;
    if (!course || !(this.course || this.choices.lesson || this.page === "lessons")) return;
    const Loaded = await later("lessons", Course);
    this.course ??= new Loaded(this);
    await this.course.follow();
  }

  /** The visitor's own model. @returns {Promise<OwnModel>} */
  async ownModel() {
    const Loaded = await later("own", OwnModel);
    this.own ??= new Loaded(this);
    return this.own;
  }

  /** Find out what files are that a visitor has dropped. @param {Promise<OwnFile[]>} files */
  async look(files) {
    this.change({ lesson: "" }, { page: "checkpoints" });
    const own = await this.ownModel().catch(() => null); // the page says why
    await own?.look(files);
  }

  async open() {
    const { session, listed, run } = this;
    this.info = session.name === listed.name ? session.info : null; // an earlier run may have opened it
    if (this.info || PAGES[this.page].alone) return;
    this.drawFrame();
    const report = () => { if (run === this.run) this.drawProgress(session.progress); };
    const opened = session.open(listed, report);
    report();
    try {
      this.info = await this.ifCurrent(opened);
    } catch (error) {
      if (!listed.own || run !== this.run) throw error;
      this.leaveOwn(listed, error);
      throw new OutOfDate();
    }
    void offerOffline();
  }

  /**
   * Forget a visitor's own model that could not be opened, or is not wanted.
   * @param {Site} listed @param {any} [error]
   */
  leaveOwn(listed, error) {
    this.site.checkpoints = this.site.checkpoints.filter((one) => one !== listed);
    if (error) this.own?.refuse(error);
    const choices = { checkpoint: this.site.checkpoints[0].name, hub: "", text: "", second: "" };
    this.change(choices, { page: "checkpoints", how: "replaceState" });
  }

  /** The place of the page, empty at first. @returns {Element} */
  place() {
    return /** @type {Element} */ (this.main.querySelector(".page"));
  }

  drawProgress({ bytes, total }) {
    draw(this.place(), [el("div", { class: "opening" }, [
      el("p", {}, say("Opening {name} …", { name: this.listed.name })),
      el("progress", {
        "aria-label": say("Opening the checkpoint"), ...(total && { max: total, value: Math.min(bytes, total) }),
      }),
      el("p", {}, total ? megabytes(bytes, total) : ""),
      ...(this.listed.own ? [button(say("Cancel"), () => this.leaveOwn(this.listed))] : []),
    ])]);
  }

  drawFrame() {
    drawMenu(this);
    const { title, instruction } = namesOfPage(this.page, this.listed.task);
    const withText = !this.closed && this.asksForText(this.page);
    document.title = `${title} · Headlight`;
    draw(this.main, [
      this.course?.strip() ?? el("div", { class: "title" }, [
        el("h1", { tabindex: -1 }, title),
        el("span", {}, this.isReport ? say(RECORDED) : instruction),
      ]),
      withText && !this.isReport ? this.textField() : el("div", { class: "nothing" }, []),
      ...this.shownTexts(withText).map((text) => el("p", { class: `recorded${this.isReport ? "" : " printed"}` }, [
        el("span", {}, this.isReport ? "" : `${this.listed.name} `),
        el("bdi", { lang: this.listed.languages[0] || false }, text),
      ])),
      el("div", { class: "empty" }, this.frameNotes(withText)),
      el("div", { class: "page" }),
      place("save", "hidden"),
      el("div", { class: "working", "aria-live": "off" }),
      el("div", { class: "below" }, aboutOf(this)),
    ]);
    this.course?.fill();
  }

  /**
   * Show what the model has written so far, if that takes long, and a button to stop it.
   * @param {Partial<Progress> | null} step null: it has finished; without a position: it has written nothing yet.
   */
  drawStep(step) {
    const place = this.main.querySelector(".working");
    if (!place || (step && performance.now() - this.since < PATIENCE)) return;
    const { position, most, text = "" } = step ?? {};
    draw(place, step ? [
      el("span", {}, position === undefined
        ? say("The model is still working.") : say("Token {n} of at most {most}", { n: position + 1, most })),
      el("bdi", { lang: this.listed.languages[1] }, text && `…${text.slice(-60)}`),
      button(say("Stop"), () => this.stop()),
    ] : []);
  }

  /** End the work of the model. It opens again with the next choice. */
  stop() {
    this.session.stop();
    this.run++;
    this.fail(new EngineError("stopped", N_("The model was stopped. Choose a shorter text or another model.")));
  }

  /** What to type, which depends on the task of the model. */
  get label() {
    const { task, mask, languages: [language] } = this.listed;
    if (task === "continuation") return say("Type the beginning of a text and press Enter");
    if (task === "filling") return say("Type a text with {mask} in place of a word, and press Enter", { mask });
    return language && task === "translation"
      ? say("Type a sentence in {language} and press Enter", { language: languageName(language, this.language) })
      : say("Type a text and press Enter");
  }

  textField() {
    const { listed } = this, lang = listed.languages[0] || false;
    const take = ({ target }) => {
      const text = target.value.trim(), sentence = say("Type a sentence above, or choose an example.");
      if (text) return this.change({ text });
      draw(find(this.main, ".empty"), [note(sentence)]);
      announce(sentence);
    };
    const usual = { type: "text", autocomplete: "off", spellcheck: "false", enterkeyhint: "go", lang };
    return el("div", { class: `ask${listed.pairs ? " pair" : ""}` }, [
      field(this.label, { ...usual, name: "text", value: this.draft ?? this.text,
        oninput: ({ target }) => { this.draft = target.value; }, onchange: take }),
      ...(listed.pairs ? [field(say("Second text (optional)"), { ...usual, name: "second", value: this.second,
        onchange: ({ target }) => this.change({ second: target.value.trim() }) })] : []),
      list(say("Examples"), [["", say("Examples")], ...listed.examples], "",
        (text) => { if (text) this.change({ text }); }, { lang }),
    ]);
  }

  /**
   * The sentence of the page on paper and in a report, which may have a pair of texts.
   * @param {string | boolean} withText
   */
  shownTexts(withText) {
    const second = this.site.report?.second ?? this.second;
    return second ? [`A: ${this.text}`, `B: ${second}`] : [withText || this.isReport ? this.text : ""];
  }

  /**
   * What the link asks for in vain, what is left out of the text or changed in it before the model reads it, and what
   * is not finite in the model.
   * @param {boolean} withText
   */
  frameNotes(withText) {
    const changes = withText && this.listed.family === "headlight" ? cleaningChanges(this.text).map(
      (change) => say(change)
    ) : [];
    const broken = this.info?.notFinite ?? [], more = broken.length - MOST_NAMES;
    const named = [...broken.slice(0, MOST_NAMES), ...(more > 0 ? [say("and {n} more", { n: more })] : [])];
    return [
      linkNote(this), withText ? cutNote(this.choices.text, LONGEST) : "",
      broken.length
        ? say(
          "This model has weights that are not finite: {tensors}. What depends on them is shown as “not a number”.",
          { tensors: named.join(", ") }
        )
        : "",
      changes.length
        ? say(
          "The model reads a cleaned text: {changes}.",
          { changes: new Intl.ListFormat(document.documentElement.lang).format(changes) }
        )
        : "",
    ].flatMap((one) => (one ? [note(one)] : []));
  }

  /** After a page: its pictures can be saved, and it is complete. */
  finish() {
    this.drawStep(null);
    const { report } = this.site;
    const link = [say("Link"), location.href.startsWith("file:") ? location.hash : location.href];
    const facts = [
      [say("Checkpoint"), this.listed.name], ...(this.asksForText(this.page) ? [[say("Sentence"), this.text]] : []),
      ...(report?.second || this.second ? [[say("Second text"), report?.second ?? this.second]] : []),
      ...(report ? report.note ? [[say("Note"), report.note]] : [] : [link])
    ];
    mount(this.main, "save", savePictures, { facts });
    document.documentElement.dataset.ready = String(this.run);
  }

  /** What limits a translation, as described paragraphs. @param {Result} translation */
  notesOf({ dropped, finished, read, maps }) {
    const notes = [], { report } = this.site;
    if (report) notes.push(...(report.note ? [note(report.note)] : []));
    else if (this.forced.size) notes.push(note([
      el("span", {}, say("Forced words: {n}. The model had to write them.", { n: this.forced.size })),
      button(say("Clear forced words"), () => this.change({ forced: "", step: "" })),
    ]));
    else if (this.isForeign) {
      const language = languageName(this.listed.languages[0], this.language);
      notes.push(note(
        say("Most letters of this text are not {language}, and this model reads {language}.", { language })
      ));
    }
    const positions = this.info.config.max_length;
    if (Object.values(maps).some(({ data }) => data.some((weight) => !Number.isFinite(weight))))
      notes.push(note(say("Some weights are not a number.")));
    if (dropped && positions) notes.push(note(report?.second || this.second
      ? say(
        "This model has {positions} positions. {dropped} tokens at the end of the longer text, or of both texts, "
        + "were left out.",
        { positions, dropped },
      )
      : say("This model has {positions} positions. The last {n} tokens of the text were left out.",
        { positions, n: dropped })));
    if (!finished && this.listed.task !== "continuation")
      notes.push(note(say("The translation has no end: the model was stopped after {n} tokens.", { n: read.length })));
    return notes;
  }

  /** Whether most letters of the text are in another script than that of the language. */
  get isForeign() {
    const own = SCRIPTS.get(this.listed.languages[0]), letters = this.text.match(/\p{L}/gu) ?? [];
    return own && letters.filter((letter) => !own.test(letter)).length > letters.length / 2;
  }

  fail(error) {
    const isUnknown = error?.code === "not-recorded", sentence = isUnknown ? say(RECORDED)
      : error?.values && error.code !== "internal" ? say(error.template, error.values)
        : say("This page could not be drawn: {reason}", { reason: String(error?.message ?? error) });
    if (!this.main.querySelector(".page")) this.drawFrame();
    unmount(this.place());
    this.drawStep(null);
    draw(this.place(), isUnknown ? [note(sentence)]
      : [el("div", { class: "problem", role: "alert" }, [
      el("p", {}, sentence),
      error?.code === "new-version"
        ? button(say("Load the new version"), renew)
        : button(say("Try again"), error?.code === "stopped" ? this.redraw : () => location.reload()),
    ])]);
    announce(sentence);
    document.documentElement.dataset.ready = String(this.run);
  }
}

/**
 * Write the address. The frame of a notebook has none of its own.
 * @param {"pushState" | "replaceState"} how @param {string} address
 * @param {{ own: boolean }} state Whether the address names a visitor's own model, which is closed after a new start.
 */
function keepAddress(how, address, state) {
  try {
    history[address === location.hash ? "replaceState" : how](state, "", address);
  } catch {
    // The choices are kept without an address too.
  }
}

/** Read what the site holds, and begin. Without its style sheet, the page says that a file is missing (start.js). */
export function begin() {
  if (/** @type {any} */ (document.querySelector("link[integrity]"))?.sheet.cssRules.length === 0) return;
  new App(JSON.parse(document.getElementById("site")?.textContent ?? "null")).start();
  document.documentElement.dataset.begun = "true";
}

/** The menu of the pages, the checkpoint and the language. @param {App} app */
function drawMenu(app) {
  const menu = /** @type {Element} */ (document.querySelector("nav"));
  const link = (name) => el("a", {
    href: writeAddress(name, app.choices), "aria-current": name === app.page && "page",
    onclick: (event) => {
      if (!event.ctrlKey && !event.metaKey && !event.shiftKey) {
        event.preventDefault();
        app.change({}, { page: name });
      }
    },
  }, namesOfPage(name, app.listed.task).title);
  const { checkpoints } = app.site;
  const [source, target] = app.listed.languages.map((code) => code && languageName(code, app.language));
  menu.setAttribute("aria-label", say("Pages"));
  draw(menu, [
    el("div", { class: "pages" }, app.pages.filter((name) => app.fits(name)).map(link)),
    el("div", { class: "settings" }, [
      list(say("Checkpoint"), checkpoints.map(({ name }) => name), app.listed.name, (one) => app.choose(one)),
      el("p", { class: "quiet" }, source && target && source !== target
        ? `${source} → ${target}` : app.isReport ? source : taskSentence(app.listed.task)),
      ...(app.isReport ? [] : [
        button(say("Open your own model"), () => app.change({ lesson: "" }, { page: "checkpoints" })),
      ]),
      list(
        say("Language"), Object.keys(app.site.words).map((code) => [code, languageName(code, code)]), app.language,
        app.set("lang"),
      ),
      ...aboutOf(app),
    ]),
  ]);
}

/** What the menu ends with; on a phone, it is below the page. @param {App} app */
function aboutOf(app) {
  return [
    ...(app.isReport ? [] : [el("details", { class: "quiet screen" }, [
      el("summary", {}, say("Links and the app")),
      button(say("Copy the link"), copyLink),
      el("p", {}, say(
        "The address of this page keeps your choices. To see the same in the Headlight app, write what follows # "
        + "behind the address of the app. A link of the app opens here in the same way."
      )),
    ])]),
    el("p", { class: "quiet about" }, app.site.report?.made ?? say(
      "The model runs in this browser. Your texts stay on this device."
    )),
  ];
}

/** Copy the link to what the page shows. */
async function copyLink() {
  try {
    await navigator.clipboard.writeText(location.href.startsWith("file:") ? location.hash : location.href);
    announce(say("The link was copied."));
  } catch {
    announce(say("The browser did not allow it. Copy the address of the page."));
  }
}

/**
 * The name of a language, as the browser knows it.
 * @param {string} code @param {string} inLanguage Of the visitor, or the language itself.
 */
function languageName(code, inLanguage) {
  try {
    return new Intl.DisplayNames([inLanguage], { type: "language" }).of(code) ?? code;
  } catch {
    return code; // a checkpoint may name its languages in another way
  }
}
