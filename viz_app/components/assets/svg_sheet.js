// The sheet of a saved picture: its title, the picture, and facts about it below.
import { fontsFor } from "./fonts.js";
import { isolated } from "./format.js";
import { say } from "./words.js";

export const INK = "#1b2530"; // the text of our light theme
const EDGE = 24, NARROWEST = 480, MAX_LINES = 4; // pixels; lines of one fact
const CLOSING = /^[\p{Pe}\p{Pf}\p{Po}]+$/u; // characters that must not begin a line
const UNWRITABLE = /[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu; // characters that XML cannot hold

/**
 * An element of SVG with its text or its children.
 * @param {string} tag
 * @param {Record<string, any>} attributes
 * @param {any} [content]
 * @returns {SVGElement}
 */
export function shape(tag, attributes, content = []) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...[content].flat());
  return /** @type {SVGElement} */ (element);
}

/** Drawings, one upon another, on a sheet with a title above them and facts below. */
export function sheet(drawings, { width, height }, title, facts) {
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
 * @param {string} text
 * @param {number} width
 * @param {(text: string) => number} widthOf
 * @returns {string[]}
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

/**
 * A text without the characters that an XML file cannot hold.
 * @param {string} text
 */
export function writable(text) {
  return text.replace(UNWRITABLE, "\ufffd");
}
