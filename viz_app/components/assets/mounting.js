// The life of a component: it is built once at its place in the page, then updated, then closed.
import { redrawMenus, saveMenu } from "./save_menu.js";
import { useWords } from "./words.js";

/**
 * What `build` returns.
 * @typedef {object} View
 * @property {(data?: any, setTriggerValue?: any) => void} update Draw new data.
 * @property {() => void} redraw Draw the same data again, after the width has changed.
 * @property {() => void} [stop] End timers and listeners.
 * @property {() => Element | null} [picture] What the menu "Save picture" saves.
 */

/**
 * What Streamlit gives to a component, each time it has new data.
 * @typedef {object} Mount
 * @property {any} data
 * @property {Element} parentElement
 * @property {(name: string, value: any) => void} setTriggerValue Report an event to the server.
 */

/** @typedef {(mount: Mount) => (() => void)} Component It returns the function that closes it. */

/** @type {WeakMap<Element, { update: View["update"], close: () => void }>} */
const views = new WeakMap();
/** @type {CSSStyleSheet | null} */
let sheet = null;

/**
 * Give all components the same style sheet. Without it they use the styles of the page around them, as in a report.
 * @param {string} css
 */
export function styleComponents(css) {
  sheet = new CSSStyleSheet();
  sheet.replaceSync(css);
}

/**
 * A component from the function that builds its view.
 * @param {(root: any) => View} build
 * @returns {Component}
 */
export function component(build) {
  return ({ data, parentElement, setTriggerValue }) => {
    if (data?.words) useWords(data.words); // before anything is drawn; a part of a component has the words of the whole
    const view = mounted(parentElement, build);
    redrawMenus(parentElement.querySelectorAll(".hl-save"));
    view.update(data, setTriggerValue);
    return view.close;
  };
}

/** The view at a place in the page: built at first, and drawn again when its width changes. */
function mounted(parent, build) {
  const present = views.get(parent);
  if (present) return present;
  const home = parent.getRootNode();
  if (sheet && home instanceof ShadowRoot) home.adoptedStyleSheets = [sheet];
  const root = parent.querySelector(".root"), view = build(root);
  let width = root.clientWidth;
  const watcher = new ResizeObserver(() => {
    if (root.clientWidth !== width) view.redraw();
    width = root.clientWidth;
  });
  watcher.observe(root);
  const close = () => {
    watcher.disconnect();
    view.stop?.();
    views.delete(parent);
  };
  parent.querySelector(".hl-save")?.remove();
  if (view.picture) root.after(saveMenu(view.picture));
  const opened = { update: view.update, close };
  views.set(parent, opened);
  return opened;
}

/**
 * The width available in an element for a picture, in pixels of the picture. `streamlit_presenting.css` enlarges each
 * of them.
 * @param {Element} element
 */
export function availableWidth(element) {
  return element.clientWidth / zoomOf(element);
}

/**
 * How many pixels of the screen one pixel of a picture takes.
 * @param {Element} element
 */
export function zoomOf(element) {
  return Number(getComputedStyle(element).getPropertyValue("--hl-zoom")) || 1;
}
