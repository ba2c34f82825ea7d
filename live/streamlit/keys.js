// How a page of Streamlit reacts to keys and fingers, and to the loss of its server. The key p starts presenter mode,
// and Escape leaves it. In presenter mode the arrow keys, or the page keys of a clicker, go to the next step of the
// page, or scroll a page that has no steps. Enter ends a sentence.
import { announce, ARROWS, draw, el } from "../ui/dom.js";
import { component } from "../ui/mounting.js";
import { clamped } from "../ui/numbers.js";
import { onPage, onPageChange } from "../ui/page_events.js";
import { say, spoken } from "../ui/words.js";
import {
  allWithKey, chosenTheme, closeSidebarAfter, describeMenu, focusPage, hasOverlay, hoverLines, isConnected, keepTheme,
  PLOTLY, scrollPage, STREAMLIT, walkable, withKey,
} from "./bridge.js";

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

export function shortcuts() {
  document.documentElement.dataset.keys = "ready";
  return [onPage("keydown", pressed), () => delete document.documentElement.dataset.keys];
}

const SETTING = "headlight-p-off"; // people who speak to the computer can turn off the key p

/** Whether the key p starts presenter mode in this browser. */
const presentKeyIsOn = () => localStorage.getItem(SETTING) === null;

/** A switch for the key p, beside the list of all keys. */
export const presentKey = component((root) => {
  const change = ({ target }) => {
    if (target.checked) localStorage.removeItem(SETTING);
    else localStorage.setItem(SETTING, "");
  };
  const update = () => draw(root, [el("label", {}, [
    el("input", { type: "checkbox", checked: presentKeyIsOn(), onchange: change }),
    el("span", {}, say("The key p starts presenter mode")),
  ])]);
  return { update };
});

// Plotly reacts to a pointer only. Here arrow keys move over its maps cell by cell. Each map is one tab stop, and what
// it shows for a cell is announced.

const HOVER_DELAY = 150; // milliseconds until Plotly has drawn the hover text
const WALKED = "[data-walked]"; // a map that this file has prepared
/** @type {WeakMap<Element, [number, number]>} */
const positions = new WeakMap(); // chart → the cell that was reached by keys, as [column, row]
/** @type {ReturnType<typeof setTimeout> | undefined} */
let announcement;

const plotIn = (home) => home?.querySelector(PLOTLY.chart);

function move(plot, map, [right, down]) {
  const [column, row] = positions.get(plot) ?? [-1, 0];
  /** @type {[number, number]} */
  const cell = column < 0
    ? [0, 0]
    : [clamped(column + right, map.width), clamped(row + down, map.height)];
  positions.set(plot, cell);
  const init = { ...map.place(cell), bubbles: true, cancelable: true, view: window };
  for (const type of ["mouseover", "mousemove"]) map.layer.dispatchEvent(new MouseEvent(type, init));
  clearTimeout(announcement);
  announcement = setTimeout(() => announce(spoken(hoverLines(plot))), HOVER_DELAY);
}

function pressedOnMap(event) {
  const home = event.target.matches?.(WALKED) ? event.target : null, plot = plotIn(home), map = plot && walkable(plot);
  if (!map || event.ctrlKey || event.metaKey || event.altKey) return;
  const direction = ARROWS[event.key];
  if (direction) move(plot, map, direction);
  else if (event.key === "Escape" && positions.has(plot)) left(event);
  else if (event.key !== " " || !positions.has(plot)) return; // the space bar would scroll the map away
  event.preventDefault();
  event.stopPropagation();
}

function left({ target }) {
  const plot = plotIn(target.closest?.(WALKED)), map = plot && walkable(plot);
  if (!map || !positions.has(plot)) return;
  map.layer.dispatchEvent(new MouseEvent("mouseout", { bubbles: true }));
  positions.delete(plot);
}

function prepareMaps() {
  for (const home of document.querySelectorAll(`${STREAMLIT.chart}:not(${WALKED})`)) {
    const plot = plotIn(home);
    if (!(home instanceof HTMLElement) || !plot || !walkable(plot)) continue;
    home.dataset.walked = "";
    home.tabIndex = 0;
    home.setAttribute("role", "application");
    home.setAttribute("aria-roledescription", say("map; arrow keys move from cell to cell"));
  }
}

export const chartKeys = () => [
  onPage("keydown", pressedOnMap, { capture: true }),
  onPage("focusout", left),
  onPageChange(prepareMaps),
];

const keepFromPlotly = (event) => {
  if (event.target.closest?.(PLOTLY.chart)) event.stopPropagation();
};

/**
 * What a finger needs. After a touch Plotly reacts to the element that was under the pointer before it, so a tap would
 * open the tile of the previous tap. If Plotly does not get the touch, the browser sends mouse events in the right
 * order.
 */
export const touch = () => [
  onPage("click", closeSidebarAfter),
  onPage("touchstart", keepFromPlotly, { capture: true, passive: true }),
];

const NOTE = "hl-offline";

/** A note while the server does not answer. Until then, the browser drops what the visitor clicks, without a word. */
export function connection() {
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
  return onPageChange(look, ["data-test-connection-state"]);
}

/** Keep the theme that a visitor chooses in the menu for all pages. Streamlit keeps it for the page that was loaded. */
export function keptTheme() {
  let last = chosenTheme();

  function leave() {
    const theme = chosenTheme();
    if (!document.hidden || !theme || theme === last) return; // another tab may have a newer choice
    keepTheme(theme);
    last = theme;
  }
  return onPage("visibilitychange", leave);
}

/** Give the menu its roles for a screen reader. */
export const menuRoles = () => onPageChange(describeMenu);
