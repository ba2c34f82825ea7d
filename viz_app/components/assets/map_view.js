// All heads of one kind of attention small, one of them large.
export default function ({ data, parentElement }) {
  const view = mounted(parentElement, mapView);
  view.update(data);
  return view.close;
}

function mapView(root) {
  const painted = new WeakMap(); // canvas → the numbers that it shows
  let data, maps, chosen = 0, large = null; // chosen: a head, counted through all layers

  function update(next) {
    [data, maps, chosen] = [next, floats(next.maps), next.chosen];
    redraw();
  }

  const weight = (head, t, s) => maps[(head * data.queries.length + t) * data.keys.length + s];
  const named = (head) => `layer ${Math.floor(head / data.heads) + 1}, head ${(head % data.heads) + 1}`;

  function open(head) {
    chosen = head;
    redraw();
  }

  function tiles() {
    const rows = Array.from({ length: data.layers }, (_, layer) => [`layer ${layer + 1}`, Array.from({ length: data.heads }, (_, i) => {
      const head = layer * data.heads + i, on = head === chosen;
      return el("button", {
        type: "button", class: `tile${on ? " lit" : ""}`, "aria-pressed": String(on), "aria-label": named(head), title: named(head),
        onclick: () => open(head),
      }, [el("canvas", { width: data.keys.length, height: data.queries.length })]);
    })]);
    return el("div", {}, [el("div", { class: "quiet" }, "Every layer (row) and head. Choose one to open it."), switchboard(rows)]);
  }

  function paint(canvas, head) {
    const context = canvas.getContext("2d");
    data.queries.forEach((_, t) => data.keys.forEach((_, s) => {
      const number = weight(head, t, s); // NaN where the mask forbids
      context.fillStyle = Number.isNaN(number) ? data.colours.masked : between(data.colours.scale, number);
      context.fillRect(s, t, 1, 1);
    }));
  }

  function redraw() {
    const name = named(chosen), label = `${data.alt}, ${name}`;
    draw(root, [el("div", { class: "maps" }, [
      tiles(),
      el("div", {}, [
        el("div", { class: "quiet" }, `${name[0].toUpperCase()}${name.slice(1)}: attention weights, 0 dark to 1 bright.`),
        el("div", { class: "scroll picture" }),
        el("output", { "aria-live": "off", class: "says" }),
      ]),
    ])]);
    const says = root.querySelector(".says");
    large ??= largeMap(root.querySelector(".picture"), (sentence) => { says.textContent = sentence; });
    const masked = (t, s) => Number.isNaN(weight(chosen, t, s));
    large.show({ ...data, label, title: label, masked, weight: (t, s) => weight(chosen, t, s) });
    root.querySelectorAll(".tile canvas").forEach((canvas, head) => {
      if (painted.get(canvas) === maps) return;
      painted.set(canvas, maps);
      paint(canvas, head);
    });
  }

  return { update, redraw, picture: () => root.querySelector("svg.map") };
}
