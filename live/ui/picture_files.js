// Writes a picture of the page into a file. A published page loads this code with the first picture that is saved.
import { PLOTLY } from "../streamlit/bridge.js";
import { blocksOf, hex } from "./numbers.js";
import { isolated, say } from "./words.js";

// of a PNG: pixels for one of the screen, and what a browser can draw
const SCALE = 3, MAX_SIDE = 8192, MAX_PIXELS = 16e6;
const KEPT = 60_000; // milliseconds: the browser may still ask where to put the file

/**
 * Save a picture with its title and facts about it.
 * @param {Element} picture @param {"SVG" | "PNG" | "PDF"} format @param {string} name Of the file, without its ending.
 * @param {string} title @param {[string, string][]} facts
 */
export async function savePicture(picture, format, name, title, facts) {
  await FORMATS[format](await standaloneSvg(picture, title, facts), name);
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
    const canvas = new OffscreenCanvas(Math.round(width * scale), Math.round(height * scale));
    canvas.getContext("2d")?.drawImage(image, 0, 0, canvas.width, canvas.height);
    download(await canvas.convertToBlob(), `${name}.png`);
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

// A picture of the page as an SVG file that needs nothing else: dark ink on white paper, its title above, facts about
// it below. The styles of style sheets and themes are written into it. Every text stays text.

const PAPER = { "--st-text-color": "#1b2530", "--st-background-color": "#ffffff",
  "--st-secondary-background-color": "#f3f5f8",
  "--st-primary-color": "#2f6fb0" }; // our light theme
// Properties with their initial values, which need not be written.
const STROKE_PROPERTIES = { "stroke-width": "1px", "stroke-dasharray": "none", "stroke-linecap": "butt" };
const TEXT_PROPERTIES = { "font-size": "", "font-weight": "400", "font-style": "normal", "text-anchor": "start" };
const CONTROLS = [".detail", PLOTLY.dragLayer, PLOTLY.zoomLayer, PLOTLY.hoverLayer, ".pointed", "g:empty"].join(", ");
const OVERLAYS = ".hl-tip, .hl-save"; // they open over a part of the page
const BASELINE = 0.79; // of the height of a line of text
const MAX_BLOCKS = 20_000; // a picture of pixels with more blocks stays a picture of pixels

/**
 * The SVG of a picture on the page.
 * @param {any} picture An SVG, a Plotly chart, or a part of the page with boxes and words.
 * @param {string} title
 * @param {[string, string][]} facts Such as ["Sentence", "A dog runs."].
 * @returns {Promise<SVGElement>}
 */
async function standaloneSvg(picture, title, facts) {
  const layers = picture.localName === "svg" ? [picture] : [...picture.querySelectorAll(PLOTLY.drawing)];
  if (!layers.length) {
    const [shapes, size] = redrawn(picture);
    return sheetOf(shapes, size, title, facts);
  }
  const copies = layers.map(copied);
  await Promise.all(copies.flatMap((copy) => [...copy.querySelectorAll("image")]).map(sharpened));
  return sheetOf(copies, sizeOfPicture(layers[0], picture), title, facts);
}

function sizeOfPicture(layer, picture) {
  if (layer.viewBox.baseVal?.width) return layer.viewBox.baseVal;
  if (layer.ownerDocument !== document) { // in a frame, an SVG is as wide as the frame and not as its content
    const { x, y, width, height } = layer.getBBox();
    return { width: x + width, height: y + height };
  }
  // not enlarged
  if (picture.localName === "svg") return { width: layer.width.baseVal.value, height: layer.height.baseVal.value };
  const { width, height } = layer.getBoundingClientRect();
  return { width, height };
}

/** A copy of an SVG in the colours of paper. */
function copied(svg) {
  const copy = svg.cloneNode(true);
  onPaper(svg, () => writeStyles(copy, svg));
  return copy;
}

/** Do something while an element has the colours of paper. The browser draws only after it, so that nobody sees it. */
function onPaper(element, work) {
  for (const [name, value] of Object.entries(PAPER)) element.style.setProperty(name, value);
  work();
  for (const name of Object.keys(PAPER)) element.style.removeProperty(name);
}

/** Write the computed styles of an original into its copy, and remove what cannot be seen. */
function writeStyles(copy, original) {
  const tag = copy.localName, style = getComputedStyle(original);
  if (tag === "defs") return;
  for (const node of copy.childNodes) if (node.nodeType === Node.TEXT_NODE) node.data = writable(node.data);
  const invisible = style.display === "none" || style.visibility === "hidden" || style.opacity === "0";
  if (invisible || original.matches(CONTROLS)) {
    copy.remove();
    return;
  }
  const pairs = [...copy.children].map((child, i) => [child, original.children[i]]);
  for (const [child, its] of pairs) writeStyles(child, its);
  for (const name of copy.getAttributeNames())
    if (/^(style|class|tabindex|role|aria-|data-)/.test(name)) copy.removeAttribute(name);
  if (tag === "title") return;
  writeProperties(copy, style, { opacity: "1" });
  if (tag === "image" || tag === "g" || tag === "svg") return;
  for (const name of ["fill", "stroke"])
    writeColour(copy, name, style.getPropertyValue(name), Number(style.getPropertyValue(`${name}-opacity`)));
  if (copy.getAttribute("stroke") !== "none") writeProperties(copy, style, STROKE_PROPERTIES);
  if (tag === "text" || tag === "tspan") writeFont(copy, original, style);
}

function writeFont(copy, original, style) {
  writeProperties(copy, style, { ...TEXT_PROPERTIES });
  copy.setAttribute("font-family", fontsFor(languageOf(original)));
  // Texts beside the data of a chart, and those in a frame, have the ink of the theme. Texts on the data have an ink
  // that contrasts with what is below them.
  const besideData = original.closest(PLOTLY.chart) && !original.closest(PLOTLY.data);
  if (original.ownerDocument !== document || besideData) copy.setAttribute("fill", INK);
  // The fonts of the page are not in the file, and other fonts may be wider.
  const length = original.children.length || copy.localName === "tspan" ? 0 : original.getComputedTextLength();
  if (!length) return;
  copy.setAttribute("textLength", length.toFixed(1));
  copy.setAttribute("lengthAdjust", "spacingAndGlyphs");
}

/** The boxes, words, images and drawings of a part of the page, where the browser has put them, and their size. */
function redrawn(part) {
  const { left, top, height: high } = part.getBoundingClientRect(), shapes = [];
  const placed = ({ x, y, width, height }) => ({ x: x - left, y: y - top, width, height });
  let wide = 0;

  function addWords(node, style, edge) {
    for (const [whole, range] of linesOf(node)) {
      const { x, y, width: all, height } = placed(range.getBoundingClientRect()), width = Math.min(all, edge - x);
      if (width <= 0) continue;
      const word = width < all ? `${whole.slice(0, Math.floor((whole.length * width) / all) - 1)}…` : whole;
      wide = Math.max(wide, x + width);
      const text = shape(
        "text", { x, y: y + BASELINE * height, textLength: width, lengthAdjust: "spacingAndGlyphs", fill: INK },
        writable(word),
      );
      writeProperties(text, style, TEXT_PROPERTIES);
      text.setAttribute(
        "font-family", style.fontFamily.includes("mono") ? "monospace" : fontsFor(languageOf(node.parentElement))
      );
      shapes.push(text);
    }
  }

  function addBox(box, style) {
    const rect = shape("rect", { ...box, rx: Number.parseFloat(style.borderRadius) || 0 });
    writeColour(rect, "fill", style.backgroundColor);
    writeColour(rect, "stroke", style.borderTopStyle === "none" ? "none" : style.borderTopColor);
    if (rect.getAttribute("fill") === "none" && rect.getAttribute("stroke") === "none") return;
    shapes.push(rect);
    wide = Math.max(wide, box.x + box.width);
  }

  /** `edge` is the right end of a box around the element that cuts off its words. */
  function visit(element, edge = Number.POSITIVE_INFINITY) {
    const style = getComputedStyle(element), box = placed(element.getBoundingClientRect());
    if (element.matches(OVERLAYS) || style.display === "none" || style.visibility === "hidden") return;
    if (element.localName === "svg") {
      shapes.unshift(shape("g", { transform: `translate(${box.x} ${box.y})` }, copied(element)));
      return;
    }
    if (element.localName === "img") {
      shapes.push(shape(
        "image",
        { ...box, href: element.src, preserveAspectRatio: "none", style: `image-rendering: ${style.imageRendering}` }
      ));
      return;
    }
    addBox(box, style);
    const cut = style.overflowX === "visible" ? edge : Math.min(edge, box.x + box.width);
    for (const node of element.childNodes) {
      if (node.nodeType === Node.TEXT_NODE) addWords(node, style, cut);
      else if (node.nodeType === Node.ELEMENT_NODE) visit(node, cut);
    }
  }

  onPaper(part, () => visit(part));
  return /** @type {const} */ ([shapes, { width: wide, height: high }]);
}

/**
 * The parts of a text that are each on one line: its words, and a word without spaces, such as a Chinese sentence, in
 * several parts where the browser has broken it.
 * @param {Text} node @returns {[string, Range][]}
 */
function linesOf(node) {
  return [...node.data.matchAll(/\S+/g)].flatMap(({ 0: word, index }) => {
    const whole = rangeOf(node, index, index + word.length);
    if (whole.getClientRects().length < 2) return [[word, whole]];
    /** @type {[string, Range][]} */
    const parts = [];
    let at = index;
    for (const character of word) {
      const one = rangeOf(node, at, at + character.length), last = parts.at(-1);
      at += character.length;
      if (last && Math.abs(last[1].getBoundingClientRect().top - one.getBoundingClientRect().top) < 1) {
        last[0] += character;
        last[1].setEnd(node, at);
      } else parts.push([character, one]);
    }
    return parts;
  });
}

function rangeOf(node, start, end) {
  const range = document.createRange();
  range.setStart(node, start);
  range.setEnd(node, end);
  return range;
}

function writeProperties(copy, style, properties) {
  for (const [name, initial] of Object.entries(properties)) {
    const value = style.getPropertyValue(name);
    if (value === initial) copy.removeAttribute(name);
    else copy.setAttribute(name, value);
  }
}

/**
 * The channels and the opacity of a CSS colour; null for "none" and for gradients.
 * @param {string} value Such as "rgb(47, 111, 176)" or "color(srgb 0.2 0.4 0.7 / 0.5)".
 * @returns {{ colour: string, opacity: number } | null}
 */
export function parsedColour(value) {
  if (!/^(rgb|color)/.test(value)) return null;
  const [red, green, blue, opacity = 1] = (value.match(/\d[\d.]*(e-\d+)?/g) ?? []).map(Number);
  const whole = value.startsWith("color") ? 255 : 1;
  return { colour: hex([red * whole, green * whole, blue * whole]), opacity };
}

/** Write a fill or a stroke as all programs read it: a plain colour and an opacity. */
function writeColour(copy, name, value, share = 1) {
  copy.removeAttribute(`${name}-opacity`);
  const parsed = parsedColour(value);
  if (!parsed) {
    copy.setAttribute(name, value.replaceAll('"', ""));
    return;
  }
  const opacity = parsed.opacity * share;
  copy.setAttribute(name, opacity ? parsed.colour : "none");
  if (opacity && opacity < 1) copy.setAttribute(`${name}-opacity`, opacity.toFixed(3));
}

/** Replace a picture of pixels by blocks of one colour. */
async function sharpened(image) {
  const { x, y, width, height, href } = image, source = new Image();
  source.src = href.baseVal;
  await source.decode();
  const canvas = new OffscreenCanvas(source.naturalWidth, source.naturalHeight);
  const pen = /** @type {OffscreenCanvasRenderingContext2D} */ (canvas.getContext("2d"));
  pen.drawImage(source, 0, 0);
  const blocks = blocksOf(pen.getImageData(0, 0, canvas.width, canvas.height));
  if (blocks.length > MAX_BLOCKS) {
    image.setAttribute("image-rendering", "pixelated");
    return;
  }
  const across = width.baseVal.value / canvas.width, down = height.baseVal.value / canvas.height, outlines = new Map();
  for (const { colour, left, top, right, bottom } of blocks) {
    // Slightly larger: printers would show the paper between neighbours.
    const [w, h] = [(right - left) * across + 0.2, (bottom - top) * down + 0.2].map((one) => one.toFixed(2));
    const at = [x.baseVal.value + left * across, y.baseVal.value + top * down].map((one) => one.toFixed(2));
    outlines.set(colour, `${outlines.get(colour) ?? ""}M${at}h${w}v${h}h-${w}z`);
  }
  image.replaceWith(...[...outlines].map(([fill, d]) => shape("path", { fill, d, "shape-rendering": "crispEdges" })));
}

// The sheet of a saved picture: its title, the picture, and facts about it below.

const INK = "#1b2530"; // the text of our light theme
const EDGE = 24, NARROWEST = 480, MAX_LINES = 4; // pixels; lines of one fact
const CLOSING = /^[\p{Pe}\p{Pf}\p{Po}]+$/u; // characters that must not begin a line
const UNWRITABLE = /[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu; // characters that XML cannot hold

/**
 * An element of SVG with its text or its children.
 * @param {string} tag @param {Record<string, any>} attributes @param {any} [content] @returns {SVGElement}
 */
function shape(tag, attributes, content = []) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...[content].flat());
  return /** @type {SVGElement} */ (element);
}

