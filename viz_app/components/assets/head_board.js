// A switch for every head; a click is reported, the server decides what it means. Of several events that come while the
// page runs the server gets the newest alone. So each event carries every click that is not counted yet.
export default function ({ data, parentElement, setTriggerValue }) {
  const view = mounted(parentElement, headBoard);
  view.update(data, setTriggerValue);
  return view.close;
}

function headBoard(root) {
  const words = { on: "on", off: "silenced", uniform: "uniform" }, signs = { on: "", off: "✕", uniform: "≡" };
  const board = `${Date.now()}-${Math.random()}`; // names this drawing of the board, where clicks are counted from 0
  let data, report, first = 0, places = []; // the clicks from number `first` on

  function click(kind, layer, head) {
    places.push([kind, layer, head]);
    report("clicks", { board, first, places });
  }

  function button(kind, layer, head, state, face) {
    const place = `layer ${layer + 1}, head ${head + 1}: ${words[state]}${face ? `; ${face.says}` : ""}`;
    return el("button", {
      type: "button", role: "switch", "aria-checked": String(state === "on"), class: `head ${state}`,
      title: place, "aria-label": `${kind} attention, ${place}`, onclick: () => click(kind, layer, head),
      style: face && `background:${face.colour};color:${face.ink}`,
    }, (signs[state] || (face?.decides ? "≠" : "")) + (head + 1));
  }

  function redraw() {
    draw(root, [el("div", { class: "boards" }, data.boards.map(({ kind, title, states, faces }) => el("div", {}, [
      el("div", { class: "quiet" }, title),
      switchboard(states.map((row, layer) => [`layer ${layer + 1}`, row.map((state, head) => button(kind, layer, head, state, faces[layer]?.[head]))])),
    ])))]);
    oneTabStop(root, ".switches button");
  }

  function update(next, setTriggerValue) {
    [data, report] = [next, setTriggerValue];
    if (data.counted.board === board) {
      places = places.slice(data.counted.clicks - first);
      first = data.counted.clicks;
    }
    redraw();
  }

  return { update, redraw };
}
