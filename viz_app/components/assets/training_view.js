// The heads of one sentence over the course of a training: buttons and a slider go through the snapshots, the browser
// alone draws them. The server hears of a snapshot once one stays at it, and of a head that is chosen.
export default function ({ data, parentElement, setTriggerValue }) {
  const view = mounted(parentElement, trainingView);
  view.update(data, setTriggerValue);
  return view.close;
}

function trainingView(root) {
  const PACE = 1000, QUIET = 400; // milliseconds that a snapshot is shown, and without a change until it goes into the link
  const TALLEST = 320; // pixels of all heads
  let data = null, weights, report, stage = 0, chosen = 0, timer = null, telling = null, told = null, large = null;

  function update(next, setTriggerValue) {
    if (next.snapshot !== data?.snapshot && next.snapshot !== told) stage = next.snapshot; // else it is what one chose here
    [data, weights, report, chosen, told] = [next, floats(next.weights), setTriggerValue, next.chosen, next.snapshot];
    stage = Math.min(stage, last());
    redraw();
  }

  const last = () => data.snapshots.length - 1;
  const named = (head) => `layer ${Math.floor(head / data.heads) + 1}, head ${(head % data.heads) + 1}`;

  function stop() {
    clearInterval(timer);
    clearTimeout(telling);
    timer = null;
  }

  function go(to) {
    const before = stage, { name, text } = data.snapshots[(stage = Math.min(Math.max(to, 0), last()))];
    if (stage === last()) stop();
    redraw();
    tell();
    if (stage !== before) announce(`${name}. Written:`, text, data.languages.written);
  }

  function walk(to) {
    stop();
    go(to);
  }

  function play() {
    if (timer) return walk(stage);
    timer = setInterval(() => go(stage + 1), PACE);
    go(stage === last() ? 0 : stage);
  }

  function walked(event) {
    event.preventDefault();
    walk(stage + event.detail);
  }

  function tell() {
    clearTimeout(telling);
    if (timer || stage === told) return;
    telling = setTimeout(() => { told = stage; report("snapshot", stage); }, QUIET);
  }

  function open(head) {
    chosen = head;
    redraw();
    report("open", { layer: Math.floor(head / data.heads), head: head % data.heads });
  }

  function controls() {
    const { name } = data.snapshots[stage];
    const button = (label, text, onclick, off = false) =>
      el("button", { type: "button", "aria-label": label, title: label, "aria-disabled": off && "true", onclick }, text);
    return el("div", { class: "bar" }, [
      button(timer ? "Pause" : "Play", timer ? "❚❚ Pause" : "▶ Play", play),
      button("One snapshot back", "‹", () => walk(stage - 1), stage === 0),
      button("One snapshot on", "›", () => walk(stage + 1), stage === last()),
      el("input", { type: "range", min: 0, max: last(), step: 1, "aria-label": "Snapshot", "aria-valuetext": name,
        oninput: (event) => walk(Number(event.target.value)), value: stage }),
      el("output", { "aria-live": "off", class: "snapshot" }, name),
    ]);
  }

  function written() {
    const { text, loss } = data.snapshots[stage];
    return el("div", { class: "wrote" }, [
      el("span", { class: "quiet" }, "writes"), el("bdi", { lang: data.languages.written || false }, text), el("span", { class: "quiet" }, loss),
    ]);
  }

  function redraw() {
    const { name } = data.snapshots[stage], label = `${data.alt}, ${named(chosen)}, ${name}`;
    draw(root, [
      controls(),
      written(),
      el("div", { class: "maps", role: "figure", "aria-label": label, "data-title": label }, [
        sheetOfHeads({
          ...data, picture: data.snapshots[stage].picture,
          lit: (layer, head) => layer * data.heads + head === chosen, open: (layer, head) => open(layer * data.heads + head),
        }),
        el("div", {}, [
          el("div", { class: "quiet" }, `L${named(chosen).slice(1)}, ${name}: attention weights, 0 dark to 1 bright.`),
          el("div", { class: "scroll picture" }),
          el("output", { "aria-live": "off", class: "says" }),
        ]),
      ]),
    ]);
    const says = root.querySelector(".says"), size = data.queries.length * data.keys.length;
    fitSheet(root.querySelector(".sheet"), { ...data, rows: data.queries.length, columns: data.keys.length, tallest: TALLEST });
    const weight = (t, s) => weights[stage * size + t * data.keys.length + s];
    large ??= largeMap(root.querySelector(".picture"), (sentence) => { says.textContent = sentence; });
    large.show({
      ...data, label, title: label,
      weight, masked: (t, s) => Number.isNaN(weight(t, s)),
    });
    oneTabStop(root, ".over");
  }

  document.addEventListener("headlight-walk", walked);
  const close = () => {
    stop();
    document.removeEventListener("headlight-walk", walked);
  };
  return { update, redraw, stop: close, picture: () => root.querySelector(".maps") };
}
