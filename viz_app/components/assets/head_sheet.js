// Every layer and head of one kind of attention, small. The page opens the one that is pressed.
export default function ({ data, parentElement, setTriggerValue }) {
  const view = mounted(parentElement, headSheet);
  view.update(data, setTriggerValue);
  return view.close;
}

function headSheet(root) {
  const LOWEST = 200, BELOW = 90; // pixels: of the picture, and of what stands below it
  let data = null, report;

  function update(next, setTriggerValue) {
    [data, report] = [next, setTriggerValue];
    redraw();
  }

  function redraw() {
    const [layer, head] = data.chosen;
    draw(root, [el("div", { role: "figure", "aria-label": data.alt, "data-title": data.title }, [sheetOfHeads({
      ...data,
      lit: (l, h) => l === layer && (head === null || h === head),
      open: (l, h) => report("open", { layer: l, head: h }),
    })])]);
    fitSheet(root.querySelector(".sheet"), { ...data, tallest: Math.max(LOWEST, roomBelow(root) - BELOW) });
    oneTabStop(root, ".over");
  }

  return { update, redraw, picture: () => root.firstChild };
}
