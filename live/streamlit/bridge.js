// Everything that our JavaScript uses of the pages of Streamlit and Plotly and that neither documents, as of Streamlit
// 1.67 and Plotly.js 3. A new version may change any of it without notice. No other file names their elements or
// fields; `streamlit.css` and `streamlit_presenting.css` do so for styles. `tests/browser/test_streamlit_page.py` has a
// canary for each name here and in these two files, which says what is gone and where to repair it.

/** Selectors of Streamlit's elements. */
export const STREAMLIT = {
  connected: "[data-testid=stApp][data-test-connection-state=CONNECTED]",
  main: "[data-testid=stMain]", // the part of the page that scrolls
  block: ".stMainBlockContainer",
  navigation: "[data-testid=stSidebarNavItems]", // a list whose children are sections, each with a header and items
  navigationLink: "[data-testid=stSidebarNavLink]",
  closeSidebar: "[data-testid=stSidebarCollapseButton] button",
  popover: "[data-testid=stPopoverBody]",
  chart: "[data-testid=stPlotlyChart]",
  frame: ".stIFrame",
};

/** Selectors of the elements of a Plotly chart. */
export const PLOTLY = {
  chart: ".js-plotly-plot",
  drawing: ".main-svg",
  data: ".mlayer",
  pointerLayer: ".nsewdrag", // it receives the events of a subplot, and is inside an element such as ".xy"
  dragLayer: ".draglayer",
  zoomLayer: ".zoomlayer",
  hoverLayer: ".hoverlayer",
  hoverText: ".hoverlayer text",
};

const KEY_CLASS = "st-key-"; // Streamlit's class for the key of a widget or container
const HOVER_LINE = "tspan.line"; // one line of a hover text, if it has several
const PHONE = 640; // pixels: on narrower pages the sidebar covers the page

/**
 * The element with this key, or in it the element that `inner` selects.
 * @param {string} key @param {string} [inner] @returns {any}
 */
export function withKey(key, inner = "") {
  return document.querySelector(`.${KEY_CLASS}${key} ${inner}`);
}

/** All elements whose key begins with this text. @param {string} start */
export function allWithKey(start) {
  return [...document.querySelectorAll(`[class*="${KEY_CLASS}${start}"]`)];
}

/** The key of the innermost container around an element; "" if there is none. @param {Element} element */
export function keyAround(element) {
  const names = element.closest(`[class*=${KEY_CLASS}]`)?.classList ?? [];
  return [...names].find((name) => name.startsWith(KEY_CLASS))?.slice(KEY_CLASS.length) ?? "";
}

/**
 * Give every chart, and every frame in which BertViz draws, a menu. A frame is there before its drawing.
 * @param {(picture: () => Element) => Element} menuOf
 */
export function addMenusToPictures(menuOf) {
  for (const chart of document.querySelectorAll(`${PLOTLY.chart}:has(${PLOTLY.drawing}):not(:has(> .hl-save))`))
    chart.append(menuOf(() => chart));
  for (const frame of document.querySelectorAll(`${STREAMLIT.frame}:not(:has(+ .hl-save))`))
    frame.after(menuOf(() => frame));
}

/** The picture at a place, which may be a frame with a picture; null while it is not drawn. @param {any} place */
export function pictureIn(place) {
  if (place.localName !== "iframe") return place;
  const picture = place.contentDocument?.querySelector("svg") ?? null;
  if (picture) picture.dataset.title = place.title;
  return picture;
}

/** Whether a popover, a dialog or a list is open over the page. */
export function hasOverlay() {
  return document.querySelector(`${STREAMLIT.popover}, [role=dialog], [role=listbox]`) !== null;
}

/** Scroll the page down by this many pixels. @param {number} pixels */
export function scrollPage(pixels) {
  document.querySelector(STREAMLIT.main)?.scrollBy(0, pixels);
}

/** The block that holds all of the page. @returns {any} */
export const pageBlock = () => document.querySelector(STREAMLIT.block);

/** The line with the outcome of a lesson, which stays at the top of the window. @returns {any} */
export const outcomeBar = () => document.querySelector(`${STREAMLIT.block} > * > :has(.${KEY_CLASS}lesson_outcome)`);

/** Let the keys that scroll reach the page where nothing has the focus, as on other web pages. */
export function focusPage() {
  /** @type {HTMLElement | null} */
  const main = document.querySelector(STREAMLIT.main);
  if (!main || document.activeElement !== document.body) return;
  main.tabIndex = -1;
  main.focus({ preventScroll: true });
}

