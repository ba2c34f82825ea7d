// The small menu beside a picture that offers to save it. `save_pictures.js` saves.
import { draw, el } from "./dom.js";

const LABEL = "Save picture";

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
  draw(menu, [
    el("summary", { title: LABEL, "aria-label": LABEL }, [el("svg", { viewBox: "0 0 16 16", "aria-hidden": "true" }, [arrow])]),
    el("div", {}, [el("span", {}, `${LABEL}:`), ...["PNG", "SVG", "PDF"].map(choice)]),
  ]);
  return menu;
}
