// Source on the left, target on the right; a line's thickness is a weight.
export default function ({ data, parentElement }) {
  const state = remembered(parentElement, () => ({ threshold: 0.05, best: 0, shown: null }));
  if (state.shown !== data.shown) Object.assign(state, { shown: data.shown, selected: new Set(data.chosen), hover: null });
  const weights = floats(data.weights);
  const [count, queries, keys] = [data.names.length, data.queries.length, data.keys.length];
  const colour = (map) => COLOURS[[...state.selected].sort((a, b) => a - b).indexOf(map) % COLOURS.length];
  const root = parentElement.querySelector(".root");
  const rowHeight = 22, top = 30, gap = 8;
  const width = Math.max(root.clientWidth, 360), side = Math.min(190, width * 0.3);
  const height = top + rowHeight * Math.max(queries, keys) + 10;
  const y = (i) => top + rowHeight * (i + 0.5);
  const end = { query: ([, t]) => t, key: ([, , s]) => s };

  function visible() {
    const lines = [];
    for (const map of state.selected) {
      for (let t = 0; t < queries; t++) {
        const row = Array.from({ length: keys }, (_, s) => [weights[(map * queries + t) * keys + s], t, s, map]);
        const kept = state.best ? row.sort((a, b) => b[0] - a[0]).slice(0, state.best) : row;
        lines.push(...kept.filter(([weight]) => weight >= Math.max(state.threshold * data.largest, 1e-6)));
      }
    }
    const { hover } = state;
    return hover ? lines.filter((line) => end[hover.side](line) === hover.index) : lines;
  }

  function lineOf([weight, t, s, map]) {
    const share = weight / data.largest;
    return make("line", {
      x1: side, y1: y(s), x2: width - side, y2: y(t), stroke: colour(map), "stroke-linecap": "round",
      "stroke-width": (0.4 + 5.6 * share).toFixed(2), "stroke-opacity": (0.25 + 0.75 * share).toFixed(2),
    }, null, [make("title", {}, `${data.names[map]}: ${data.queries[t]} → ${data.keys[s]}: ${weight.toFixed(6)}`)]);
  }

  function tokenOf(label, i, name, lines) {
    const { hover } = state;
    const across = hover && hover.side !== name ? lines.filter((line) => end[name](line) === i) : [];
    const mean = across.reduce((sum, [weight]) => sum + weight, 0) / state.selected.size;
    const chosen = hover && hover.side === name && hover.index === i;
    const note = across.length ? mean.toFixed(3) : "";
    const text = shortened(label, 18);
    return make("text", {
      x: name === "key" ? side - gap : width - side + gap, y: y(i) + 5, "text-anchor": name === "key" ? "end" : "start",
      "font-size": 14, "font-weight": chosen ? 700 : 400, opacity: hover && !chosen && !across.length ? 0.3 : 1,
      style: "cursor:pointer", tabindex: 0, "data-side": name, "data-index": i,
      onfocus: (event) => hover(event.target),
    }, (name === "key" ? `${note}  ${text}` : `${text}  ${note}`).trim());
  }

  function draw() {
    const lines = visible(), focused = parentElement.activeElement?.dataset;
    const picture = make("svg", { width, height, role: "img", "aria-label": data.alt, "data-lines": lines.length }, null, [
      make("text", { x: 0, y: 16, opacity: 0.7, "font-size": 12 }, data.key_title),
      make("text", { x: width, y: 16, "text-anchor": "end", opacity: 0.7, "font-size": 12 }, data.query_title),
      ...lines.map(lineOf),
      ...data.keys.map((label, i) => tokenOf(label, i, "key", lines)),
      ...data.queries.map((label, i) => tokenOf(label, i, "query", lines)),
    ]);
    root.querySelector("svg")?.remove();
    root.append(picture);
    if (focused?.side) picture.querySelector(`[data-side=${focused.side}][data-index="${focused.index}"]`)?.focus();
  }

  function hover(token) {
    const next = token && { side: token.dataset.side, index: Number(token.dataset.index) };
    if (JSON.stringify(next) === JSON.stringify(state.hover)) return;
    state.hover = next;
    draw();
  }

  function toggle(map) {
    if (!state.selected.delete(map)) state.selected.add(map);
    if (!state.selected.size) state.selected.add(map);
    board.replaceChildren(...switches());
    draw();
  }

  function switches() {
    return data.names.flatMap((name, map) => {
      const on = state.selected.has(map);
      const button = make("button", {
        type: "button", role: "switch", "aria-checked": String(on), "aria-label": name, title: name,
        style: on && `background:${colour(map)};color:#fff`, onclick: () => toggle(map),
      }, data.short[map]);
      return map % data.columns ? [button] : [make("span", { class: "name" }, data.rows[map / data.columns]), button];
    });
  }

  function slider(label, attributes, show, change) {
    const shown = make("output", {}, show());
    const oninput = (event) => {
      change(Number(event.target.value));
      shown.textContent = show();
      draw();
    };
    return make("label", {}, label, [make("input", { type: "range", "aria-label": label, ...attributes, oninput }), shown]);
  }

  const board = make("div", { class: "board", style: `grid-template-columns:repeat(${data.columns + 1},auto)` }, null, switches());
  const sliders = [
    slider("Threshold", { min: 0, max: 1, step: 0.01, value: state.threshold }, () => state.threshold.toFixed(2),
      (value) => { state.threshold = value; }),
    slider("Strongest keys of a query", { min: 0, max: Math.min(keys, 10), step: 1, value: state.best },
      () => (state.best ? String(state.best) : "all"), (value) => { state.best = value; }),
  ];
  // On the root, which stays: the picture under the pointer is drawn anew.
  root.onpointerover = (event) => hover(event.target.closest("[data-side]"));
  root.onpointerleave = () => hover(null);
  root.replaceChildren(make("div", { class: "bar" }, null, count > 1 ? [board, ...sliders] : sliders));
  draw();
}
