// Walks through a decode: what was read, what could come next, and where each head looked, step by step.
export default function ({ data, parentElement, setTriggerValue }) {
  const state = remembered(parentElement, () => ({ step: 0, timer: null, text: null }));
  if (state.text !== data.text) Object.assign(state, { text: data.text, step: 0 });
  const steps = data.steps, last = steps.length - 1;
  const maps = floats(data.maps), [layers, heads] = data.shape;
  const root = parentElement.querySelector(".root");
  stop();
  state.step = Math.min(state.step, last);

  function stop() {
    clearInterval(state.timer);
    state.timer = null;
  }

  function go(step) {
    state.step = Math.min(Math.max(step, 0), last);
    if (state.step === last) stop();
    draw();
  }

  function play() {
    if (state.timer) stop();
    else {
      if (state.step === last) state.step = 0;
      state.timer = setInterval(() => go(state.step + 1), 900);
    }
    draw();
  }

  function controls() {
    const number = make("output", { "aria-live": "polite" }, `step ${state.step + 1} of ${steps.length}`);
    const slider = make("input", {
      type: "range", min: 1, max: steps.length, step: 1, "aria-label": "Step", style: "flex:1;min-width:10rem",
      oninput: (event) => { stop(); go(Number(event.target.value) - 1); },
    });
    slider.value = state.step + 1;
    const button = (label, text, onclick, disabled = false) =>
      make("button", { type: "button", "aria-label": label, title: label, onclick, disabled }, text);
    return make("div", { class: "bar" }, null, [
      button(state.timer ? "Pause" : "Play", state.timer ? "❚❚" : "▶", play),
      button("One step back", "‹", () => { stop(); go(state.step - 1); }, state.step === 0),
      button("One step on", "›", () => { stop(); go(state.step + 1); }, state.step === last),
      slider, number,
    ]);
  }

  function prefix() {
    const chips = steps.map(({ read }, i) => {
      const masked = i > state.step;
      return make("span", {
        class: `chip${masked ? " masked" : ""}${i === state.step ? " newest" : ""}`,
        title: masked ? "masked: not written yet at this step" : "read at this step",
      }, shortened(read, 24));
    });
    const asked = make("span", { class: "chip asked" }, "?");
    chips.splice(state.step + 1, 0, asked);
    return make("div", { class: "prefix" }, null, chips);
  }

  function candidates() {
    const { candidates: offered, entropy } = steps[state.step];
    const rows = offered.map(([text, probability, id, written]) =>
      make("button", {
        type: "button", class: `candidate${written ? " written" : ""}`, "data-id": id,
        "aria-label": `${text}, probability ${percent(probability)}${written ? ", written" : ", write this instead"}`,
        onclick: () => { if (!written) { stop(); setTriggerValue("force", { position: state.step, id }); } },
      }, null, [
        make("span", { class: "fill", style: `width:${(100 * probability).toFixed(2)}%` }),
        make("span", { class: "word" }, shortened(text, 20)), make("span", { class: "share" }, percent(probability)),
      ]));
    return make("div", { class: "candidates" }, null, [
      make("div", { class: "quiet" },
        `The ten best next tokens. Click another to write it instead. Entropy ${entropy.toFixed(3)} nats.`),
      ...rows,
    ]);
  }

  function heat(title, labels, maskedFrom) {
    const left = 92, cell = 15, columns = labels.length;
    const room = Math.max(root.clientWidth - 300, 320);
    const width = Math.min(34, (room - left - 8) / columns), bottom = 74, top = 4;
    const rows = layers * heads + 1, gutter = 5;
    const y = (row) => top + row * cell + (row ? gutter + Math.floor((row - 1) / heads) * gutter : 0);
    const height = y(rows - 1) + cell + bottom;
    const parts = [];
    for (let row = 0; row < rows; row++) {
      const [layer, head] = [Math.floor((row - 1) / heads), (row - 1) % heads];
      const name = row ? `layer ${layer + 1} · head ${head + 1}` : "mean of all";
      const label = row ? (head === 0 ? `layer ${layer + 1} · 1` : String(head + 1)) : "mean";
      parts.push(make("text", { x: left - 6, y: y(row) + 11.5, "text-anchor": "end", "font-size": 11 }, label));
      for (let s = 0; s < columns; s++) {
        const masked = s >= maskedFrom, weight = masked ? 0 : weightOf(row, s);
        parts.push(make("rect", {
          x: left + s * width, y: y(row), width: Math.max(width - 1, 1), height: cell - 1,
          fill: masked ? "#8c8c8c" : viridis(weight), "data-row": row, "data-key": s, "data-weight": weight,
        }, null, [make("title", {}, masked ? `${labels[s]}: masked` : `${name} → ${labels[s]}: ${weight.toFixed(6)}`)]));
      }
    }
    labels.forEach((label, s) => {
      const x = left + (s + 0.5) * width;
      parts.push(make("text", { x, y: height - bottom + 12, "font-size": 12, "text-anchor": "end",
        transform: `rotate(-45 ${x} ${height - bottom + 12})` }, shortened(label, 12)));
    });
    const picture = make("svg", { width: left + columns * width + 4, height, role: "img", "aria-label": title }, null, parts);
    return make("div", {}, null, [make("div", { class: "quiet" }, title), picture]);
  }

  /** Row 0 is the mean of all heads, row r is head r − 1 counted through all layers. */
  function weightOf(row, s) {
    const one = (index) => maps[(index * steps.length + state.step) * data.keys.length + s];
    if (row) return one(row - 1);
    let sum = 0;
    for (let index = 0; index < layers * heads; index++) sum += one(index);
    return sum / (layers * heads);
  }

  function draw() {
    const picture = data.kind === "cross"
      ? heat("Where each head (row) looks in the source (column) at this step: the cross-attention row of this query.",
        data.keys, Infinity)
      : heat("Where each head (row) looks in what was read (column) at this step; grey: masked, not written yet.",
        data.keys, state.step + 1);
    const focused = parentElement.activeElement?.getAttribute("aria-label");
    root.replaceChildren(controls(), prefix(), make("div", { class: "columns" }, null, [candidates(), picture]));
    if (focused) [...root.querySelectorAll("[aria-label]")].find((e) => e.getAttribute("aria-label") === focused)?.focus();
  }

  draw();
  return stop;
}
