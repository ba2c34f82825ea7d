// One attention map large, with its labels: the cell under the pointer or the arrow keys is framed, and its number told.
// A map is drawn once. A pointer that moves looks up one cell and moves one frame, however large the map is.
const STEPS = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
const CELL = [15, 38], HIGHEST = 30, LONGEST = 16; // pixels of a cell, and of its height; signs of a label

/** A map in the element `home`; `told(sentence)` is called with what there is to say of the cell that is pointed at. */
function largeMap(home, told) {
  let map = null, at = null, place = null; // at: a cell as [query, key]; place: of a cell in the drawing

  /** `next`: queries, keys, query_title, key_title, languages, colours, label, title, `weight(t, s)` and `masked(t, s)`. */
  function show(next) {
    const same = map && next.queries.length === map.queries.length && next.keys.length === map.keys.length;
    map = next;
    if (!same) at = null;
    redraw();
  }

  const masked = (t, s) => map.masked(t, s);
  const wide = (labels) => Math.min(150, 12 + 8 * Math.max(...labels.map((label) => Math.min([...label].length, LONGEST))));

  function redraw() {
    const left = wide(map.queries) + 22, below = wide(map.keys) * 0.75 + 24;
    const cell = Math.max(CELL[0], Math.min(CELL[1], (room(home) - left - 8) / map.keys.length)), high = Math.max(CELL[0], Math.min(HIGHEST, cell));
    const bottom = map.queries.length * high, right = left + map.keys.length * cell;
    place = ([t, s]) => ({ x: left + s * cell, y: t * high, width: cell - 1, height: high - 1 });
    const cells = map.queries.flatMap((_, t) => map.keys.map((_, s) => el("rect", {
      ...place([t, s]), "data-cell": `${t},${s}`,
      fill: masked(t, s) ? map.colours.masked : between(map.colours.scale, map.weight(t, s)),
    })));
    const rows = map.queries.map((query, t) => el("text", {
      x: left - 6, y: (t + 0.5) * high + 5, "text-anchor": "end", lang: map.languages.query || false,
    }, shortened(query, LONGEST)));
    const columns = map.keys.map((key, s) => {
      const x = left + (s + 0.5) * cell, y = bottom + 14;
      return el("text", { x, y, "text-anchor": "end", transform: `rotate(-45 ${x} ${y})`, lang: map.languages.key || false }, shortened(key, LONGEST));
    });
    const titles = [
      el("text", { x: 14, y: bottom / 2, "text-anchor": "middle", transform: `rotate(-90 14 ${bottom / 2})` }, map.query_title),
      el("text", { x: (left + right) / 2, y: bottom + below, "text-anchor": "middle" }, map.key_title),
    ];
    draw(home, [el("svg", {
      width: right + 4, height: bottom + below + 8, tabindex: 0, role: "group", class: "map", "data-title": map.title,
      "aria-label": `${map.label}: rows are queries, columns are keys; arrow keys walk the cells`, onkeydown: walk,
    }, [el("g", {}, cells), el("g", {}, [...rows, ...columns, ...titles]), el("g", {}, [el("rect", { class: "pointed", fill: "none" })])])]);
    point(at);
  }

  function walk(event) {
    const step = STEPS[event.key];
    if (!step) return;
    event.preventDefault(); // of scrolling
    event.stopPropagation(); // of walking to another step
    const within = (value, size) => Math.min(Math.max(value, 0), size - 1);
    point(at ? [within(at[0] + step[0], map.queries.length), within(at[1] + step[1], map.keys.length)] : [0, 0]);
    const [t, s] = at;
    announce(aloud([`query: ${map.queries[t]}`, `key: ${map.keys[s]}`, masked(t, s) ? "masked" : `attention weight: ${map.weight(t, s).toFixed(6)}`]));
  }

  function point(cell) {
    at = cell;
    const frame = home.querySelector(".pointed");
    frame.style.display = at ? "" : "none";
    if (at) Object.entries(place(at)).forEach(([name, value]) => frame.setAttribute(name, value));
    told(says());
  }

  function says() {
    if (!at) return "Choose a cell to see its number.";
    const [t, s] = at;
    return `${map.queries[t]} → ${map.keys[s]}: ${masked(t, s) ? "masked, it does not exist yet" : map.weight(t, s).toFixed(6)}`;
  }

  home.addEventListener("pointerover", ({ target }) => {
    const cell = target.closest("[data-cell]");
    if (cell) point(cell.dataset.cell.split(",").map(Number));
  });
  return { show, redraw };
}
