// A picture of the page as a drawing that stands alone: SVG on white paper in dark ink, its title above, what it is of
// below. What style sheets and themes say is written into it; every text stays text.
const PAPER = { "--st-text-color": "#1b2530", "--st-background-color": "#ffffff", "--st-secondary-background-color": "#f3f5f8",
  "--st-primary-color": "#2f6fb0" }; // our light theme
const INK = PAPER["--st-text-color"], FONT = "Arial, Helvetica, 'Liberation Sans', 'Noto Sans', sans-serif";
// Properties, and what they are where nothing is said.
const OF_STROKES = { "stroke-width": "1px", "stroke-dasharray": "none", "stroke-linecap": "butt" };
const OF_TEXTS = { "font-size": "", "font-weight": "400", "font-style": "normal", "text-anchor": "start" };
const CONTROLS = ".detail, .draglayer, .zoomlayer, .hoverlayer, .pointed, g:empty";
const ASIDE = ".hl-tip, .hl-save"; // of a part of the page: what opens over it
const BASELINE = 0.79; // of the height of a line of letters
const EDGE = 24, NARROWEST = 480, MAX_LINES = 4; // pixels; lines of one fact
const CLOSING = /^[\p{Pe}\p{Pf}\p{Po}]+$/u; // signs that stand at the end of what is before them
const MAX_BLOCKS = 20_000; // of one colour in a picture of pixels; with more it stays one

/** An element of SVG with its text or its children. */
function shape(tag, attributes, content = []) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  Object.entries(attributes).forEach(([name, value]) => element.setAttribute(name, value));
  element.append(...[content].flat());
  return element;
}

/** What is on the page, an SVG, a chart of Plotly's or a part with boxes and words, as a drawing with a title, and with
 * facts such as ["Sentence", "…"]. */
async function standingAlone(picture, title, facts) {
  const layers = picture.localName === "svg" ? [picture] : [...picture.querySelectorAll(".main-svg")];
  if (!layers.length) return framed(...redrawn(picture), title, facts);
  const copies = layers.map(copied);
  await Promise.all(copies.flatMap((copy) => [...copy.querySelectorAll("image")]).map(sharpened));
  return framed(copies, sizeOf(layers[0], picture), title, facts);
}

function sizeOf(layer, picture) {
  if (layer.viewBox.baseVal?.width) return layer.viewBox.baseVal;
  if (layer.ownerDocument !== document) { // as wide as its frame, whatever is in it
    const { x, y, width, height } = layer.getBBox();
    return { width: x + width, height: y + height };
  }
  if (picture.localName === "svg") return { width: layer.width.baseVal.value, height: layer.height.baseVal.value }; // unzoomed
  const { width, height } = layer.getBoundingClientRect();
  return { width, height };
}

/** A copy of an SVG of the page in the colours of paper. */
function copied(svg) {
  const copy = svg.cloneNode(true);
  onPaper(svg, () => dress(copy, svg));
  return copy;
}

/** Do something while an element has the colours of paper; nobody sees it, the browser draws again after it. */
function onPaper(element, work) {
  Object.entries(PAPER).forEach(([name, value]) => element.style.setProperty(name, value));
  work();
  Object.keys(PAPER).forEach((name) => element.style.removeProperty(name));
}

/** Write into a copy how its original looks; what is not seen goes. */
function dress(copy, original) {
  const tag = copy.localName, style = getComputedStyle(original);
  if (tag === "defs") return;
  for (const node of copy.childNodes) if (node.nodeType === Node.TEXT_NODE) node.data = writable(node.data);
  if (original.matches(CONTROLS) || style.display === "none" || style.visibility === "hidden" || style.opacity === "0") return copy.remove();
  [...copy.children].map((child, i) => [child, original.children[i]]).forEach(([child, its]) => dress(child, its));
  for (const name of copy.getAttributeNames()) if (/^(style|class|tabindex|role|aria-|data-)/.test(name)) copy.removeAttribute(name);
  if (tag === "title") return;
  keep(copy, style, { opacity: "1" });
  if (tag === "image" || tag === "g" || tag === "svg") return;
  for (const name of ["fill", "stroke"]) paint(copy, name, style.getPropertyValue(name), Number(style.getPropertyValue(`${name}-opacity`)));
  if (copy.getAttribute("stroke") !== "none") keep(copy, style, OF_STROKES);
  if (tag !== "text" && tag !== "tspan") return;
  keep(copy, style, { ...OF_TEXTS });
  copy.setAttribute("font-family", FONT);
  // The words beside a chart's data, and those in a frame, have the ink of the theme, those among them one that fits what they stand on.
  if (original.ownerDocument !== document || (original.closest(".js-plotly-plot") && !original.closest(".mlayer"))) copy.setAttribute("fill", INK);
  const length = original.children.length || tag === "tspan" ? 0 : original.getComputedTextLength();
  // The page's own letters are not in the file, and others may be wider than the room that there is.
  if (length) Object.entries({ textLength: length.toFixed(1), lengthAdjust: "spacingAndGlyphs" }).forEach((pair) => copy.setAttribute(...pair));
}

