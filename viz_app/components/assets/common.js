// What the components share. A component is built once and then told its newest data: it describes what should be
// there, and `draw` changes what differs. What is there already stays, and with it the focus, a finger on a slider and
// the place that one has scrolled to. Every text goes in as text, never as markup.
const views = new WeakMap();
const given = new WeakMap(); // of an element: the attributes and the content that it was described with
const SVG = new Set(["svg", "g", "path", "line", "rect", "text", "title"]);

/** The component at a place in the page: built by `build(root)` at first, drawn again where it gets more or less room. */
function mounted(parent, build) {
  if (!views.has(parent)) {
    const root = parent.querySelector(".root"), view = build(root);
    let width = root.clientWidth;
    const watcher = new ResizeObserver(() => {
      if (root.clientWidth !== width) view.redraw();
      width = root.clientWidth;
    });
    watcher.observe(root);
    const close = () => {
      watcher.disconnect();
      view.stop?.();
      views.delete(parent);
    };
    parent.querySelector(".hl-save")?.remove();
    if (view.picture) root.after(saver(view.picture));
    views.set(parent, { update: view.update, close });
  }
  return views.get(parent);
}

/** How wide a picture can be drawn in an element, in its own pixels: `present.css` shows each as several of the screen. */
function room(element) {
  return element.clientWidth / (Number(getComputedStyle(element).getPropertyValue("--hl-zoom")) || 1);
}

/** A small menu beside a picture, to save it: `save.js` does what it asks for. `picture()` is what there is to save. */
function saver(picture) {
  const menu = document.createElement("details"), label = "Save picture";
  const close = () => {
    menu.open = false;
    menu.firstChild.focus();
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
    event.preventDefault(); // it ends nothing else
    close();
  };
  draw(menu, [
    el("summary", { title: label, "aria-label": label }, [el("svg", { viewBox: "0 0 16 16", "aria-hidden": "true" }, [arrow])]),
    el("div", {}, [el("span", {}, `${label}:`), ...["PNG", "SVG", "PDF"].map(choice)]),
  ]);
  return menu;
}

/** An element as it should be: `content` is its text, or the elements in it, or undefined for what others draw there. */
function el(tag, attributes = {}, content = undefined) {
  return { tag, attributes, content };
}

/** Make the children of an element what is described, in its order. */
function draw(parent, described) {
  const there = [...parent.children];
  described.forEach(({ tag, attributes, content }, i) => {
    const kept = there[i]?.localName === tag ? there[i] : null;
    const element = kept ?? (SVG.has(tag) ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag));
    change(element, attributes, content);
    if (!kept) there[i] ? there[i].replaceWith(element) : parent.append(element);
  });
  there.slice(described.length).forEach((element) => element.remove());
}

function change(element, attributes, content) {
  const before = given.get(element) ?? { attributes: {}, content: undefined };
  for (const name of new Set([...Object.keys(before.attributes), ...Object.keys(attributes)])) {
    const value = attributes[name] ?? false;
    if (name === "value") {
      if (element.value !== String(value)) element.value = value; // a person may have moved it
    } else if (before.attributes[name] === value) continue;
    else if (name.startsWith("on")) element[name] = value || null;
    else if (value === false) element.removeAttribute(name);
    else element.setAttribute(name, value === true ? "" : value);
  }
  given.set(element, { attributes, content });
  if (Array.isArray(content)) {
    if (typeof before.content === "string") element.textContent = "";
    draw(element, content);
  } else if (content !== undefined && content !== before.content) element.textContent = content;
}

/** Little-endian float32 numbers from base64. */
function floats(base64) {
  const bytes = Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
  return new Float32Array(bytes.buffer);
}

function shortened(text, limit) {
  const visible = text.replaceAll("\n", "↵").replaceAll("\t", "⇥");
  const signs = [...visible];
  return signs.length > limit ? signs.slice(0, limit - 1).join("") + "…" : visible;
}

