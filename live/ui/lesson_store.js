// What the browser keeps of the course: the answers, and whether the tour was offered. No account is needed. A tab
// keeps what its visitor had before the lesson, because a reload begins a new session of the server. Each answer is
// merged into what is kept at that moment, so that two tabs do not overwrite each other's answers.
import { draw, el } from "./dom.js";
import { component } from "./mounting.js";
import { onPage } from "./page_events.js";
import { isPointedAt, POINTING } from "./pointing.js";
import { say } from "./words.js";

const PROGRESS = "headlight-lessons", TOUR = "headlight-tour", BEFORE = "headlight-before";
const MOST = 60_000; // characters
/** The number of the latest change that is kept, for each session of the server. @type {Map<string, number>} */
const kept = new Map();
let offers = false; // the tour, until this page is closed or the visitor answers

/** Where something is kept: what this tab keeps, or what all tabs share. @param {string} name */
const place = (name) => (name === BEFORE ? sessionStorage : localStorage);

/** What is kept under a name; "" where the browser keeps nothing. @param {string} name */
function read(name) {
  try {
    return place(name).getItem(name) ?? "";
  } catch {
    return "";
  }
}

/** @param {string} name @param {string} text "" removes what is kept. */
function write(name, text) {
  try {
    if (text && text.length <= MOST) place(name).setItem(name, text);
    else if (!text) place(name).removeItem(name);
  } catch {
    // A browser without storage forgets the answers when the page is closed.
  }
}

/**
 * An object that is kept; an empty one where another program has written something else.
 * @param {string} name @returns {Record<string, any>}
 */
function readObject(name) {
  const text = read(name);
  if (text.length > MOST) return {};
  try {
    const found = JSON.parse(text || "{}");
    return found && typeof found === "object" && !Array.isArray(found) ? found : {};
  } catch {
    return {};
  }
}

/** All answers that are kept. @returns {Record<string, LessonRecord>} */
const keptProgress = () => readObject(PROGRESS);

/** Keep the changes that are newer than the last ones of this session. @param {LessonData} data */
function keepChanges({ session, changes, forgotten, before }) {
  const last = kept.get(session) ?? 0, fresh = changes.filter(([number]) => number > last);
  if (forgotten > last) write(PROGRESS, "");
  if (fresh.length) {
    const all = keptProgress();
    for (const [, name, record] of fresh) all[name] = { ...record, right: record.right || all[name]?.right === true };
    write(PROGRESS, JSON.stringify(all));
  }
  const [moved, was] = before;
  if (moved > last) write(BEFORE, was ? JSON.stringify(was) : "");
  kept.set(session, Math.max(last, forgotten, moved, ...fresh.map(([number]) => number)));
}

/** Whether to offer the tour: once in this browser, until the visitor answers. */
function mayOffer() {
  if (!read(TOUR)) {
    write(TOUR, "offered");
    offers = true;
  }
  return offers;
}

export const lessonStore = component((root) => {
  /** @type {LessonData | undefined} */
  let latest;
  /** @type {(name: string, value: unknown) => void} */
  let report = () => {};
  const sendStored = () => report("stored", keptProgress());
  const onStorage = ({ key }) => { if (key === PROGRESS || key === null) sendStored(); }; // from another tab
  addEventListener("storage", onStorage);
  const forget = onPage(POINTING, (event) => {
    const [step, part] = latest?.pointing ?? ["", ""];
    if (!isPointedAt(part, event)) return;
    if (latest) latest.pointing = ["", ""];
    report("pointed", step);
  });

  function answered(begin) {
    offers = false;
    redraw();
    if (begin) report("tour", true);
  }

  function redraw() {
    draw(root, !latest?.offer || !mayOffer() ? []
      : [el("div", { class: "offer", role: "region", "aria-label": say("Tour") }, [
      el("span", {}, say("New here? Five steps show this page.")),
      el("button", { type: "button", onclick: () => answered(true) }, say("Take the tour")),
      el("button", { type: "button", onclick: () => answered(false) }, say("No, thanks")),
    ])]);
  }

  function update(data, setTriggerValue) {
    const first = data.session !== latest?.session && !kept.has(data.session);
    latest = data;
    report = setTriggerValue;
    keepChanges(data);
    redraw();
    if (first && Object.keys(keptProgress()).length) sendStored();
    const was = first ? readObject(BEFORE) : {};
    if (was.page) report("before", was);
  }

  function stop() {
    removeEventListener("storage", onStorage);
    forget();
  }

  return { update, redraw, stop };
});