/** The boxes, words, images and drawings of a part of the page, where the browser has put them, and their size. */
function redrawn(part) {
  const { left, top, height: high } = part.getBoundingClientRect(), found = [];
  const placed = ({ x, y, width, height }) => ({ x: x - left, y: y - top, width, height });
  let wide = 0;

  function words(node, style, edge) {
    for (const { 0: whole, index } of node.data.matchAll(/\S+/g)) {
      const range = document.createRange();
      range.setStart(node, index);
      range.setEnd(node, index + whole.length);
      const { x, y, width: all, height } = placed(range.getBoundingClientRect()), width = Math.min(all, edge - x);
      if (width <= 0) continue;
      const word = width < all ? `${whole.slice(0, Math.floor((whole.length * width) / all) - 1)}…` : whole;
      wide = Math.max(wide, x + width);
      const text = shape("text", { x, y: y + BASELINE * height, textLength: width, lengthAdjust: "spacingAndGlyphs", fill: INK }, writable(word));
      keep(text, style, OF_TEXTS);
      text.setAttribute("font-family", style.fontFamily.includes("mono") ? "monospace" : FONT);
      found.push(text);
    }
  }

  /** What is beyond the edge of a box that cuts its words is not seen. */
  function visit(element, beyond = Infinity) {
    const style = getComputedStyle(element), box = placed(element.getBoundingClientRect());
    if (element.matches(ASIDE) || style.display === "none" || style.visibility === "hidden") return;
    if (element.localName === "svg") return found.unshift(shape("g", { transform: `translate(${box.x} ${box.y})` }, copied(element)));
    if (element.localName === "img") return found.push(shape("image", { ...box, href: element.src, preserveAspectRatio: "none", style: `image-rendering: ${style.imageRendering}` }));
    const rect = shape("rect", { ...box, rx: parseFloat(style.borderRadius) || 0 });
    paint(rect, "fill", style.backgroundColor);
    paint(rect, "stroke", style.borderTopStyle === "none" ? "none" : style.borderTopColor);
    if (rect.getAttribute("fill") !== "none" || rect.getAttribute("stroke") !== "none") {
      found.push(rect);
      wide = Math.max(wide, box.x + box.width);
    }
    const edge = style.overflowX === "visible" ? beyond : Math.min(beyond, box.x + box.width);
    for (const node of element.childNodes) {
      if (node.nodeType === Node.TEXT_NODE) words(node, style, edge);
      else if (node.nodeType === Node.ELEMENT_NODE) visit(node, edge);
    }
  }

  onPaper(part, () => visit(part));
  return [found, { width: wide, height: high }];
}

function keep(copy, style, properties) {
  for (const [name, usual] of Object.entries(properties)) {
    const value = style.getPropertyValue(name);
    value === usual ? copy.removeAttribute(name) : copy.setAttribute(name, value);
  }
}

/** A fill or a stroke as every program reads it: a plain colour and an opacity. */
function paint(copy, name, value, share = 1) {
  copy.removeAttribute(`${name}-opacity`);
  if (!/^(rgb|color)/.test(value)) return copy.setAttribute(name, value.replaceAll('"', "")); // none, or a gradient
  const [red, green, blue, own = 1] = value.match(/\d[\d.]*(e-\d+)?/g).map(Number), whole = value.startsWith("color") ? 255 : 1;
  const opacity = own * share;
  const hex = [red, green, blue].map((one) => Math.round(one * whole).toString(16).padStart(2, "0")).join("");
  copy.setAttribute(name, opacity ? `#${hex}` : "none");
  if (opacity && opacity < 1) copy.setAttribute(`${name}-opacity`, opacity.toFixed(3));
}

