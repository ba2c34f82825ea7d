// Adds the menu "Save picture" to every chart, and saves what a menu asks for; `picture_files.js` writes the files.
import { addMenusToPictures, keyAround, pictureIn, STREAMLIT } from "../streamlit/bridge.js";
import { announce } from "./dom.js";
import { later } from "./later.js";
import { component, redrawMenus, saveMenu } from "./mounting.js";
import { onPage, onPageChange } from "./page_events.js";
import { savePicture } from "./picture_files.js";
import { capitalized, say } from "./words.js";

/**
 * The name of the file of a picture, without its ending: its English title, or its key and the numbers of a title in
 * another language.
 * @param {string} title @param {string} key
 */
export function fileName(title, key) {
  const name = /^[\p{Script=Latin}\p{Script=Common}]*$/u.test(title)
    ? title
    : [key || "picture", ...(title.match(/\d+/g) ?? [])].join("-");
  return `headlight-${name.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "-").slice(0, 60)}`;
}

/** The key of a picture on the page. */
function keyOf(picture) {
  const home = picture.getRootNode();
  return keyAround(home instanceof ShadowRoot ? home.host : picture);
}

export const savePictures = component(() => {
  let facts = [], titles = {};

  function addMenus() {
    addMenusToPictures(saveMenu);
    for (const chips of document.querySelectorAll(".hl-lined:not(:has(.hl-save))"))
      chips.querySelector(".hl-row + .hl-row")?.append(saveMenu(() => chips));
  }

  async function save({ detail: { picture: place, format } }) {
    const picture = pictureIn(place);
    if (!picture) return announce(say("The picture is not drawn yet. Save it when you can see it."));
    const title = titleOf(picture, titles), day = new Date().toLocaleDateString("sv"); // Swedish dates are 2025-12-31
    const known = [...facts, [say("Date"), say("{day}, made with Headlight", { day })]];
    try {
      const write = await later("saving", savePicture);
      await write(picture, format, fileName(title, keyOf(place)), title, known);
    } catch (error) {
      announce(say(
        "The picture could not be saved as {format}: {reason}",
        { format, reason: error instanceof Error ? error.message : error }
      ));
      throw error;
    }
  }

  const stops = [onPageChange(addMenus), onPage("headlight-save", save)];
  return {
    update: (next) => {
      ({ facts, titles = {} } = next); // a page without Streamlit has no charts with titles
      redrawMenus(document.querySelectorAll(".hl-save"));
    },
    stop: () => { for (const stop of stops) stop(); },
  };
});

/** The title of a picture: that of its chart, or its description for people who cannot see it. */
function titleOf(picture, titles) {
  const described = picture.closest(`${STREAMLIT.chart}, [role=figure]`);
  return capitalized(
    titles[keyAround(picture)] ?? picture.dataset.title ?? described?.ariaLabel ?? picture.ariaLabel ?? ""
  );
}
