// The inputs and texts that several pages share, as descriptions for `draw`.
import { el, select, tableOf } from "../ui/dom.js";
import { say } from "../ui/words.js";

/**
 * A row of choices. One of them is on.
 * @param {string} label
 * @param {[string, string][]} options Value and name.
 * @param {string} chosen @param {(value: string) => void} choose @returns {Described}
 */
export function segmented(label, options, chosen, choose) {
  return el("div", { class: "control", role: "group", "aria-label": label }, [
    el("span", { class: "label", "aria-hidden": "true" }, label),
    el("div", { class: "segments" }, options.map(([value, name]) => el("button", {
      type: "button", "aria-pressed": String(value === chosen), onclick: () => choose(value),
    }, name))),
  ]);
}

/** A field to type in. @param {string} label @param {Record<string, any>} attributes @returns {Described} */
export function field(label, attributes) {
  return labelled(label, el("input", attributes));
}

/** @param {string} label @param {Described} control */
function labelled(label, control) {
  return el("label", { class: "control" }, [el("span", { class: "label" }, label), control]);
}

/**
 * @param {string} label @param {Option[]} options @param {string} chosen @param {(value: string) => void} choose
 * @param {Record<string, any>} [attributes] Of the list.
 * @returns {Described}
 */
export function list(label, options, chosen, choose, attributes = {}) {
  return labelled(label, select(options, chosen, choose, attributes));
}

/** A switch. @param {string} label @param {boolean} on @param {(on: boolean) => void} change @param {string} [title] */
export function toggle(label, on, change, title = "") {
  return el(
    "button",
    {
      type: "button", role: "switch", class: "switch", "aria-checked": String(on), title: title || false,
      onclick: () => change(!on),
    },
    label,
  );
}

/** @param {string} label @param {(event: any) => void} onclick @param {Record<string, any>} [attributes] */
export function button(label, onclick, attributes = {}) {
  return el("button", { type: "button", class: "plain", onclick, ...attributes }, label);
}

/**
 * A slider that shows its number.
 * @param {string} label @param {{ min: number, max: number, step: number }} range @param {number} value
 * @param {(value: number) => void} change
 */
export function slider(label, range, value, change) {
  return field(`${label}: ${value}`, {
    type: "range", ...range, "aria-label": label, oninput: ({ target }) => change(Number(target.value)), value,
  });
}

/** A sentence about what the page cannot do or has left out. @param {string | Described[]} content */
export function note(content) {
  return el("p", { class: "note" }, content);
}

/** A sentence about a picture. @param {string} content */
export function caption(content) {
  return el("p", { class: "caption" }, content);
}

/**
 * A heading with a sentence that says what the picture below it shows.
 * @param {string} title @param {string} sentence
 */
export function heading(title, sentence = "") {
  return el("div", { class: "heading" }, [el("h2", {}, title), el("span", {}, sentence)]);
}

/**
 * Maps beside each other where they fit, else below each other.
 * @param {number} most In a row. @param {number} width The least of a map. @param {Described[]} maps
 */
export function beside(most, width, maps) {
  return el("div", { class: "two beside", style: `--least:max(${width}px, ${90 / most}%)` }, maps);
}

/** The place of a component; `mount` fills it. @param {string} name @param {string} [more] Classes. */
export function place(name, more = "") {
  return el("div", { class: `part ${more}`.trim(), "data-part": name });
}

/** @type {Map<Element, () => void>} */
const ends = new Map();

/**
 * Draw a component at its place.
 * @param {Element} page
 * @param {string} name Of the place.
 * @param {Component} component @param {any} data
 * @param {(name: string, value: any) => void} [report] Called with what the visitor does in it.
 */
export function mount(page, name, component, data, report = () => {}) {
  endWhere((home) => !home.isConnected);
  const home = page.querySelector(`[data-part="${name}"]`);
  if (!home) return;
  if (!home.firstElementChild) home.append(Object.assign(document.createElement("div"), { className: "root" }));
  ends.set(home, component({ data, parentElement: home, setTriggerValue: report }));
}

/** End the components of a page that is left. @param {Element} page */
export function unmount(page) {
  endWhere((home) => page.contains(home));
}

/** @param {(home: Element) => boolean} isLeft */
function endWhere(isLeft) {
  for (const [home, end] of ends) if (isLeft(home) && ends.delete(home)) end();
}

/**
 * A table that is filled when it is opened.
 * @param {string} title
 * @param {() => { head: string[], rows: string[][] }} content The first cell of a row is its heading.
 * @param {App} app Keeps whether it is open.
 */
export function table(title, content, { opened: state, redraw }) {
  const { head, rows } = state.table ? content() : { head: [], rows: [] };
  return el("details", { class: "numbers",
    ontoggle: ({ target }) => { if (Boolean(state.table) !== target.open) { state.table = target.open; redraw(); } } },
    [el("summary", {}, title), ...(state.table ? [tableOf(title, head, rows)] : [])]);
}

/** The first characters of a text. @param {string} text @param {number} most */
export function firstOf(text, most) {
  return [...text].slice(0, most).join("");
}

/** A sentence about what is left out; "" where nothing is. @param {string | undefined} text @param {number} most */
export function cutNote(text, most) {
  const n = [...text ?? ""].length, shown = (number) => number.toLocaleString(document.documentElement.lang);
  return n > most
    ? say("The text has {n} characters. Only the first {limit} were read.", { n: shown(n), limit: shown(most) })
    : "";
}
