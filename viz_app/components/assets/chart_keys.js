// Plotly reacts to a pointer only. Here arrow keys move over its maps cell by cell, and Enter and Space click. Each map
// is one tab stop, and what it shows for a cell is announced.
import { announce } from "./announcer.js";
import { PLOTLY, STREAMLIT, hoverLines, keyAround, walkable, withKey } from "./bridge.js";
import { spoken } from "./format.js";
import { clamped } from "./numbers.js";
import { listening, onPage, onPageChange } from "./page_events.js";
import { ARROWS } from "./single_tab_stop.js";
import { say } from "./words.js";

const HOVER_DELAY = 150; // milliseconds until Plotly has drawn the hover text
const WALKED = "[data-walked]"; // a map that this file has prepared
/** @type {WeakMap<Element, [number, number]>} */
const positions = new WeakMap(); // chart → the cell that was reached by keys, as [column, row]
/** @type {ReturnType<typeof setTimeout> | undefined} */
let announcement;
/** @type {{ key: string, cell: [number, number] } | null} */
let clicked = null; // the cell that keys have clicked: if Streamlit builds the map again, it gets the focus back

const plotIn = (home) => home?.querySelector(PLOTLY.chart);

function point(map, cell, ...types) {
  const init = { ...map.place(cell), bubbles: true, cancelable: true, view: window, button: 0, buttons: 1 };
  for (const type of types) (type === "mouseup" ? document : map.layer).dispatchEvent(new MouseEvent(type, init));
}

function move(plot, map, [right, down]) {
  const [column, row] = positions.get(plot) ?? [-1, 0];
  /** @type {[number, number]} */
  const cell = column < 0
    ? [0, 0]
    : [clamped(column + right, map.width), clamped(row + (map.upwards ? -down : down), map.height)];
  positions.set(plot, cell);
  point(map, cell, "mouseover", "mousemove");
  clearTimeout(announcement);
  announcement = setTimeout(() => announce(spoken(hoverLines(plot))), HOVER_DELAY);
}

function pressed(event) {
  const home = event.target.matches?.(WALKED) ? event.target : null, plot = plotIn(home), map = plot && walkable(plot);
  if (!map || event.ctrlKey || event.metaKey || event.altKey) return;
  const cell = positions.get(plot), direction = ARROWS[event.key];
  if (direction) move(plot, map, direction);
  else if ((event.key === "Enter" || event.key === " ") && cell) {
    clicked = { key: keyAround(home), cell };
    point(map, cell, "mousemove", "mousedown", "mouseup");
  } else if (event.key === "Escape" && cell) left(event);
  else return;
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
  const lost = clicked && document.activeElement === document.body && withKey(clicked.key, WALKED);
  if (!clicked || !lost) return;
  positions.set(plotIn(lost), clicked.cell);
  lost.focus({ preventScroll: true });
}

export const chartKeys = listening(() => [
  onPage("keydown", pressed, { capture: true }),
  onPage("focusout", left),
  onPage("pointerdown", () => { clicked = null; }),
  onPage("focusin", ({ target }) => { if (!target.closest?.(WALKED)) clicked = null; }),
  onPageChange(prepareMaps),
]);
