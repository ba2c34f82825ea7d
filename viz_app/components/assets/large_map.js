// One attention map large, with its labels: the cell under the pointer or the arrow keys is framed, and its number told.
// A map is drawn once. A pointer that moves looks up one cell and moves one frame, however large the map is.
const STEPS = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
const CELL = [15, 38], HIGHEST = 26, LONGEST = 16; // pixels of a cell, and of its height; signs of a label
const WIDEST = 80, TALLEST = 54, UPRIGHT = 18, BAR = 12, STOPS = 32; // of a cell where the height is given; of an upright label; of a colour bar

/** A map in the element `home`; `told(sentence)` is called with what there is to say of the cell that is pointed at. */
function largeMap(home, told) {
  let map = null, at = null, place = null; // at: a cell as [query, key]; place: of a cell in the drawing

  /** `next`: queries, keys, query_title, key_title, languages, colours, label, title, `weight(t, s)` and `masked(t, s)`.
   * It may also have `share(t, s)`, where a weight stands on the scale of colours; `says(t, s)`; `tall`, the pixels that
   * the picture should fill; and `bar`, the unit and the ticks of a colour bar. */
  function show(next) {
    const same = map && next.queries.length === map.queries.length && next.keys.length === map.keys.length;
    map = next;
    if (!same) at = null;
    redraw();
  }

  const masked = (t, s) => map.masked(t, s);
  const share = (t, s) => (map.share ?? map.weight)(t, s);
  const tell = (detail) => home.dispatchEvent(new CustomEvent("headlight-cell", { bubbles: true, composed: true, detail }));
  const wide = (labels) => Math.min(150, 12 + 8 * Math.max(...labels.map((label) => Math.min([...label].length, LONGEST))));

  function redraw() {
    const left = wide(map.queries) + 22, beside = map.bar ? BAR + 74 : 8;
    const cell = Math.max(CELL[0], Math.min(map.tall ? WIDEST : CELL[1], (room(home) - left - beside) / map.keys.length));
    const upright = cell < 22; // slanted labels would overprint each other
    const below = wide(map.keys) * (upright ? 1 : 0.75) + 24;
    const fitting = map.tall ? Math.min(TALLEST, (map.tall - below - 8) / map.queries.length) : Math.min(HIGHEST, cell);
    const whole = (7 * map.query_title.length - below) / map.queries.length; // where a few rows would cut their own title
    const high = Math.max(CELL[0], Math.min(TALLEST, whole), fitting);
    const bottom = map.queries.length * high, right = left + map.keys.length * cell;
    place = ([t, s]) => ({ x: left + s * cell, y: t * high, width: cell - 1, height: high - 1 });
    const cells = map.queries.flatMap((_, t) => map.keys.map((_, s) => el("rect", {
      ...place([t, s]), "data-cell": `${t},${s}`,
      fill: masked(t, s) ? map.colours.masked : between(map.colours.scale, share(t, s)),
    })));
    const rows = map.queries.map((query, t) => el("text", {
      x: left - 6, y: (t + 0.5) * high + 5, "text-anchor": "end", lang: map.languages.query || false,
    }, shortened(query, LONGEST)));
    const every = upright ? Math.ceil(UPRIGHT / cell) : 1; // labels that have no room are left out
    const columns = map.keys.filter((_, s) => s % every === 0).map((key, i) => {
      const x = left + (i * every + 0.5) * cell, y = bottom + 14;
      return el("text", { x: upright ? x + 5 : x, y, "text-anchor": "end", transform: `rotate(${upright ? -90 : -45} ${x} ${y})`, lang: map.languages.key || false }, shortened(key, LONGEST));
    });
    const middle = Math.max(bottom / 2, Math.min(4 * map.query_title.length, (bottom + below) / 2)); // a long title stays whole
    const titles = [
      el("text", { x: 14, y: middle, "text-anchor": "middle", transform: `rotate(-90 14 ${middle})` }, map.query_title),
      el("text", { x: (left + right) / 2, y: bottom + below, "text-anchor": "middle" }, map.key_title),
    ];
    draw(home, [el("svg", {
      width: right + (map.bar ? beside : 4), height: bottom + below + 8, tabindex: 0, role: "group", class: "map", "data-title": map.title,
      "aria-label": `${map.label}: rows are queries, columns are keys; arrow keys walk the cells`, onkeydown: walk,
    }, [el("g", {}, cells), el("g", {}, [...rows, ...columns, ...titles]), el("g", {}, [
      el("rect", { class: "pointed", fill: "none" }), el("rect", { class: "pointed marked", fill: "none" }),
    ]), ...(map.bar ? [colourBar(right + 10, bottom)] : [])])]);
    point(at);
    mark(null);
  }

  function colourBar(x, height) {
    const step = height / STOPS, title = [x + BAR + 44, height / 2];
    return el("g", {}, [
      ...Array.from({ length: STOPS }, (_, i) => el("rect", {
        x, y: i * step, width: BAR, height: step + 0.5, fill: between(map.colours.scale, 1 - (i + 0.5) / STOPS),
      })),
      ...map.bar.ticks.map(([share, text]) => el("text", { x: x + BAR + 4, y: Math.max(13, (1 - share) * height) }, text)),
      el("text", { x: title[0], y: title[1], "text-anchor": "middle", transform: `rotate(90 ${title.join(" ")})` }, map.bar.unit),
    ]);
  }

  /** Frame a whole row `{ query }` or column `{ key }`; with null, nothing. */
  function mark(line) {
    const frame = home.querySelector(".marked"), [t, s] = [line?.query, line?.key];
    frame.style.display = line ? "" : "none";
    if (!line) return;
    const [first, last] = [place([t ?? 0, s ?? 0]), place([t ?? map.queries.length - 1, s ?? map.keys.length - 1])];
    const box = { x: first.x, y: first.y, width: last.x + last.width - first.x, height: last.y + last.height - first.y };
    Object.entries(box).forEach(([name, value]) => frame.setAttribute(name, value));
  }

  function walk(event) {
    const step = STEPS[event.key];
    if (!step) return;
    event.preventDefault(); // of scrolling
    event.stopPropagation(); // of walking to another step
    const within = (value, size) => Math.min(Math.max(value, 0), size - 1);
    point(at ? [within(at[0] + step[0], map.queries.length), within(at[1] + step[1], map.keys.length)] : [0, 0]);
    const [t, s] = at, number = masked(t, s) ? "masked" : `attention weight: ${map.weight(t, s).toFixed(6)}`;
    announce(aloud(map.says ? [map.says(t, s)] : [`query: ${map.queries[t]}`, `key: ${map.keys[s]}`, number]));
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
    if (map.says) return map.says(t, s);
    return `${map.queries[t]} → ${map.keys[s]}: ${masked(t, s) ? "masked: weight exactly 0" : map.weight(t, s).toFixed(6)}`;
  }

  home.addEventListener("pointerover", ({ target }) => {
    const cell = target.closest("[data-cell]");
    if (!cell) return;
    point(cell.dataset.cell.split(",").map(Number));
    tell({ query: at[0] });
  });
  home.addEventListener("pointerleave", () => tell(null));
  return { show, redraw, mark };
}
