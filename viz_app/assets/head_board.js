// A switch for every head; a click is reported, the server decides what it means.
export default function ({ data, parentElement, setTriggerValue }) {
  const view = mounted(parentElement, headBoard);
  view.update(data, setTriggerValue);
  return view.close;
}

function headBoard(root) {
  const words = { on: "on", off: "silenced", uniform: "uniform" }, signs = { on: "", off: "✕", uniform: "≡" };
  let data, report;

  function button(kind, layer, head, state) {
    const place = `layer ${layer + 1}, head ${head + 1}: ${words[state]}`;
    return el("button", {
      type: "button", role: "switch", "aria-checked": String(state === "on"), class: `head ${state}`,
      title: place, "aria-label": `${kind} attention, ${place}`, onclick: () => report("toggle", { kind, layer, head }),
    }, signs[state] + (head + 1));
  }

  function redraw() {
    draw(root, [el("div", { class: "boards" }, data.boards.map(({ kind, title, states }) => el("div", {}, [
      el("div", { class: "quiet" }, title),
      switchboard(states.map((row, layer) => [`layer ${layer + 1}`, row.map((state, head) => button(kind, layer, head, state))])),
    ])))]);
    oneTabStop(root, ".switches button");
  }

  function update(next, setTriggerValue) {
    [data, report] = [next, setTriggerValue];
    redraw();
  }

  return { update, redraw };
}
