// Announces what the model has written when it changes, and sets the language of the text field.
import { announce, announcer } from "./announcer.js";
import { withKey } from "./bridge.js";

/** @type {import("./mounting.js").Component} */
export function pageAnnouncement({ data }) {
  const place = announcer(), news = JSON.stringify([data.sentence, data.text]), before = place.dataset.announced;
  place.dataset.announced = news;
  // A new page is not announced: its visitor reads it.
  if (before !== undefined && before !== news) announce(data.sentence, data.text, data.lang);
  const field = withKey("text", "input");
  if (field) field.lang = data.source;
  return () => {};
}