/** Drawings, one upon another, on a sheet with a title above them and facts below. */
function sheetOf(drawings, { width, height }, title, facts) {
  const inner = Math.ceil(Math.max(width, NARROWEST)), wide = inner + 2 * EDGE;
  /** @type {SVGElement[]} */
  const words = [], lang = document.documentElement.lang, fonts = fontsFor(lang);
  let at = EDGE;
  const write = (text, size, weight) => {
    for (const line of wrapped(text, inner, measuredIn(`${weight} ${size}px ${fonts}`))) {
      at += Math.round(1.35 * size);
      words.push(shape(
        "text", { x: EDGE, y: at, "font-size": `${size}px`, "font-weight": weight, "font-family": fonts, fill: INK },
        line
      ));
    }
  };
  write(title, 20, 700);
  const top = at + 14;
  at = top + Math.ceil(height) + 6;
  for (const [name, value] of facts) write(say("{name}: {value}", { name, value: isolated(value) }), 15, 400);
  const high = at + EDGE, description = facts.map((fact) => writable(fact.join(": "))).join("\n");
  const place = shape("g", { transform: `translate(${EDGE + (inner - width) / 2} ${top})` }, drawings);
  const paper = shape("rect", { width: wide, height: high, fill: "#ffffff" });
  const attributes = {
    xmlns: "http://www.w3.org/2000/svg", width: wide, height: high, viewBox: `0 0 ${wide} ${high}`, role: "img", lang,
    "xml:lang": lang,
  };
  return shape("svg", attributes, [
    shape("title", {}, writable(title)), shape("desc", {}, description), paper, ...words, place,
  ]);
}

