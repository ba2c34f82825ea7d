// Saves pictures as files, in the browser. It adds the menu "Save picture" to every chart, and saves what a menu asks
// for.
import { announce } from "./announcer.js";
import { STREAMLIT, addMenusToPictures, keyAround, pictureIn } from "./bridge.js";
import { capitalized } from "./format.js";
import { component } from "./mounting.js";
import { onPage, onPageChange } from "./page_events.js";
import { redrawMenus, saveMenu } from "./save_menu.js";
import { standaloneSvg } from "./standalone_svg.js";
import { say } from "./words.js";

// of a PNG: pixels for one of the screen, and what a browser can draw
const SCALE = 3, MAX_SIDE = 8192, MAX_PIXELS = 16e6;
const KEPT = 60_000; // milliseconds: the browser may still ask where to put the file

/**
 * The name of the file of a picture, without its ending: its English title, or its key and the numbers of a title in
 * another language.
 * @param {string} title
 * @param {string} key
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
    const drawing = await standaloneSvg(picture, title, [
      ...facts, [say("Date"), say("{day}, made with Headlight", { day })],
    ]);
    try {
      await FORMATS[format](drawing, fileName(title, keyOf(place)));
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
    redraw: () => {},
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

const FORMATS = {
  SVG: (drawing, name) => {
    const header = '<?xml version="1.0" encoding="UTF-8"?>\n';
    download(
      new Blob([header, new XMLSerializer().serializeToString(drawing)], { type: "image/svg+xml" }), `${name}.svg`
    );
  },
  PNG: async (drawing, name) => {
    const { width, height } = drawing.viewBox.baseVal, image = new Image();
    const scale = Math.min(SCALE, MAX_SIDE / Math.max(width, height), Math.sqrt(MAX_PIXELS / (width * height)));
    const text = new XMLSerializer().serializeToString(drawing);
    image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
    await image.decode();
    const canvas = document.createElement("canvas");
    Object.assign(canvas, { width: Math.round(width * scale), height: Math.round(height * scale) });
    canvas.getContext("2d")?.drawImage(image, 0, 0, canvas.width, canvas.height);
    download(await new Promise((done) => canvas.toBlob(done, "image/png")), `${name}.png`);
  },
  PDF: print,
};

/** The browser's own "Save as PDF", for a page that is exactly the drawing. */
function print(drawing, name) {
  const frame = document.createElement("iframe"), { width, height } = drawing.viewBox.baseVal, before = document.title;
  document.querySelector("iframe.hl-page")?.remove(); // of the last time: not every browser reports that it has printed
  Object.assign(frame, { className: "hl-page", ariaHidden: "true", tabIndex: -1 });
  frame.style.cssText = "position:fixed;width:0;height:0;border:0";
  document.body.append(frame);
  const page = /** @type {Document} */ (frame.contentDocument), style = page.createElement("style");
  style.textContent = `@page{size:${width}px ${height}px;margin:0} svg{display:block} `
    + `html,body{margin:0;height:${height}px;overflow:hidden}`;
  page.head.append(style);
  page.body.append(drawing);
  page.title = name;
  document.title = name; // it becomes the name of the file
  frame.contentWindow?.print();
  setTimeout(() => { if (document.title === name) document.title = before; }, 1000);
}

function download(blob, name) {
  const link = Object.assign(document.createElement("a"), { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), KEPT);
}
