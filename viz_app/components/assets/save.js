// Saves pictures as files, in the browser alone: it offers to at every chart, and does what is asked at our own ones.
export default function ({ data, parentElement }) {
  const view = mounted(parentElement, saving);
  view.update(data);
  return view.close;
}

function saving() {
  let facts = [], titles = {};

  function offer() {
    for (const chart of document.querySelectorAll(".js-plotly-plot:has(.main-svg):not(:has(> .hl-save))")) chart.append(saver(() => chart));
    for (const words of document.querySelectorAll(".hl-lined:not(:has(.hl-save))")) words.querySelector(".hl-row + .hl-row")?.append(saver(() => words));
    // BertViz draws in a frame of its own, which is there before its drawing.
    for (const frame of document.querySelectorAll(".stIFrame:not(:has(+ .hl-save))")) frame.after(saver(() => frame));
  }

  async function save({ detail: { picture: place, format } }) {
    const picture = place.localName === "iframe" ? framedIn(place) : place;
    if (!picture) return announce("The picture is not there yet; save it once it is.");
    const title = titleOf(picture, titles), day = new Date().toLocaleDateString("sv"); // year-month-day
    const drawing = await standingAlone(picture, title, [...facts, ["Date", `${day}, made with Headlight`]]);
    const name = `headlight-${title.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "-").slice(0, 60)}`;
    try {
      await { PNG: asPixels, SVG: asDrawing, PDF: asPage }[format](drawing, name);
    } catch (error) {
      announce(`The picture could not be saved as ${format}: ${error.message}`);
      throw error;
    }
  }

  const watcher = new MutationObserver(offer);
  watcher.observe(document.body, { childList: true, subtree: true });
  document.addEventListener("headlight-save", save);
  offer();
  return {
    update: (next) => { ({ facts, titles = {} } = next); }, // a saved report has no charts to name
    redraw: () => {},
    stop: () => {
      watcher.disconnect();
      document.removeEventListener("headlight-save", save);
    },
  };
}

function framedIn(frame) {
  const picture = frame.contentDocument?.querySelector("svg");
  if (picture) picture.dataset.title = frame.title;
  return picture;
}

/** The title of a picture: that of its chart, or what it shows in the words of those who cannot see it. */
function titleOf(picture, titles) {
  const key = [...(picture.closest("[class*=st-key-]")?.classList ?? [])].find((name) => name.startsWith("st-key-"))?.slice(7);
  const title = titles[key] ?? picture.dataset.title ?? picture.closest("[data-testid=stPlotlyChart], [role=figure]")?.ariaLabel ?? picture.ariaLabel ?? "";
  return title.slice(0, 1).toUpperCase() + title.slice(1);
}

function asDrawing(drawing, name) {
  hand(new Blob(['<?xml version="1.0" encoding="UTF-8"?>\n', new XMLSerializer().serializeToString(drawing)], { type: "image/svg+xml" }), `${name}.svg`);
}

async function asPixels(drawing, name) {
  const { width, height } = drawing.viewBox.baseVal, image = new Image();
  // Larger than it is here, not larger than a browser can.
  const scale = Math.min(3, 8192 / Math.max(width, height), Math.sqrt(16e6 / (width * height)));
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(new XMLSerializer().serializeToString(drawing))}`;
  await image.decode();
  const canvas = Object.assign(document.createElement("canvas"), { width: Math.round(width * scale), height: Math.round(height * scale) });
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  hand(await new Promise((done) => canvas.toBlob(done, "image/png")), `${name}.png`);
}

/** The browser's own "Save as PDF", of a page that is the drawing and as large as it. */
function asPage(drawing, name) {
  const frame = document.createElement("iframe"), { width, height } = drawing.viewBox.baseVal, called = document.title;
  document.querySelector("iframe.hl-page")?.remove(); // of the last time: not every browser tells when it has printed
  Object.assign(frame, { className: "hl-page", ariaHidden: "true", tabIndex: -1 });
  frame.style.cssText = "position:fixed;width:0;height:0;border:0";
  document.body.append(frame);
  const page = frame.contentDocument, style = page.createElement("style");
  style.textContent = `@page{size:${width}px ${height}px;margin:0} html,body{margin:0;height:${height}px;overflow:hidden} svg{display:block}`;
  page.head.append(style);
  page.body.append(drawing);
  document.title = page.title = name; // it names the file
  frame.contentWindow.print();
  setTimeout(() => { if (document.title === name) document.title = called; }, 1000);
}

function hand(blob, name) {
  const link = Object.assign(document.createElement("a"), { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000); // it may still be asked where to put the file
}
