// What the components need to know about the page around them. In a published site this file takes the place of
// `live/streamlit/bridge.js`, which knows the pages of Streamlit and the charts of Plotly. Here are none.

const NONE = ":not(*)"; // selects nothing

export const STREAMLIT = { chart: NONE };
export const PLOTLY = { chart: NONE, drawing: NONE, data: NONE, dragLayer: NONE, zoomLayer: NONE, hoverLayer: NONE };

/** Every picture has a menu of its own. */
export function addMenusToPictures() {}

/** @param {any} place */
export function pictureIn(place) {
  return place;
}

/** No element has a key. */
export function keyAround() {
  return "";
}

/**
 * Pixels from the top of an element to the bottom of the window while the page is scrolled to its top.
 * @param {Element} element
 */
export function heightBelow(element) {
  return innerHeight - element.getBoundingClientRect().top - scrollY;
}
