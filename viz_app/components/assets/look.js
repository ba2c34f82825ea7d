// Lines from each word that was written to the words that it looked at; what one points at lights up, here and in the
// map: a chip its row or column, a cell of the map its chips.
export default function ({ data, parentElement }) {
  const view = mounted(parentElement, looks);
  view.update(data);
  return view.close;
}

function looks() {
  const SHOWN = 0.2, LIT = 0.02; // weights that have a line: at rest, and of what is pointed at
  let data, weights, lit = null, home = null; // lit: { query } or { key }; home: where the chips are, once they came
  const place = () => document.querySelector(".hl-looks");
  const chip = (row, i) => place()?.querySelector(`.hl-row[data-row=${row}] [data-i="${i}"]`);
  const queryChip = (t) => chip(data.query_row, t + data.query_from);
  const keyChip = (s) => chip(data.key_row, s + data.key_from);
  const weight = (t, s) => weights[t * data.keys + s];

  function linesOf() {
    const found = [];
    for (let t = 0; t < data.queries; t++)
      for (let s = 0; s < data.keys; s++) {
        const of = !lit || lit.query === t || lit.key === s;
        if (of && weight(t, s) >= (lit ? LIT : SHOWN)) found.push([t, s, weight(t, s)]);
      }
    return found;
  }

  function redraw() {
    if (!home) return;
    home.querySelectorAll(".hl-looked, .hl-asks").forEach((one) => {
      one.classList.remove("hl-looked", "hl-asks");
      one.style.removeProperty("--hl-weight");
    });
    home.querySelector(":scope > svg")?.remove();
    const box = home.getBoundingClientRect(), lines = linesOf();
    const wrapped = [...home.querySelectorAll(".hl-chips")].some((row) => row.clientHeight > 44); // lines would cross words
    if (data.query_row !== data.key_row && (lit || !wrapped)) {
      const drawing = el("svg", { width: box.width, height: box.height, "aria-hidden": "true" }, lines.flatMap(([t, s, w]) => {
        const [from, to] = [keyChip(s), queryChip(t)].map((one) => one?.getBoundingClientRect());
        if (!from || !to) return [];
        return [el("line", {
          x1: from.left + from.width / 2 - box.left, y1: from.bottom - box.top + 1,
          x2: to.left + to.width / 2 - box.left, y2: to.top - box.top - 1,
          "stroke-width": (0.8 + 3.2 * w).toFixed(2), "stroke-opacity": (0.75 + 0.25 * w).toFixed(2),
        })];
      }));
      const holder = document.createElement("div");
      draw(holder, [drawing]);
      home.append(holder.firstChild);
    }
    if (!lit) return;
    const asks = lit.query !== undefined ? queryChip(lit.query) : keyChip(lit.key);
    asks?.classList.add("hl-asks");
    lines.forEach(([t, s, w]) => {
      const looked = lit.query !== undefined ? keyChip(s) : queryChip(t);
      if (looked === asks) return;
      looked?.classList.add("hl-looked");
      looked?.style.setProperty("--hl-weight", `${Math.round(15 + 40 * w)}%`);
    });
  }

  /** Have the large map frame the row or the column of what is pointed at. */
  function mark() {
    document.dispatchEvent(new CustomEvent("headlight-mark", { detail: data.in_map ? lit : null }));
  }

  function light(next, framed = true) {
    if (JSON.stringify(next) === JSON.stringify(lit)) return;
    lit = next;
    redraw();
    if (framed) mark();
  }

  function dim() {
    light(null);
  }

  function pointed(event) {
    const one = event.target.closest?.(".hl-looks [data-i]");
    if (!one) return light(null);
    const row = one.closest(".hl-row").dataset.row, i = Number(one.dataset.i);
    const [t, s] = [i - data.query_from, i - data.key_from];
    if (row === data.query_row && t >= 0 && t < data.queries) return light({ query: t });
    return light(row === data.key_row && s >= 0 && s < data.keys ? { key: s } : null);
  }

  /** A cell of the large map is pointed at, or none. */
  function pointedInMap({ detail }) {
    if (data.in_map) light(detail, false);
  }

  function update(next) {
    [data, weights, lit, home] = [next, floats(next.weights), null, null];
    settle();
    mark(); // what was framed is of another map
  }

  /** The chips may come later than what is told of them, and others may take their place. */
  function settle() {
    if (!data || place() === home) return;
    home = place();
    if (home) home.dataset.title = data.title;
    const until = { signal: ended.signal }; // the same listener counts once
    ["pointerover", "focusin"].forEach((one) => home?.addEventListener(one, pointed, until));
    ["pointerleave", "focusout"].forEach((one) => home?.addEventListener(one, dim, until));
    sizes.disconnect();
    if (home) sizes.observe(home); // which draws at once
  }

  function stop() {
    watcher.disconnect();
    sizes.disconnect();
    ended.abort();
    document.fonts.removeEventListener("loadingdone", redraw);
    document.removeEventListener("headlight-cell", pointedInMap);
  }

  const ended = new AbortController();
  const watcher = new MutationObserver(settle);
  watcher.observe(document.body, { childList: true, subtree: true });
  const sizes = new ResizeObserver(redraw);
  document.fonts.addEventListener("loadingdone", redraw); // chips move when their letters come
  document.addEventListener("headlight-cell", pointedInMap);
  return { update, redraw, stop };
}
