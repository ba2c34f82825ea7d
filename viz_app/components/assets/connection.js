// A note while the server does not answer. Until then the browser would drop what the visitor clicks, without a word.
import { isConnected } from "./bridge.js";
import { draw, el } from "./dom.js";
import { listening, onPageChange } from "./page_events.js";
import { say } from "./words.js";

const NOTE = "hl-offline";

export const connection = listening(() => {
  function look() {
    const note = document.querySelector(`.${NOTE}`);
    if (isConnected()) return note?.remove();
    if (note) return;
    const place = document.createElement("div");
    Object.assign(place, { className: NOTE, role: "alert" });
    document.body.append(place);
    draw(place, [
      el("span", {}, say(
        "Headlight does not answer. What you click now is lost. The page works again as soon as it answers."
      )),
    ]);
  }
  return [onPageChange(look, ["data-test-connection-state"])];
});
