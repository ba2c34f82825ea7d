// Keys of the whole page: p presents and Escape ends it; the arrows, or a clicker's page keys, walk the steps meanwhile.
const WALKS = { ArrowLeft: -1, PageUp: -1, ArrowRight: 1, PageDown: 1 };
const OWN_KEYS = "input, textarea, select, [contenteditable=true], [role=tab], [role=combobox], [role=listbox], [role=grid]";
const NEAR = 4; // pixels
const PAGE = 0.9; // of the screen: what one saw last is still seen
const SCROLLS = "[data-testid=stMain]";
const OPENED = "[data-testid=stPopoverBody], [role=dialog], [role=listbox]";

const leave = () => document.querySelector(".st-key-leave_present button");

function pressed(event) {
  const at = event.composedPath()[0];
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || event.defaultPrevented) return;
  if (event.key === "Escape" && !document.querySelector(OPENED)) return leave()?.click();
  if (at.closest?.(OWN_KEYS)) return;
  if (event.key === "p" && !event.repeat) document.querySelector(".st-key-present input")?.click();
  const on = WALKS[event.key];
  if (!on || !leave()) return;
  const walk = new CustomEvent("headlight-walk", { detail: on, cancelable: true }); // who walks by itself prevents it
  const taken = !document.dispatchEvent(walk), button = document.querySelector(`.st-key-walk_${on > 0 ? "on" : "back"} button`);
  if (!taken) button?.click();
  if (taken || button || stop(on)) event.preventDefault(); // elsewhere these keys scroll
}

/** Where a page has stops one below the other: the next of them, unless it is farther away than the screen is high. */
function stop(on) {
  const stops = [...document.querySelectorAll('[class*="st-key-stop_"]')], top = (one) => one.getBoundingClientRect().top;
  const next = on > 0 ? stops.find((one) => top(one) > NEAR) : stops.findLast((one) => top(one) < -NEAR);
  if (next && Math.abs(top(next)) <= innerHeight) next.scrollIntoView();
  else stops[0]?.closest(SCROLLS).scrollBy(0, on * PAGE * innerHeight);
  return stops.length > 0;
}

export default function () {
  document.addEventListener("keydown", pressed); // the same one counts once
}
