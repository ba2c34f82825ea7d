// Plotly answers the end of a touch with what the pointer was over before it, so a tap would open the tile of the tap
// before. Kept from it, a touch becomes the mouse's own events (move, down, up), as browsers do, and those come in order.
const keep = (event) => {
  if (event.target.closest?.(".js-plotly-plot")) event.stopPropagation();
};

/** On a telephone the menu covers the page; who has chosen one wants to see it. */
const chosen = ({ target }) => {
  if (innerWidth > 640 || !target.closest?.("[data-testid=stSidebarNavLink]")) return;
  document.querySelector("[data-testid=stSidebarCollapseButton] button")?.click();
};

export default function () {
  document.addEventListener("click", chosen);
  document.addEventListener("touchstart", keep, { capture: true, passive: true }); // the same one counts once
}