/** The colour of a share from 0 to 1, between the evenly spaced stops of a scale such as ["#440154", …]. */
function between(stops, share) {
  const at = Math.min(Math.max(share, 0), 1) * (stops.length - 1);
  const low = Math.min(Math.floor(at), stops.length - 2), rest = at - low;
  const channel = (hex, i) => parseInt(hex.slice(1 + 2 * i, 3 + 2 * i), 16);
  const mixed = [0, 1, 2].map((i) => Math.round(channel(stops[low], i) * (1 - rest) + channel(stops[low + 1], i) * rest));
  return `rgb(${mixed})`;
}

/** Rows of switches: the name of each row, and its buttons, which may stand in several lines where there is little room. */
function switchboard(rows) {
  return el("div", { class: "board" }, rows.flatMap(([name, buttons]) => [
    el("span", { class: "name" }, name), el("div", { class: "switches" }, buttons),
  ]));
}

const AHEAD = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

/** Many things that can be pressed are one tab stop: arrow keys go to the nearest in their direction, Home and End to
 * the first and the last. To be called after each drawing. */
function oneTabStop(root, selector) {
  const all = () => [...root.querySelectorAll(selector)];
  const stop = (one) => all().forEach((other) => { other.tabIndex = other === one ? 0 : -1; });
  const current = all().filter((one) => one.tabIndex === 0);
  if (current.length !== 1) stop(all().find((one) => one === root.getRootNode().activeElement) ?? all()[0]);
  if (root.dataset.stops) return;
  root.dataset.stops = "one";
  root.addEventListener("focusin", ({ target }) => target.matches(selector) && stop(target));
  root.onkeydown = (event) => {
    const from = event.target.closest?.(selector), ahead = AHEAD[event.key];
    if (!from || (!ahead && event.key !== "Home" && event.key !== "End")) return;
    event.preventDefault();
    event.stopPropagation();
    if (!ahead) return all().at(event.key === "Home" ? 0 : -1).focus();
    const middle = (one) => { const { x, y, width, height } = one.getBoundingClientRect(); return [x + width / 2, y + height / 2]; };
    const [x, y] = middle(from), [right, down] = ahead;
    const far = all().map((one) => {
      const [dx, dy] = [middle(one)[0] - x, middle(one)[1] - y], along = dx * right + dy * down;
      return [along > 1 ? along + 4 * Math.abs(dx * down + dy * right) : Infinity, one];
    });
    const [distance, nearest] = far.reduce((best, other) => (other[0] < best[0] ? other : best), [Infinity, null]);
    if (distance < Infinity) nearest.focus();
  };
}

/** The one place of the page that a screen reader reads aloud when it changes; nobody sees it. */
function ear() {
  const there = document.querySelector("[data-ear]");
  if (there) return there;
  const place = document.createElement("div");
  place.dataset.ear = "";
  place.setAttribute("role", "status"); // so it is live, and polite
  place.style.cssText = "position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%);white-space:nowrap";
  document.body.append(place);
  return place;
}

/** Have a screen reader say a sentence, and a text in a language of its own. */
function announce(says, text = "", lang = "") {
  draw(ear(), [el("span", {}, says), el("bdi", { lang: lang || false }, text && ` ${text}`)]);
}

/** Facts as a sentence with a pause after each, and with numbers of two digits: a screen reader reads long ones out. */
function aloud(facts) {
  return facts.join("; ").replace(/\d+\.\d{3,}/g, (number) => String(Number(Number(number).toPrecision(2))));
}

function percent(share) {
  return share >= 0.9995 ? "100\u00a0%" : `${(100 * share).toFixed(share < 0.0995 ? 2 : 1)}\u00a0%`;
}

/** Whether the key p alone presents. Who speaks to the computer may switch it off, and this browser keeps that. */
const P_OFF = "headlight-p-off";
const keyPresents = () => localStorage.getItem(P_OFF) === null;
const letKeyPresent = (on) => (on ? localStorage.removeItem(P_OFF) : localStorage.setItem(P_OFF, ""));
