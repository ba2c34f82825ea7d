// Arrow keys walk a map as a pointer does, cell by cell, and Enter and Space click: Plotly knows a pointer alone. So a
// map is one tab stop, and what it shows under the pointer is read aloud.
const places = new WeakMap(); // of a chart: where one has walked to, [column, row]
let telling = null; // what is under the pointer, once it rests there
let clicked = null; // the map that keys clicked last: Streamlit may build it anew, and the focus would be lost with it

/** The map that can be walked: a heatmap that tells its numbers, or the squares over the tiles of an overview. */
function walked(plot) {
  const traces = plot._fullData ?? [];
  const cells = traces.find(({ type, hoverinfo }) => type === "heatmap" && hoverinfo !== "skip");
  const trace = cells ?? traces.find(({ type, customdata }) => type === "scatter" && customdata);
  if (!trace) return null;
  const columns = cells ? cells.x ?? cells.z[0] : [...new Set(trace.x)], rows = cells ? cells.y ?? cells.z : [...new Set(trace.y)];
  const [across, down] = [trace.xaxis ?? "x", trace.yaxis ?? "y"];
  const axis = (name) => plot._fullLayout[name.replace(/^[xy]/, "$&axis")];
  const at = (values, i, plain) => (cells && !plain ? i : values[i]);
  return {
    width: columns.length, height: rows.length, upwards: axis(down).range[0] < axis(down).range[1],
    layer: plot.querySelector(`.${across}${down} .nsewdrag`) ?? plot.querySelector(".nsewdrag"),
    place: ([column, row]) => {
      const box = plot.getBoundingClientRect(), [x, y] = [axis(across), axis(down)];
      const left = x.d2p(at(columns, column, cells?.x)), top = y.d2p(at(rows, row, cells?.y));
      return { clientX: box.left + x._offset + left, clientY: box.top + y._offset + top };
    },
  };
}

function point(map, cell, ...kinds) {
  const init = { ...map.place(cell), bubbles: true, cancelable: true, view: window, button: 0, buttons: 1 };
  kinds.forEach((kind) => (kind === "mouseup" ? document : map.layer).dispatchEvent(new MouseEvent(kind, init)));
}

/** What Plotly shows under the pointer, a line after the other, as one sentence. */
function saysUnderPointer(plot) {
  const lines = [...plot.querySelectorAll(".hoverlayer text")].flatMap((text) => {
    const parts = [...text.querySelectorAll("tspan.line")];
    return (parts.length ? parts : [text]).map((part) => part.textContent.trim());
  });
  return aloud(lines.filter(Boolean));
}

function pressed(event) {
  const home = event.target.matches?.("[data-walked]") ? event.target : null, plot = home?.querySelector(".js-plotly-plot");
  const map = plot && walked(plot);
  if (!map || event.ctrlKey || event.metaKey || event.altKey) return;
  const [column, row] = places.get(plot) ?? [-1, 0], step = AHEAD[event.key];
  if (step) {
    const [right, down] = [step[0], map.upwards ? -step[1] : step[1]];
    const first = column < 0, kept = (value, size) => Math.min(Math.max(value, 0), size - 1);
    const cell = first ? [0, 0] : [kept(column + right, map.width), kept(row + down, map.height)];
    places.set(plot, cell);
    point(map, cell, "mouseover", "mousemove");
    clearTimeout(telling);
    telling = setTimeout(() => announce(saysUnderPointer(plot)), 150);
  } else if ((event.key === "Enter" || event.key === " ") && column >= 0) {
    clicked = { name: nameOf(home), cell: [column, row] };
    point(map, clicked.cell, "mousemove", "mousedown", "mouseup");
  } else if (event.key === "Escape" && column >= 0) leave(event);
  else return;
  event.preventDefault();
  event.stopPropagation();
}

/** The class by which Streamlit names the place of a chart. */
function nameOf(home) {
  return [...(home.closest("[class*=st-key-]")?.classList ?? [])].find((one) => one.startsWith("st-key-"));
}

function leave({ target }) {
  const plot = target.closest?.("[data-walked]")?.querySelector(".js-plotly-plot"), map = plot && walked(plot);
  if (!map || !places.has(plot)) return;
  map.layer.dispatchEvent(new MouseEvent("mouseout", { bubbles: true }));
  places.delete(plot);
}

/** Every map is a place to come to by Tab, under the words that it has for those who do not see it. */
function mark() {
  document.querySelectorAll("[data-testid=stPlotlyChart]:not([data-walked])").forEach((home) => {
    const plot = home.querySelector(".js-plotly-plot");
    if (!plot?._fullData || !walked(plot)) return;
    home.dataset.walked = "";
    home.tabIndex = 0;
    home.setAttribute("role", "application");
    home.setAttribute("aria-roledescription", "map, walked with the arrow keys");
  });
  const lost = clicked && document.activeElement === document.body && document.querySelector(`.${clicked.name} [data-walked]`);
  if (!lost) return;
  places.set(lost.querySelector(".js-plotly-plot"), clicked.cell);
  lost.focus({ preventScroll: true });
}

let watcher = null;

export default function () {
  if (watcher) return;
  document.addEventListener("keydown", pressed, { capture: true });
  document.addEventListener("focusout", leave);
  document.addEventListener("pointerdown", () => { clicked = null; });
  document.addEventListener("focusin", ({ target }) => { if (!target.closest?.("[data-walked]")) clicked = null; });
  watcher = new MutationObserver(mark);
  watcher.observe(document.body, { childList: true, subtree: true });
  mark();
}