/** The function that gives the width of a text in a font, in pixels. */
function measuredIn(font) {
  const pen = /** @type {OffscreenCanvasRenderingContext2D} */ (new OffscreenCanvas(1, 1).getContext("2d"));
  pen.font = font;
  return (text) => pen.measureText(text).width;
}

/**
 * A text in lines of a width. After `MAX_LINES` lines an ellipsis shows that the rest is left out.
 * @param {string} text @param {number} width @param {(text: string) => number} widthOf @returns {string[]}
 */
export function wrapped(text, width, widthOf) {
  const fits = (line) => widthOf(line) <= width, lines = [""], words = [];
  for (const { segment } of new Intl.Segmenter("en",
    { granularity: "word" }).segment(writable(text).replace(/\s+/g, " "))) {
    if (words.length && CLOSING.test(segment)) words[words.length - 1] += segment;
    else words.push(segment);
  }
  for (const word of words) {
    for (const part of fits(word) ? [word] : word) { // a word that is wider than the sheet breaks between letters
      if (fits(lines.at(-1) + part)) lines[lines.length - 1] += part;
      else lines.push(part.trimStart());
    }
    if (lines.length > MAX_LINES)
      return [...lines.slice(0, MAX_LINES - 1), lines[MAX_LINES - 1].replace(/.{0,2}$/u, "…")];
  }
  return lines;
}

