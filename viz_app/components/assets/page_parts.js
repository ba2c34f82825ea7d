// The parts of a page that show nothing of their own, in one component: with every change, each component that is mounted
// costs the browser time. A part that is given data is built once and updated where the data differ; else it ends.
export default function ({ data, parentElement }) {
  const view = mounted(parentElement, together);
  view.update(data);
  return view.close;
}

function together(root) {
  const places = {}, newest = {}, ends = {};

  function place() {
    const parent = document.createElement("div");
    draw(parent, [el("div", { class: "root" })]);
    root.append(parent);
    return parent;
  }

  function end(name) {
    ends[name]?.();
    delete ends[name];
    delete newest[name];
  }

  function give(name, data, text) {
    newest[name] = text;
    try {
      ends[name] = parts[name]({ data, parentElement: (places[name] ??= place()) });
    } catch (error) {
      reportError(error); // the other parts go on
    }
  }

  function update(data) {
    for (const name of Object.keys(parts)) {
      const text = JSON.stringify(data[name]);
      if (text === undefined) end(name);
      else if (text !== newest[name]) give(name, data[name], text);
    }
  }

  return { update, redraw: () => {}, stop: () => Object.keys(parts).forEach(end) };
}
