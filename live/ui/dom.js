// Drawing by description. A component describes its elements, and `draw` changes only what differs. An element that
// stays keeps the focus, a finger on a slider and its scroll position. Every text is set as text, never as markup.

const SVG_TAGS = new Set(["svg", "g", "path", "line", "rect", "text", "title", "image"]);
const SVG_NAMESPACE = "http://www.w3.org/2000/svg";
/** @type {WeakMap<Element, Pick<Described, "attributes" | "content">>} */
const drawn = new WeakMap(); // element → its latest description

/**
 * Describe an element. A drawing has a view box, so that it can be printed smaller than it is.
 * @param {string} tag @param {Record<string, any>} [attributes] @param {string | Described[]} [content]
 * @returns {Described}
 */
export function el(tag, attributes = {}, content = undefined) {
  const { width, height } = attributes, isDrawing = tag === "svg" && width && height;
  return { tag, attributes: isDrawing ? { viewBox: `0 0 ${width} ${height}`, ...attributes } : attributes, content };
}

/**
 * A list to choose from.
 * @param {Option[]} options @param {string} chosen @param {(value: string) => void} choose
 * @param {Record<string, any>} [attributes]
 */
export function select(options, chosen, choose, attributes = {}) {
  return el("select", { ...attributes, value: chosen, onchange: ({ target }) => choose(target.value) }, options.map(
    (option) => {
      const [value, name = value] = [option].flat();
      return el("option", { value }, name);
    }
  ));
}

/**
 * A table that scrolls.
 * @param {string} label @param {string[]} head @param {(string | Described)[][]} rows Each begins with its heading.
 */
export function tableOf(label, head, rows) {
  return el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": label }, [
    el("table", { style: `--columns:${head.length}` }, [
      el("thead", {}, [el("tr", {}, head.map((text) => el("th", { scope: "col" }, text)))]),
      el("tbody", {}, rows.map(([name, ...cells]) => el("tr", {}, [
        el("th", { scope: "row" }, String(name)),
        ...cells.map((cell) => (typeof cell === "string" ? el("td", {}, cell) : cell)),
      ]))),
    ]),
  ]);
}

/** The attributes of a drawing that is a button. @param {() => void} press */
export function pressable(press) {
  const onkeydown = (event) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault(); // the key must not scroll
    press();
  };
  return { role: "button", onclick: press, onkeydown };
}

/**
 * Make the children of an element match their descriptions, in this order.
 * @param {Element} parent @param {Described[]} described
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
    if (before.attributes[name] === value || (name === "value" && value !== false)) continue;
    if (name.startsWith("on")) element[name] = value || null;
    else if (value === false) element.removeAttribute(name);
    else element.setAttribute(name, value === true ? "" : value);
  }
  drawn.set(element, { attributes, content });
  if (Array.isArray(content)) {
    if (typeof before.content === "string") element.textContent = "";
    draw(element, content);
  } else if (content !== undefined && content !== before.content) element.textContent = content;
  // A list needs its options before its value, and a slider its range. The visitor may have chosen another value.
  if ("value" in attributes && element.value !== String(attributes.value)) element.value = attributes.value;
}

/**
 * The first element that a selector finds. Code that has drawn an element uses this to find it again.
 * @param {ParentNode} parent @param {string} selector @returns {any}
 */
export function find(parent, selector) {
  return parent.querySelector(selector);
}

/**
 * Rows of buttons with a name before each row; the buttons wrap if the row is too narrow.
 * @param {[string, Described[]][]} rows @returns {Described}
 */
export function buttonRows(rows) {
  return el("div", { class: "board" }, rows.flatMap(([name, buttons]) => [
    el("span", { class: "name" }, name), el("div", { class: "switches" }, buttons),
  ]));
}

// What a screen reader reads aloud. A page has one place for it, so that announcements do not interrupt each other.

const HIDDEN = "position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%);white-space:nowrap";

/** The element that a screen reader reads aloud when it changes. It cannot be seen. @returns {HTMLElement} */
export function announcer() {
  const present = document.querySelector("[data-announcer]");
  if (present instanceof HTMLElement) return present;
  const place = document.createElement("div");
  place.dataset.announcer = "";
  place.setAttribute("role", "status"); // a polite live region
  place.style.cssText = HIDDEN;
  document.body.append(place);
  return place;
}

/**
 * Let a screen reader read a sentence aloud, and after it a text in its own language.
 * @param {string} sentence @param {string} [text] @param {string} [lang]
 */
export function announce(sentence, text = "", lang = "") {
  draw(announcer(), [el("span", {}, sentence), el("bdi", { lang: lang || false }, text && ` ${text}`)]);
}

// Many buttons that are one stop of the Tab key.

/** Arrow key → the direction, to the right and down. @type {Record<string, [number, number]>} */
export const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

/**
 * Of these rectangles, the nearest one in a direction; -1 if there is none.
 * @param {{ x: number, y: number, width: number, height: number }} from
 * @param {[number, number]} direction To the right and down.
 * @param {{ x: number, y: number, width: number, height: number }[]} others
 */
export function nearestIn(from, [right, down], others) {
  const middle = ({ x, y, width, height }) => [x + width / 2, y + height / 2];
  const [x, y] = middle(from);
  let nearest = -1, shortest = Number.POSITIVE_INFINITY;
  others.forEach((other, i) => {
    const [dx, dy] = [middle(other)[0] - x, middle(other)[1] - y], along = dx * right + dy * down;
    const distance = along > 1 ? along + 4 * Math.abs(dx * down + dy * right) : Number.POSITIVE_INFINITY;
    if (distance < shortest) [nearest, shortest] = [i, distance];
  });
  return nearest;
}

/**
 * Make all elements that match a selector one tab stop: arrow keys move to the nearest one in their direction, Home and
 * End to the first and the last. Call it after each drawing.
 * @param {any} root @param {string} selector
 */
export function singleTabStop(root, selector) {
  const all = () => [...root.querySelectorAll(selector)];
  const makeStop = (one) => { for (const other of all()) other.tabIndex = other === one ? 0 : -1; };
  const stops = all().filter((one) => one.tabIndex === 0);
  if (stops.length !== 1) makeStop(all().find((one) => one === root.getRootNode().activeElement) ?? all()[0]);
  if (root.dataset.tabStop) return;
  root.dataset.tabStop = "single";
  root.addEventListener("focusin", ({ target }) => { if (target.matches(selector)) makeStop(target); });
  root.onkeydown = (event) => {
    const from = event.target.closest?.(selector), direction = ARROWS[event.key];
    if (!from || (!direction && event.key !== "Home" && event.key !== "End")) return;
    event.preventDefault();
    event.stopPropagation();
    if (!direction) return all().at(event.key === "Home" ? 0 : -1).focus();
    const elements = all();
    elements[nearestIn(
      from.getBoundingClientRect(), direction, elements.map((one) => one.getBoundingClientRect())
    )]?.focus();
  };
}
