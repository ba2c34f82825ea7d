// Queries on the left, keys on the right, as BertViz has them; a line's thickness is a weight.
export default function ({ data, parentElement }) {
  const view = mounted(parentElement, lineView);
  view.update(data);
  return view.close;
}

function lineView(root) {
  const DASHES = [false, "10 8", "1 9"];
  const rowHeight = 22, gap = 8, end = { query: ([, t]) => t, key: ([, , s]) => s };
  let data = null, weights, selected, threshold = 0.05, best = 0; // best: how many keys of a query, 0 for all
  let pointed = null, focused = null; // tokens, as { side, index }

  function update(next) {
    if (next.shown !== data?.shown) [selected, pointed, focused] = [new Set(next.chosen), null, null];
    [data, weights] = [next, floats(next.weights)];
    redraw();
  }

  /** A head keeps its colour, whatever else is switched on; where several layers are, their lines differ too. */
  const colour = (map) => data.colours.lines[map % data.colours.lines.length];
  const layerOf = (map) => Math.floor(map / data.columns);

  function dash(map) {
    const layers = [...new Set([...selected].map(layerOf))].sort((a, b) => a - b);
    return DASHES[layers.indexOf(layerOf(map)) % DASHES.length];
  }

  function visible(hovered) {
    const [queries, keys] = [data.queries.length, data.keys.length], lines = [];
    for (const map of selected) {
      for (let t = 0; t < queries; t++) {
        const row = Array.from({ length: keys }, (_, s) => [weights[(map * queries + t) * keys + s], t, s, map]);
        const kept = best ? row.sort((a, b) => b[0] - a[0]).slice(0, best) : row;
        lines.push(...kept.filter(([weight]) => weight >= Math.max(threshold * data.largest, 1e-6)));
      }
    }
    return hovered ? lines.filter((line) => end[hovered.side](line) === hovered.index) : lines;
  }

  function picture() {
    const hovered = pointed ?? focused, lines = visible(hovered);
    const width = Math.max(room(root), 280), side = Math.min(190, width * 0.32), narrow = width < 460;
    const top = narrow ? 50 : 30, height = top + rowHeight * Math.max(data.queries.length, data.keys.length) + 10;
    const y = (i) => top + rowHeight * (i + 0.5);

    function lineOf([weight, t, s, map]) {
      const share = weight / data.largest;
      return el("line", {
        x1: side, y1: y(t), x2: width - side, y2: y(s), stroke: colour(map)[0], "stroke-linecap": "round", "stroke-dasharray": dash(map),
        "stroke-width": (0.4 + 5.6 * share).toFixed(2), "stroke-opacity": (0.25 + 0.75 * share).toFixed(2),
      }, [el("title", {}, `${data.names[map]}: ${data.queries[t]} → ${data.keys[s]}: ${weight.toFixed(6)}`)]);
    }

    function tokenOf(label, index, name) {
      const across = hovered && hovered.side !== name ? lines.filter((line) => end[name](line) === index) : [];
      const mean = across.reduce((sum, [weight]) => sum + weight, 0) / selected.size;
      const chosen = hovered && hovered.side === name && hovered.index === index;
      const note = across.length ? mean.toFixed(3) : "";
      const text = shortened(label, Math.max(3, Math.min(18, Math.floor((side - gap) / 7.5) - (note && 6))));
      return el("text", {
        x: name === "query" ? side - gap : width - side + gap, y: y(index) + 5, "text-anchor": name === "query" ? "end" : "start",
        class: `token${chosen ? " chosen" : hovered && !across.length ? " aside" : ""}`, tabindex: 0,
        role: "img", "aria-label": `${shortened(label, 40)}, ${name} ${index + 1}`, lang: data.languages[name] || false, "data-side": name, "data-index": index,
        onfocus: () => turnTo(pointed, { side: name, index }), onblur: () => turnTo(pointed, null),
      }, (name === "query" ? `${note}  ${text}` : `${text}  ${note}`).trim());
    }

    return el("svg", { width, height, role: "group", "aria-label": `${data.alt}: ${[...selected].map((map) => data.names[map]).join("; ")}`, "data-lines": lines.length }, [
      el("g", {}, [
        el("text", { x: 0, y: 16 }, data.query_title),
        el("text", { x: width, y: narrow ? 36 : 16, "text-anchor": "end" }, data.key_title),
      ]),
      el("g", {}, lines.map(lineOf)),
      el("g", {}, data.queries.map((label, i) => tokenOf(label, i, "query"))),
      el("g", {}, data.keys.map((label, i) => tokenOf(label, i, "key"))),
    ]);
  }

  /** The token under the pointer counts first, then the one that has the keyboard's focus. */
  function turnTo(under, at) {
    if (JSON.stringify([under, at]) === JSON.stringify([pointed, focused])) return;
    [pointed, focused] = [under, at];
    redraw();
  }

  function toggle(map) {
    if (!selected.delete(map)) selected.add(map);
    if (!selected.size) selected.add(map);
    redraw();
  }

  function switches() {
    return data.rows.map((name, row) => [name, Array.from({ length: data.columns }, (_, column) => {
      const map = row * data.columns + column, on = selected.has(map);
      const [background, ink] = on ? colour(map) : [];
      return el("button", {
        type: "button", role: "switch", "aria-checked": String(on), "aria-label": data.names[map], title: data.names[map],
        style: on && `background:${background};color:${ink}`, onclick: () => toggle(map),
      }, data.short[map]);
    })]);
  }

  function slider(label, attributes, value, shown, change) {
    const oninput = (event) => {
      change(Number(event.target.value));
      redraw();
    };
    return el("label", {}, [
      el("span", {}, label), el("input", { type: "range", "aria-label": label, ...attributes, oninput, value }), el("output", { "aria-live": "off" }, shown),
    ]);
  }

  function redraw() {
    const most = Math.min(data.keys.length, 10);
    const sliders = [
      slider("Threshold", { min: 0, max: 1, step: 0.01 }, threshold, threshold.toFixed(2), (value) => { threshold = value; }),
      slider("Strongest keys of a query", { min: 0, max: most, step: 1 }, best, best ? String(best) : "all", (value) => { best = value; }),
    ];
    draw(root, [
      el("div", { class: "bar" }, data.names.length > 1 ? [switchboard(switches()), ...sliders] : sliders),
      picture(),
    ]);
  }

  function under(target) {
    const token = target.closest("[data-side]");
    return token && { side: token.dataset.side, index: Number(token.dataset.index) };
  }

  root.onpointerover = (event) => turnTo(under(event.target), focused);
  root.onpointerleave = () => turnTo(null, focused);
  return { update, redraw, picture: () => root.querySelector("svg") };
}
