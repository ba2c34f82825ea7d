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
  menu.onkeydown = ({ key }) => {
    if (key === "Escape" && menu.open) close();
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

function percent(share) {
  return share >= 0.9995 ? "100 %" : `${(100 * share).toFixed(share < 0.0995 ? 2 : 1)} %`;
}
