// The life of a component: it is built once at its place in the page, then updated, then closed.
import { draw, el } from "./dom.js";
import { say, useWords } from "./words.js";

/** @type {WeakMap<Element, { update: Built["update"], close: () => void }>} */
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

/** A component from the function that builds its view. @param {(root: any) => Built} build @returns {Component} */
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
    if (root.clientWidth !== width) view.redraw?.();
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

/** How many pixels of the screen one pixel of a picture takes. @param {Element} element */
export function zoomOf(element) {
  return Number(getComputedStyle(element).getPropertyValue("--hl-zoom")) || 1;
}

// The small menu beside a picture that offers to save it. `saving.js` saves.

/**
 * The menu of one picture.
 * @param {() => Element | null} picture The picture to save, asked for when a format is chosen.
 * @returns {HTMLDetailsElement}
 */
export function saveMenu(picture) {
  const menu = /** @type {any} */ (document.createElement("details"));
  const close = () => {
    menu.open = false;
    menu.querySelector("summary")?.focus();
  };
  const choice = (format) => el("button", { type: "button", onclick: () => {
    const detail = { picture: picture(), format };
    menu.dispatchEvent(new CustomEvent("headlight-save", { bubbles: true, composed: true, detail }));
    close();
  } }, format);
  const arrow = el("path", { d: "M8 1v9M4 6l4 4 4-4M2 14h12" });
  menu.className = "hl-save";
  menu.onkeydown = (event) => {
    if (event.key !== "Escape" || !menu.open) return;
    event.preventDefault(); // Escape must not also leave presenter mode
    close();
  };
  menu.redraw = () => draw(menu, [
    el("summary", { title: say("Save picture"), "aria-label": say("Save picture") }, [
      el("svg", { viewBox: "0 0 16 16", "aria-hidden": "true" }, [arrow]),
    ]),
    el("div", {}, [el("span", {}, say("Save picture:")), ...["PNG", "SVG", "PDF"].map(choice)]),
  ]);
  menu.redraw();
  return menu;
}

/** Draw menus again, because the words may have changed. @param {Iterable<any>} menus */
export function redrawMenus(menus) {
  for (const menu of menus) menu.redraw?.(); // those of an older version of the page have none
}
