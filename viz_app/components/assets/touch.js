// What a finger needs. After a touch Plotly reacts to the element that was under the pointer before it, so a tap would
// open the tile of the previous tap. If Plotly does not get the touch, the browser sends mouse events in the right
// order.
import { PLOTLY, closeSidebarAfter } from "./bridge.js";
import { listening, onPage } from "./page_events.js";

const keepFromPlotly = (event) => {
  if (event.target.closest?.(PLOTLY.chart)) event.stopPropagation();
};

export const touch = listening(() => [
  onPage("click", closeSidebarAfter),
  onPage("touchstart", keepFromPlotly, { capture: true, passive: true }),
]);
