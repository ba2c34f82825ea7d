// Every layer and head of one kind of attention, small. The page opens the one that is pressed.
import { heightBelow } from "./bridge.js";
import { draw, el, find } from "./dom.js";
import { brokenLegend, fitGrid, gridOfHeads, headPicture } from "./head_grid_drawing.js";
import { component, zoomOf } from "./mounting.js";
import { singleTabStop } from "./single_tab_stop.js";

const LOWEST = 200, BELOW = 90; // pixels: of the picture, and of the page below it

export const headGrid = component((root) => {
  let data = /** @type {any} */ (null), picture = "", report;

  function update(next, setTriggerValue) {
    if (next.levels !== data?.levels) picture = headPicture(next);
    [data, report] = [next, setTriggerValue];
    redraw();
  }

  function redraw() {
    const [layer, head] = data.chosen;
    draw(root, [el("div", { role: "figure", "aria-label": data.alt, "data-title": data.title }, [gridOfHeads({
      ...data, picture,
      isChosen: (l, h) => l === layer && (head === null || h === head),
      open: (l, h) => report("open", { layer: l, head: h }),
    }), ...(data.broken ? [brokenLegend()] : [])])]);
    fitGrid(find(root, ".sheet"), data, Math.max(LOWEST, heightBelow(root) / zoomOf(root) - BELOW));
    singleTabStop(root, ".over");
  }

  return { update, redraw, picture: () => root.firstChild };
});