/**
 * Pixels from the top of an element to the bottom of the window while the page is scrolled to its top.
 * @param {Element} element
 */
export function heightBelow(element) {
  const home = element.getRootNode();
  const scrolled = (home instanceof ShadowRoot && home.host.closest(STREAMLIT.main)?.scrollTop) || 0;
  return innerHeight - element.getBoundingClientRect().top - scrolled;
}

/**
 * Tell assistive technology what the menu is: Streamlit puts the sections of the menu into a list, where only items are
 * allowed. Each section becomes a group with a name.
 */
export function describeMenu() {
  const menu = document.querySelector(`${STREAMLIT.navigation}:has(> div)`);
  for (const section of menu?.children ?? []) {
    section.setAttribute("role", "group");
    section.setAttribute("aria-label", section.querySelector("header p")?.textContent ?? "");
  }
  for (const element of menu ? [menu, ...menu.querySelectorAll("li")] : [])
    element.setAttribute("role", "presentation");
}

/**
 * On a phone, close the sidebar after a click on the link to a page, because the sidebar covers that page.
 * @param {any} click
 */
export function closeSidebarAfter({ target }) {
  if (innerWidth > PHONE || !target.closest?.(STREAMLIT.navigationLink)) return;
  /** @type {HTMLElement | null} */
  const button = document.querySelector(STREAMLIT.closeSidebar);
  button?.click();
}

/** Whether the page has a connection to the server. */
export function isConnected() {
  return document.querySelector(STREAMLIT.connected) !== null;
}

// Streamlit's key for the theme of a page that was loaded at this path
const THEME = (path) => `stActiveTheme-${path}-v2`;

/** The theme that the visitor chose in the menu, as Streamlit stores it; null without one. */
export function chosenTheme() {
  const [loaded] = performance.getEntriesByType("navigation");
  try {
    return localStorage.getItem(THEME(new URL(loaded.name).pathname));
  } catch {
    return null; // this browser stores nothing
  }
}

/** Let every page open with this theme. @param {string} theme */
export function keepTheme(theme) {
  /** @type {NodeListOf<HTMLAnchorElement>} */
  const links = document.querySelectorAll(STREAMLIT.navigationLink);
  for (const path of [location.pathname, ...[...links].map((link) => link.pathname)])
    localStorage.setItem(THEME(path), theme);
}

/**
 * Replace the query of the page's address without a new entry in the browser's history. Streamlit can only add one. Its
 * router keeps its own state in the entry, and this keeps that state.
 * @param {string} query
 */
export function replaceQuery(query) {
  history.replaceState(history.state, "", location.pathname + (query && `?${query}`));
}

/**
 * A Plotly chart as a grid of cells: a heatmap with hover texts. Its first row is on top.
 * @param {any} plot The element of the chart.
 * @returns {WalkableChart | null} null for charts of other kinds, and before Plotly has drawn.
 */
export function walkable(plot) {
  const cells = (plot._fullData ?? []).find(({ type, hoverinfo }) => type === "heatmap" && hoverinfo !== "skip");
  if (!cells) return null;
  const { x: columns = cells.z[0], y: rows = cells.z, xaxis: across = "x", yaxis: down = "y" } = cells;
  const axis = (name) => plot._fullLayout[name.replace(/^[xy]/, "$&axis")];
  return {
    width: columns.length, height: rows.length,
    layer: plot.querySelector(`.${across}${down} ${PLOTLY.pointerLayer}`) ?? plot.querySelector(PLOTLY.pointerLayer),
    place: ([column, row]) => {
      const box = plot.getBoundingClientRect(), [x, y] = [axis(across), axis(down)];
      const left = x.d2p(cells.x ? columns[column] : column), top = y.d2p(cells.y ? rows[row] : row);
      return { clientX: box.left + x._offset + left, clientY: box.top + y._offset + top };
    },
  };
}

/** The lines that Plotly shows beside the pointer. @param {Element} plot @returns {string[]} */
export function hoverLines(plot) {
  const lines = [...plot.querySelectorAll(PLOTLY.hoverText)].flatMap((text) => {
    const parts = [...text.querySelectorAll(HOVER_LINE)];
    return (parts.length ? parts : [text]).map((part) => part.textContent?.trim() ?? "");
  });
  return lines.filter(Boolean);
}
