// Lets the browser keep the answers and what its visitor had before the lesson, because a reload begins a new session
// of the server; offers the tour once; and notes at what the visitor points. No account is needed.
import { draw, el } from "./dom.js";
import { keep, keepRecords, keptObject, onOtherTab, PROGRESS, readKept } from "./kept.js";
import { component } from "./mounting.js";
import { onPage } from "./page_events.js";
import { isPointedAt, POINTING } from "./pointing.js";
import { say } from "./words.js";

const TOUR = "headlight-tour", BEFORE = "headlight-before";
/** The number of the latest change that is kept, for each session of the server. @type {Map<string, number>} */
const kept = new Map();
let offers = false; // the tour, until this page is closed or the visitor answers

/**
 * Keep the changes that are newer than the last ones of this session.
 * @param {LessonData} data
 */
function keepChanges({ session, changes, forgotten, before }) {
  const last = kept.get(session) ?? 0, fresh = changes.filter(([number]) => number > last);
  if (forgotten > last) keep(PROGRESS, "");
  if (fresh.length) keepRecords(fresh.map(([, name, record]) => [name, record]));
  const [moved, was] = before;
  if (moved > last) keep(BEFORE, was ? JSON.stringify(was) : "");
  kept.set(session, Math.max(last, forgotten, moved, ...fresh.map(([number]) => number)));
}

/** Whether to offer the tour: once in this browser, until the visitor answers. */
function mayOffer() {
  if (!readKept(TOUR)) {
    keep(TOUR, "offered");
    offers = true;
  }
  return offers;
}

export const lessonStore = component((root) => {
  /** @type {LessonData | undefined} */
  let latest;
  /** @type {(name: string, value: unknown) => void} */
  let report = () => {};
  const sendStored = () => report("stored", keptObject(PROGRESS)), unlisten = onOtherTab(sendStored);
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
    if (first && Object.keys(keptObject(PROGRESS)).length) sendStored();
    const was = first ? keptObject(BEFORE) : {};
    if (was.page) report("before", was);
  }

  function stop() {
    unlisten();
    forget();
  }

  return { update, redraw, stop };
});
