// All heads of one kind of attention small, one of them large: its numbers under the pointer or the arrow keys.
export default function ({ data, parentElement }) {
  const view = mounted(parentElement, mapView);
  view.update(data);
  return view.close;
}

function mapView(root) {
  let data, maps, chosen = 0, at = null; // a head, counted through all layers; a cell as [query, key]

  function update(next) {
    [data, maps] = [next, floats(next.maps)];
    [chosen, at] = [data.chosen, null];
    redraw();
  }

  const masked = (t, s) => data.causal && s > t;
  const weight = (head, t, s) => maps[(head * data.queries.length + t) * data.keys.length + s];
  const named = (head) => `layer ${Math.floor(head / data.heads) + 1}, head ${(head % data.heads) + 1}`;

  function tiles() {
    const rows = Array.from({ length: data.layers }, (_, layer) => [`layer ${layer + 1}`, Array.from({ length: data.heads }, (_, i) => {
      const head = layer * data.heads + i, on = head === chosen;
      return el("button", {
        type: "button", class: `tile${on ? " lit" : ""}`, "aria-pressed": String(on), "aria-label": named(head), title: named(head),
        onclick: () => { chosen = head; redraw(); },
      }, [el("canvas", { width: data.keys.length, height: data.queries.length })]);
    })]);
    return el("div", {}, [el("div", { class: "quiet" }, "Every layer (row) and head. Click one to open it."), switchboard(rows)]);
  }

  function paint(canvas, head) {
    const context = canvas.getContext("2d");
    data.queries.forEach((_, t) => data.keys.forEach((_, s) => {
      context.fillStyle = masked(t, s) ? data.colours.masked : between(data.colours.scale, weight(head, t, s));
      context.fillRect(s, t, 1, 1);
    }));
  }

  function large(room) {
    const wide = (labels) => Math.min(150, 12 + 8 * Math.max(...labels.map((label) => Math.min([...label].length, 16))));
    const left = wide(data.queries) + 22, below = wide(data.keys) * 0.75 + 24;
    const cell = Math.max(15, Math.min(38, (room - left - 8) / data.keys.length)), high = Math.max(15, Math.min(30, cell));
    const cells = [], names = [];
    data.queries.forEach((query, t) => {
      names.push(el("text", { x: left - 6, y: (t + 0.5) * high + 5, "text-anchor": "end", lang: data.languages.query || false }, shortened(query, 16)));
      data.keys.forEach((key, s) => cells.push(el("rect", {
        x: left + s * cell, y: t * high, width: cell - 1, height: high - 1, "data-cell": `${t},${s}`,
        class: at && at[0] === t && at[1] === s ? "pointed" : false,
        fill: masked(t, s) ? data.colours.masked : between(data.colours.scale, weight(chosen, t, s)),
      })));
    });
    const bottom = data.queries.length * high;
    data.keys.forEach((key, s) => {
      const x = left + (s + 0.5) * cell, y = bottom + 14;
      names.push(el("text", { x, y, "text-anchor": "end", transform: `rotate(-45 ${x} ${y})`, lang: data.languages.key || false }, shortened(key, 16)));
    });
    names.push(el("text", { x: 14, y: bottom / 2, "text-anchor": "middle", transform: `rotate(-90 14 ${bottom / 2})` }, data.query_title));
    names.push(el("text", { x: left + (data.keys.length * cell) / 2, y: bottom + below, "text-anchor": "middle" }, data.key_title));
    return el("svg", {
      width: left + data.keys.length * cell + 4, height: bottom + below + 8, tabindex: 0, role: "group", class: "map",
      "aria-label": `${data.alt}, ${named(chosen)}: rows are queries, columns are keys; arrow keys walk the cells`, onkeydown: walk,
    }, [el("g", {}, cells), el("g", {}, names)]);
  }

  function walk(event) {
    const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    if (!step) return;
    event.preventDefault(); // of scrolling
    const [t, s] = at ?? [0, 0], within = (value, size) => Math.min(Math.max(value, 0), size - 1);
    at = at ? [within(t + step[0], data.queries.length), within(s + step[1], data.keys.length)] : [t, s];
    redraw();
  }

  function says() {
    if (!at) return "Point at a cell for its number.";
    const [t, s] = at, cell = `${data.queries[t]} → ${data.keys[s]}: `;
    return cell + (masked(t, s) ? "masked, it does not exist yet" : weight(chosen, t, s).toFixed(6));
  }

  function redraw() {
    draw(root, [el("div", { class: "maps" }, [
      tiles(),
      el("div", {}, [
        el("div", { class: "quiet" }, `${named(chosen)[0].toUpperCase()}${named(chosen).slice(1)}: attention weights, 0 dark to 1 bright.`),
        el("div", { class: "scroll picture" }),
        el("output", { "aria-live": "polite", class: "says" }, says()),
      ]),
    ])]);
    const picture = root.querySelector(".picture"); // its room is known once it stands there
    draw(picture, [large(room(picture))]);
    root.querySelectorAll(".tile canvas").forEach((canvas, head) => {
      if (canvas.dataset.painted === data.maps) return;
      canvas.dataset.painted = data.maps;
      paint(canvas, head);
    });
  }

  root.onpointerover = (event) => {
    const cell = event.target.closest("[data-cell]");
    if (!cell) return;
    at = cell.dataset.cell.split(",").map(Number);
    redraw();
  };
  return { update, redraw };
}
