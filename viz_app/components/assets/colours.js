// The colours of the pictures. `viz_app/figures/colours.py` has the same ones; tests compare both.

/**
 * Weights from 0 to the largest, at equal distances (Viridis), a cell that its query may not attend to, and one that is
 * not a number.
 */
export const WEIGHTS = {
  scale: ["#440154", "#482878", "#3e4989", "#31688e", "#26828e", "#1f9e89", "#35b779", "#6ece58", "#b5de2b", "#fde725"],
  masked: "#8c8c8c",
  broken: "#ff2fb3",
};

/** Signed numbers: blue below 0, white at 0, red above. */
export const SIGNED = {
  scale: [
    "#053061", "#2166ac", "#4393c3", "#92c5de", "#d1e5f0", "#f7f7f7", "#fddbc7", "#f4a582", "#d6604d", "#b2182b",
    "#67001f",
  ],
  masked: WEIGHTS.masked,
  broken: WEIGHTS.broken,
};

/** Lines of several heads, each with the ink that is legible on it (Okabe and Ito 2008). @type {[string, string][]} */
export const LINES = [
  ["#0072b2", "#ffffff"], ["#e69f00", "#000000"], ["#009e73", "#000000"], ["#cc79a7", "#000000"],
  ["#56b4e9", "#000000"], ["#d55e00", "#000000"], ["#f0e442", "#000000"], ["#999999", "#000000"],
];
