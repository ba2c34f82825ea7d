// The invisible parts of a page of Streamlit.
import { announce, announcer, draw, el } from "../ui/dom.js";
import { wordLines } from "../ui/lines.js";
import { component } from "../ui/mounting.js";
import { keepInView } from "../ui/pointing.js";
import { savePictures } from "../ui/saving.js";
import { outcomeBar, pageBlock, replaceQuery, withKey } from "./bridge.js";

/** Completes the address of the page. It draws nothing. @type {Component} */
export function address({ data }) {
  replaceQuery(data.query);
  return () => {};
}

let latest = { step: "", target: "", shown: "" };

/** Scrolls to the part of the page that a step of a lesson is about, when it appears. A new step begins at the top. */
const lessonTarget = component(() => {
  let stop = () => {};
  function update(/** @type {{ step: string, target: string, shown: string }} */ data) {
    const { step, target, shown } = latest;
    latest = data;
    stop();
    if (data.step !== step) pageBlock().scrollIntoView();
    else if (data.target && (data.target !== target || data.shown !== shown))
      stop = keepInView(pageBlock(), () => withKey(data.target), outcomeBar);
  }
  return { update, stop: () => stop() };
});

/** Announces what the model has written when it changes, and sets the language of the text field. @type {Component} */
function pageAnnouncement({ data }) {
  const place = announcer(), news = JSON.stringify([data.sentence, data.text]), before = place.dataset.announced;
  place.dataset.announced = news;
  // A new page is not announced: its visitor reads it.
  if (before !== undefined && before !== news) announce(data.sentence, data.text, data.lang);
  const field = withKey("text", "input");
  if (field) field.lang = data.source;
  return () => {};
}

/** Name → component. The data of a page have the same names. @type {Record<string, Component>} */
const PARTS = {
  page_announcement: pageAnnouncement, word_lines: wordLines, lesson_target: lessonTarget, save_pictures: savePictures,
};

/**
 * The parts as one component, because each mounted component costs the browser time at every change. A part is updated
 * only if its data or the words have changed, and ends if it gets no data any more.
 */
export const pageParts = component((root) => {
  const places = {}, latest = {}, ends = {};

  function end(name) {
    ends[name]?.();
    delete ends[name];
    delete latest[name];
  }

  function give(name, data, text) {
    latest[name] = text;
    if (!places[name]) {
      places[name] = root.appendChild(document.createElement("div"));
      draw(places[name], [el("div", { class: "root" })]);
    }
    try {
      ends[name] = PARTS[name]({ data, parentElement: places[name], setTriggerValue: () => {} });
    } catch (error) {
      reportError(error); // the other parts still work
    }
  }

  function update(data) {
    for (const name of Object.keys(PARTS)) {
      const text = JSON.stringify([data[name], data.words]);
      if (data[name] === undefined) end(name);
      else if (text !== latest[name]) give(name, data[name], text);
    }
  }

  return { update, stop: () => Object.keys(PARTS).forEach(end) };
});