/** A picture of pixels becomes blocks of one colour, which are sharp at any size. */
async function sharpened(image) {
  const { x, y, width, height, href } = image, source = new Image();
  source.src = href.baseVal;
  await source.decode();
  const canvas = new OffscreenCanvas(source.naturalWidth, source.naturalHeight), pen = canvas.getContext("2d");
  pen.drawImage(source, 0, 0);
  const found = blocks(pen.getImageData(0, 0, canvas.width, canvas.height));
  if (found.length > MAX_BLOCKS) return image.setAttribute("image-rendering", "pixelated");
  const across = width.baseVal.value / canvas.width, down = height.baseVal.value / canvas.height, outlines = new Map();
  for (const { colour, left, top, right, bottom } of found) {
    // A hair larger than it is: printers would show the paper between neighbours.
    const [w, h] = [(right - left) * across + 0.2, (bottom - top) * down + 0.2].map((one) => one.toFixed(2));
    const at = [x.baseVal.value + left * across, y.baseVal.value + top * down].map((one) => one.toFixed(2));
    outlines.set(colour, `${outlines.get(colour) ?? ""}M${at}h${w}v${h}h-${w}z`);
  }
  image.replaceWith(...[...outlines].map(([fill, d]) => shape("path", { fill, d, "shape-rendering": "crispEdges" })));
}

/** The blocks of one colour of which pixels consist: runs of a row, and as many rows down as have the same run. */
function blocks({ data, width, height }) {
  const words = new Uint32Array(data.buffer), found = [];
  let above = new Map();
  for (let y = 0; y < height; y++) {
    const here = new Map();
    for (let x = 0, end; x < width; x = end) {
      const at = y * width, word = words[at + x];
      for (end = x + 1; end < width && words[at + end] === word; ) end++;
      const [red, green, blue, opacity] = data.subarray(4 * (at + x), 4 * (at + x) + 4);
      if (!opacity) continue;
      const name = `${x},${end},${word}`, colour = `#${[red, green, blue].map((one) => one.toString(16).padStart(2, "0")).join("")}`;
      const block = above.get(name) ?? { colour, left: x, right: end, top: y };
      if (!above.has(name)) found.push(block);
      block.bottom = y + 1;
      here.set(name, block);
    }
    above = here;
  }
  return found;
}

/** Drawings, which lie upon one another, on a sheet with a title above them and facts below. */
function framed(drawings, { width, height }, title, facts) {
  const room = Math.ceil(Math.max(width, NARROWEST)), wide = room + 2 * EDGE;
  const words = [];
  let at = EDGE;
  const write = (text, size, weight) => {
    for (const line of wrapped(text, room, `${weight} ${size}px ${FONT}`)) {
      at += Math.round(1.35 * size);
      words.push(shape("text", { x: EDGE, y: at, "font-size": `${size}px`, "font-weight": weight, "font-family": FONT, fill: INK }, line));
    }
  };
  write(title, 20, 700);
  const top = (at += 14);
  at = top + Math.ceil(height) + 6;
  facts.forEach(([name, value]) => write(`${name}: ${value}`, 15, 400));
  const high = at + EDGE, says = facts.map((fact) => writable(fact.join(": "))).join("\n");
  const place = shape("g", { transform: `translate(${EDGE + (room - width) / 2} ${top})` }, drawings);
  const paper = shape("rect", { width: wide, height: high, fill: "#ffffff" });
  const sheet = { xmlns: "http://www.w3.org/2000/svg", width: wide, height: high, viewBox: `0 0 ${wide} ${high}`, role: "img" };
  return shape("svg", sheet, [shape("title", {}, writable(title)), shape("desc", {}, says), paper, ...words, place]);
}

/** A text in lines of so many pixels; what is beyond `MAX_LINES` is left out, and that is shown. */
function wrapped(text, room, font) {
  const pen = new OffscreenCanvas(1, 1).getContext("2d");
  pen.font = font;
  const fits = (line) => pen.measureText(line).width <= room, lines = [""];
  const words = [];
  for (const { segment } of new Intl.Segmenter("en", { granularity: "word" }).segment(writable(text).replace(/\s+/g, " "))) {
    if (words.length && CLOSING.test(segment)) words[words.length - 1] += segment; // begins no line
    else words.push(segment);
  }
  for (const segment of words) {
    for (const piece of fits(segment) ? [segment] : segment) { // of a word that is wider than the sheet, letter by letter
      if (fits(lines.at(-1) + piece)) lines[lines.length - 1] += piece;
      else lines.push(piece.trimStart());
    }
    if (lines.length > MAX_LINES) return [...lines.slice(0, MAX_LINES - 1), lines[MAX_LINES - 1].replace(/.{0,2}$/u, "…")];
  }
  return lines;
}

/** A text without the signs that a file of XML cannot hold. */
function writable(text) {
  return text.replace(/[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu, "\ufffd");
}
