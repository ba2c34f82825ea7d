// What a package for a learning platform adds to the page: the platform keeps the answers in the place of the browser,
// and gets the finished steps and the score. It speaks SCORM 1.2. Without a platform, the page is as always.

const LEVELS = 7; // of windows around the page, as SCORM 1.2 searches them
const PACKAGE = JSON.parse(document.getElementById("package")?.textContent ?? "{}");

/** @typedef {Record<string, LessonRecord>} Records By the name of the step in links. */

/** The API of the platform in a window or around it. @param {any} from */
function apiAround(from) {
  let at = from;
  for (let level = 0; at && level <= LEVELS; level += 1) {
    try {
      if (at.API?.LMSInitialize) return at.API;
    } catch {
      // a window of another origin
    }
    if (at.parent === at) return null;
    at = at.parent;
  }
  return null;
}

/**
 * Answers in few characters: lesson → step → the answer, 1 if it is right, and the first answer if it was another one.
 * The platform keeps 4,096.
 * @param {Records} records
 */
function packed(records) {
  /** @type {Record<string, Record<string, unknown[]>>} */
  const lessons = {};
  for (const [link, { first, answer, right }] of Object.entries(records)) {
    const [lesson, step] = link.split("."), other = first === answer ? [] : [first];
    lessons[lesson] = { ...lessons[lesson], [step]: [answer, Number(right), ...other] };
  }
  return JSON.stringify(lessons);
}

/** @param {string} text What `packed` wrote, or anything else. @returns {Records} */
function unpacked(text) {
  try {
    return Object.fromEntries(Object.entries(JSON.parse(text || "{}")).flatMap(([lesson, own]) =>
      Object.entries(own).map(([step, [answer, right, first = answer]]) =>
        [`${lesson}.${step}`, { first, answer, right: right === 1 }])));
  } catch {
    return {};
  }
}

/** A time as SCORM 1.2 writes it: hours, minutes, seconds. @param {number} milliseconds */
function timespan(milliseconds) {
  const seconds = Math.floor(milliseconds / 1000), parts = [seconds / 3600, (seconds / 60) % 60, seconds % 60];
  return parts.map((part, i) => String(Math.floor(part)).padStart(i ? 2 : 4, "0")).join(":");
}

/** The step of the address; "" without one. */
const openStep = () => new URLSearchParams(location.hash.split("?")[1]).get("lesson") ?? "";

/** A platform in which the learner has begun. It keeps one text, as a storage of the browser does. */
class Platform {
  /** @param {any} api */
  constructor(api) {
    this.api = api;
    this.since = Date.now();
    this.records = unpacked(this.call("LMSGetValue", "cmi.suspend_data"));
    this.status = this.call("LMSGetValue", "cmi.core.lesson_status");
    this.place = this.call("LMSGetValue", "cmi.core.lesson_location");
    /** @type {string[]} The steps that were answered in earlier sessions, without names, and in this one. */
    this.answered = Array(Number(this.call("LMSGetValue", "cmi.interactions._count")) || 0).fill("");
    this.set("core.exit", "suspend"); // so that the platform gives the answers back
    this.report();
    addEventListener("pagehide", () => this.leave(), { once: true });
    addEventListener("pageshow", ({ persisted }) => { if (persisted) location.reload(); }); // to begin again
  }

  /** @param {string} name @param {string[]} given @returns {string} */
  call(name, ...given) {
    try {
      return String(this.api[name](...given) ?? "");
    } catch {
      return "false";
    }
  }

  /** Whether the platform took a value. @param {string} name @param {string | number} value */
  set(name, value) {
    return this.call("LMSSetValue", `cmi.${name}`, String(value)) === "true";
  }

  getItem() {
    return JSON.stringify(this.records);
  }

  /** @param {string} _ @param {string} text */
  setItem(_, text) {
    const before = this.records;
    this.records = JSON.parse(text);
    for (const [link, record] of Object.entries(this.records))
      if (JSON.stringify(record) !== JSON.stringify(before[link])) this.noteAnswer(link, record);
    if (!this.report()) warn();
  }

  removeItem() {
    this.setItem("", "{}");
  }

  /**
   * Note what the learner answered in a step. A platform need not keep this.
   * @param {string} link @param {LessonRecord} record
   */
  noteAnswer(link, { answer, right }) {
    const known = this.answered.indexOf(link), at = `interactions.${known < 0 ? this.answered.push(link) - 1 : known}`;
    const type = { string: "fill-in", number: "numeric" }[typeof answer] ?? "performance";
    this.set(`${at}.id`, link);
    this.set(`${at}.type`, type);
    this.set(`${at}.time`, new Date().toTimeString().slice(0, 8));
    if (answer !== null) this.set(`${at}.student_response`, answer);
    this.set(`${at}.result`, right ? "correct" : "wrong");
  }

  /** Tell the platform where the learner is. Returns whether it took everything. */
  report() {
    const { records } = this, right = PACKAGE.steps.filter((link) => records[link]?.right).length;
    if (!/passed|completed/.test(this.status))
      this.status = PACKAGE.steps.every((link) => records[link]) ? "completed" : "incomplete";
    const taken = [
      this.set("suspend_data", packed(records)),
      this.set("core.score.min", 0),
      this.set("core.score.max", 100),
      this.set("core.score.raw", Math.round((100 * right) / PACKAGE.steps.length)),
      this.set("core.lesson_status", this.status),
      this.set("core.lesson_location", openStep() || this.place),
      this.set("core.session_time", timespan(Date.now() - this.since)),
      this.call("LMSCommit", "") === "true",
    ];
    return taken.every(Boolean);
  }

  leave() {
    this.report();
    this.call("LMSFinish", "");
  }
}

/** Say that the platform did not take an answer, once. */
function warn() {
  if (document.querySelector("[data-platform]")) return;
  const note = Object.assign(document.createElement("p"), { className: "problem", role: "alert" });
  note.dataset.platform = "";
  note.textContent = (PACKAGE.words[document.documentElement.lang] ?? PACKAGE.words.en).join(" ");
  document.querySelector("main")?.before(note);
}

const api = apiAround(window) ?? apiAround(opener) ?? apiAround(top?.opener);
let place = PACKAGE.start;
if (api && String(api.LMSInitialize("")) === "true") {
  const platform = new Platform(api);
  globalThis.platform = platform;
  if (PACKAGE.steps.includes(platform.place)) place = `#?lesson=${platform.place}`;
}
if (!location.hash) history.replaceState(null, "", place);
