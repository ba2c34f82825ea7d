// A switch for every head; a click is reported, the server decides what it means.
export default function ({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".root");
  const boards = data.boards.map(({ kind, title, states, shades }) => {
    const heads = states[0].length;
    const cells = [make("span"), ...states[0].map((_, head) => make("span", { class: "name" }, String(head + 1)))];
    states.forEach((row, layer) => {
      cells.push(make("span", { class: "name" }, `layer ${layer + 1}`));
      row.forEach((head_state, head) => {
        const shade = shades ? shades[layer][head] : null;
        cells.push(make("button", {
          type: "button", role: "switch", "aria-checked": String(head_state === "on"), class: `head ${head_state}`,
          "aria-label": `${title}, layer ${layer + 1}, head ${head + 1}: ${head_state}`, title: data.notes?.[kind]?.[layer]?.[head] ?? head_state,
          style: head_state === "on" && shade !== null
            ? `background:${viridis(shade)};color:${shade > 0.6 ? "#1b2530" : "#fff"}` : null,
          onclick: () => setTriggerValue("toggle", { kind, layer, head }),
        }, { on: "", off: "✕", uniform: "≡" }[head_state]));
      });
    });
    return make("div", {}, null, [
      make("div", { class: "quiet" }, title),
      make("div", { class: "board", style: `grid-template-columns:repeat(${heads + 1},auto)` }, null, cells),
    ]);
  });
  root.replaceChildren(make("div", { class: "boards" }, null, boards));
}
