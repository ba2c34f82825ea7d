// Scrolls to the part of the page that a step of a lesson is about, when it appears. Another step begins at the top.
import { outcomeBar, pageBlock, withKey } from "./bridge.js";
import { keepInView } from "./in_view.js";
import { component } from "./mounting.js";

let latest = { step: "", target: "", shown: "" };

export const lessonTarget = component(() => {
  let stop = () => {};
  function update(/** @type {{ step: string, target: string, shown: string }} */ data) {
    const { step, target, shown } = latest;
    latest = data;
    stop();
    if (data.step !== step) pageBlock().scrollIntoView();
    else if (data.target && (data.target !== target || data.shown !== shown))
      stop = keepInView(pageBlock(), () => withKey(data.target), outcomeBar);
  }
  return { update, redraw: () => {}, stop: () => stop() };
});
