// Keys of the whole page. The key p starts presenter mode, and Escape leaves it. In presenter mode the arrow keys, or
// the page keys of a clicker, go to the next step of the page, or scroll a page that has no steps. Enter ends a
// sentence.
import { allWithKey, focusPage, hasOverlay, scrollPage, withKey } from "./bridge.js";
import { listening, onPage } from "./page_events.js";
import { presentKeyIsOn } from "./present_key_setting.js";

/** Key → 1 for forward, -1 for back. @type {Record<string, number>} */
const STEPS = { ArrowLeft: -1, PageUp: -1, ArrowRight: 1, PageDown: 1 };
const USES_ARROWS = "input, textarea, select, [contenteditable=true], [role=tab], [role=combobox], "
  + "[role=listbox], [role=grid]";
const USES_PAGE_KEYS = "textarea, select, [contenteditable=true], [role=listbox], [role=grid]";
const SENTENCE = '[class*="st-key-batch_"] textarea'; // a field that wraps, but has no lines
const SCROLLS = /^( |Page|Arrow|Home|End)/; // keys that a browser scrolls with
const SAME_PLACE = 4; // pixels
const PAGE = 0.9; // of the height of the window, so that the last line stays visible

const leaveButton = () => withKey("leave_present", "button");

/** Whether the focused element needs the key itself. */
const needsKey = (focused, key) => Boolean(focused.closest?.(key.startsWith("Page") ? USES_PAGE_KEYS : USES_ARROWS));

function pressed(event) {
  const focused = event.composedPath()[0];
  if (SCROLLS.test(event.key)) focusPage();
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || event.defaultPrevented) return;
  if (event.key === "Escape" && !hasOverlay()) {
    leaveButton()?.click();
    return;
  }
  if (event.key === "Enter" && focused.matches?.(SENTENCE)) {
    event.preventDefault();
    // Streamlit's key
    focused.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", ctrlKey: true, bubbles: true, composed: true }));
    return;
  }
  if (needsKey(focused, event.key)) return;
  if (event.key === "p" && !event.repeat && presentKeyIsOn()) withKey("present", "input")?.click();
  const step = STEPS[event.key];
  if (!step || !leaveButton()) return;
  event.preventDefault(); // the key must not scroll
  const lesson = withKey(`lesson_${step > 0 ? "next" : "back"}`, "button");
  if (lesson) {
    lesson.click();
    return;
  }
  const walk = new CustomEvent("headlight-walk", { detail: step, cancelable: true });
  if (!document.dispatchEvent(walk)) return; // a component has taken the step
  const button = withKey(`walk_${step > 0 ? "on" : "back"}`, "button");
  if (button) button.click();
  else scrollTo(step);
}

/** Scroll to the next stop of the page if it is at most one window away, else by one window. */
function scrollTo(step) {
  const stops = allWithKey("stop_"), top = (one) => one.getBoundingClientRect().top;
  const next = step > 0 ? stops.find((one) => top(one) > SAME_PLACE) : stops.findLast((one) => top(one) < -SAME_PLACE);
  if (next && Math.abs(top(next)) <= innerHeight) next.scrollIntoView();
  else scrollPage(step * PAGE * innerHeight);
}

export const shortcuts = listening(() => {
  document.documentElement.dataset.keys = "ready";
  return [onPage("keydown", pressed), () => delete document.documentElement.dataset.keys];
});
