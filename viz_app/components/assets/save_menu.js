// The small menu beside a picture that offers to save it. `save_pictures.js` saves.
import { draw, el } from "./dom.js";
import { say } from "./words.js";

/** @type {WeakMap<Element, () => void>} */
const drawings = new WeakMap(); // menu → the function that draws it

/**
 * The menu of one picture.
 * @param {() => Element | null} picture The picture to save, asked for when a format is chosen.
 * @returns {HTMLDetailsElement}
 */
export function saveMenu(picture) {
  const menu = document.createElement("details");
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
  drawings.set(menu, () => draw(menu, [
    el("summary", { title: say("Save picture"), "aria-label": say("Save picture") }, [
      el("svg", { viewBox: "0 0 16 16", "aria-hidden": "true" }, [arrow]),
    ]),
    el("div", {}, [el("span", {}, say("Save picture:")), ...["PNG", "SVG", "PDF"].map(choice)]),
  ]));
  redrawMenus([menu]);
  return menu;
}

/**
 * Draw menus again, because the words may have changed.
 * @param {Iterable<Element>} menus
 */
export function redrawMenus(menus) {
  for (const menu of menus) drawings.get(menu)?.();
}
