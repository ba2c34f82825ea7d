// Drawing by description. A component describes its elements, and `draw` changes only what differs. An element that
// stays keeps the focus, a finger on a slider and its scroll position. Every text is set as text, never as markup.

/**
 * An element as it should be.
 * @typedef {object} Described
 * @property {string} tag
 * @property {Record<string, any>} attributes Names that begin with "on" are event handlers; false leaves one out.
 * @property {string | Described[] | undefined} content The text, the children, or undefined if other code draws there.
 */

const SVG_TAGS = new Set(["svg", "g", "path", "line", "rect", "text", "title", "image"]);
const SVG_NAMESPACE = "http://www.w3.org/2000/svg";
/** @type {WeakMap<Element, Pick<Described, "attributes" | "content">>} */
const drawn = new WeakMap(); // element → its latest description

/**
 * Describe an element. A drawing has a view box, so that it can be printed smaller than it is.
 * @param {string} tag
 * @param {Record<string, any>} [attributes]
 * @param {string | Described[]} [content]
 * @returns {Described}
 */
export function el(tag, attributes = {}, content = undefined) {
  const { width, height } = attributes, isDrawing = tag === "svg" && width && height;
  return { tag, attributes: isDrawing ? { viewBox: `0 0 ${width} ${height}`, ...attributes } : attributes, content };
}

/**
 * Make the children of an element match their descriptions, in this order.
 * @param {Element} parent
 * @param {Described[]} described
 */
export function draw(parent, described) {
  const present = [...parent.children];
  described.forEach(({ tag, attributes, content }, i) => {
    const kept = present[i]?.localName === tag && partOf(drawn.get(present[i])) === partOf({ attributes })
      ? present[i]
      : null;
    const element = kept ?? (
      SVG_TAGS.has(tag) ? document.createElementNS(SVG_NAMESPACE, tag) : document.createElement(tag)
    );
    change(element, attributes, content);
    if (kept) return;
    if (present[i]) present[i].replaceWith(element);
    else parent.append(element);
  });
  for (const element of present.slice(described.length)) element.remove();
}

/**
 * The name of the place where other code draws. A place is kept only for the same part: nothing of another one may stay
 * there.
 */
const partOf = (described) => described?.attributes["data-part"];

function change(element, attributes, content) {
  const before = drawn.get(element) ?? { attributes: {}, content: undefined };
  for (const name of new Set([...Object.keys(before.attributes), ...Object.keys(attributes)])) {
    const value = attributes[name] ?? false;
    if (name === "value") {
      if (element.value !== String(value)) element.value = value; // the visitor may have moved the slider
    } else if (before.attributes[name] === value) continue;
    else if (name.startsWith("on")) element[name] = value || null;
    else if (value === false) element.removeAttribute(name);
    else element.setAttribute(name, value === true ? "" : value);
  }
  drawn.set(element, { attributes, content });
  if (Array.isArray(content)) {
    if (typeof before.content === "string") element.textContent = "";
    draw(element, content);
  } else if (content !== undefined && content !== before.content) element.textContent = content;
}

/**
 * The first element that a selector finds. Code that has drawn an element uses this to find it again.
 * @param {ParentNode} parent
 * @param {string} selector
 * @returns {any}
 */
export function find(parent, selector) {
  return parent.querySelector(selector);
}

/**
 * Rows of buttons with a name before each row; the buttons wrap if the row is too narrow.
 * @param {[string, Described[]][]} rows
 * @returns {Described}
 */
export function buttonRows(rows) {
  return el("div", { class: "board" }, rows.flatMap(([name, buttons]) => [
    el("span", { class: "name" }, name), el("div", { class: "switches" }, buttons),
  ]));
}
