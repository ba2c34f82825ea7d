// A switch for every head; a click is reported, the server decides what it means.
export default function ({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".root");
  const words = { on: "on", off: "silenced", uniform: "uniform" }, signs = { on: "", off: "✕", uniform: "≡" };
  const focused = parentElement.activeElement?.dataset.head;
  const boards = data.boards.map(({ kind, title, states }) => {
    const heads = states[0].length;
    const cells = [make("span"), ...states[0].map((_, head) => make("span", { class: "name" }, String(head + 1)))];
    states.forEach((row, layer) => {
      cells.push(make("span", { class: "name" }, `layer ${layer + 1}`));
      cells.push(...row.map((state, head) => make("button", {
        type: "button", role: "switch", "aria-checked": String(state === "on"), class: `head ${state}`,
        "data-head": `${kind} ${layer} ${head}`, title: `layer ${layer + 1}, head ${head + 1}: ${words[state]}`,
        "aria-label": `${kind} attention, layer ${layer + 1}, head ${head + 1}: ${words[state]}`,
        onclick: () => setTriggerValue("toggle", { kind, layer, head }),
      }, signs[state])));
    });
    return make("div", {}, null, [
      make("div", { class: "quiet" }, title),
      make("div", { class: "board", style: `grid-template-columns:repeat(${heads + 1},auto)` }, null, cells),
    ]);
  });
  root.replaceChildren(make("div", { class: "boards" }, null, boards));
  if (focused) root.querySelector(`[data-head="${focused}"]`)?.focus();
}