/** A text without the characters that an XML file cannot hold. @param {string} text */
function writable(text) {
  return text.replace(UNWRITABLE, "\ufffd");
}

// The fonts of a saved picture. Its file contains none, so it names fonts that a computer has.

const LATIN = "Arial, Helvetica, 'Liberation Sans', 'Noto Sans', 'DejaVu Sans'";
/** Fonts of the East, of Linux, Windows and macOS. Each language has its own forms of the same characters. */
const EASTERN = {
  zh: "'Noto Sans CJK SC', 'Noto Sans SC', 'Microsoft YaHei', 'PingFang SC'",
  ko: "'Noto Sans CJK KR', 'Noto Sans KR', 'Malgun Gothic', 'Apple SD Gothic Neo'",
  ja: "'Noto Sans CJK JP', 'Noto Sans JP', 'Yu Gothic', 'Hiragino Sans'",
};

/**
 * The fonts for a text, for the attribute `font-family`: first Latin ones, then those of its language.
 * @param {string} lang A language tag, or "".
 */
export function fontsFor(lang) {
  const own = lang.slice(0, 2);
  const order = Object.entries(EASTERN).sort(([one], [other]) => Number(other === own) - Number(one === own));
  return [LATIN, ...order.map(([, fonts]) => fonts), "sans-serif"].join(", ");
}

/** The language of an element, or of the page. @param {Element | null} element */
function languageOf(element) {
  const marked = element?.closest("[lang]");
  return marked?.getAttribute("lang") || document.documentElement.lang;
}
