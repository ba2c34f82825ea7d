// What the components share. Every text goes in as text, never as markup.
const COLOURS = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#8a7a00", "#7f7f7f"];
const VIRIDIS = ["#440154", "#472d7b", "#3b528b", "#2c728e", "#21918c", "#28ae80", "#5ec962", "#addc30", "#fde725"];
const states = new WeakMap();

/** What a mounted component remembers between updates from the server. */
function remembered(parent, initial) {
  if (!states.has(parent)) states.set(parent, initial());
  return states.get(parent);
}

/** Little-endian float32 numbers from base64. */
function floats(base64) {
  const bytes = Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
  return new Float32Array(bytes.buffer);
}

function make(tag, attributes = {}, text = null, children = []) {
  const isSvg = ["svg", "g", "path", "line", "rect", "text", "title", "circle", "tspan"].includes(tag);
  const element = isSvg ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value !== null && value !== false) element.setAttribute(name, value === true ? "" : value);
  }
  if (text !== null) element.textContent = text;
  element.append(...children);
  return element;
}

function shortened(text, limit) {
  const visible = text.replaceAll("\n", "↵").replaceAll("\t", "⇥");
  const signs = [...visible];
  return signs.length > limit ? signs.slice(0, limit - 1).join("") + "…" : visible;
}

/** The colour of a share from 0 to 1, between the stops of Viridis. */
function viridis(share) {
  const at = Math.min(Math.max(share, 0), 1) * (VIRIDIS.length - 1);
  const low = Math.min(Math.floor(at), VIRIDIS.length - 2), rest = at - low;
  const channel = (hex, i) => parseInt(hex.slice(1 + 2 * i, 3 + 2 * i), 16);
  const mixed = [0, 1, 2].map((i) =>
    Math.round(channel(VIRIDIS[low], i) * (1 - rest) + channel(VIRIDIS[low + 1], i) * rest));
  return `rgb(${mixed})`;
}

function percent(share) {
  return share >= 0.9995 ? "100 %" : `${(100 * share).toFixed(share < 0.0995 ? 2 : 1)} %`;
}
