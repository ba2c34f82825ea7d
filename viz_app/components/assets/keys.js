// Keys of the whole page: p presents and Escape ends it; the arrows, or a clicker's page keys, walk
// the steps of a page meanwhile, or down the page where it has none.
const WALKS = { ArrowLeft: -1, PageUp: -1, ArrowRight: 1, PageDown: 1 };
const OWN_KEYS = "input, textarea, select, [contenteditable=true], [role=tab], [role=combobox], [role=listbox], [role=grid]";
const READS_PAGES = "textarea, select, [contenteditable=true], [role=listbox], [role=grid]";
const NEAR = 4; // pixels
const PAGE = 0.9; // of the screen: what one saw last is still seen
const SCROLLS = "[data-testid=stMain]";
const OPENED = "[data-testid=stPopoverBody], [role=dialog], [role=listbox]";

const leave = () => document.querySelector(".st-key-leave_present button");

/** Whether the key belongs to what has the focus: arrows to most, the keys of a clicker only to what reads them itself. */
const ownKey = (at, key) => Boolean(at.closest?.(key.startsWith("Page") ? READS_PAGES : OWN_KEYS));

function pressed(event) {
  const at = event.composedPath()[0];
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || event.defaultPrevented) return;
  if (event.key === "Escape" && !document.querySelector(OPENED)) return leave()?.click();
  if (ownKey(at, event.key)) return;
  if (event.key === "p" && !event.repeat && keyPresents()) document.querySelector(".st-key-present input")?.click();
  const on = WALKS[event.key];
  if (!on || !leave()) return;
  event.preventDefault(); // of scrolling what has the focus, which may be nothing
  const walk = new CustomEvent("headlight-walk", { detail: on, cancelable: true }); // who walks by itself prevents it
  if (!document.dispatchEvent(walk)) return;
  const button = document.querySelector(`.st-key-walk_${on > 0 ? "on" : "back"} button`);
  button ? button.click() : stop(on);
}

/** Down or up the page: to the next of its stops, where it has some, unless that is farther away than the screen is high. */
function stop(on) {
  const stops = [...document.querySelectorAll('[class*="st-key-stop_"]')], top = (one) => one.getBoundingClientRect().top;
  const next = on > 0 ? stops.find((one) => top(one) > NEAR) : stops.findLast((one) => top(one) < -NEAR);
  if (next && Math.abs(top(next)) <= innerHeight) next.scrollIntoView();
  else document.querySelector(SCROLLS)?.scrollBy(0, on * PAGE * innerHeight);
}

export default function () {
  document.addEventListener("keydown", pressed); // the same one counts once
  document.documentElement.dataset.keys = "ready";
}
