// Walks through a decode: what was read, what could come next, and where each head looked, step by step.
export default function ({ data, parentElement, setTriggerValue }) {
  const view = mounted(parentElement, stepper);
  view.update(data, setTriggerValue);
  return view.close;
}

function stepper(root) {
  const SPEEDS = [1, 2, 0.5], CALM = matchMedia("(prefers-reduced-motion: reduce)");
  const QUIET = 400; // milliseconds without a change, after which the step goes into the link
  let data = null, maps, last, report, step = 0, timer = null, telling = null, told = 0, speed = null; // the pace that was chosen
  let revealed = new Set(); // steps whose candidates were asked for, where one guesses first
  let guesses = new Map(), typed = ""; // step → [the guess, whether it was right]; what is in the field

  function update(next, setTriggerValue) {
    if (next.text !== data?.text) {
      stop();
      revealed = new Set();
      guesses = new Map();
      step = told = next.step ?? next.given; // what a prompt forces is no choice of the model
    }
    [data, maps, last, report] = [next, floats(next.maps), next.steps.length - 1, setTriggerValue];
    go(step);
  }

  function stop() {
    clearInterval(timer);
    clearTimeout(telling);
    timer = null;
  }

  function go(to) {
    const before = step;
    step = Math.min(Math.max(to, 0), last);
    if (step === last) stop();
    if (step !== before) typed = "";
    redraw();
    tell();
    if (step !== before) say();
  }

  function wordAt(at) {
    return data.steps[at].candidates.find((candidate) => candidate[3])[0];
  }

  function say() {
    const written = wordAt(step);
    const hidden = step < data.given || (data.guess && !seen(step));
    announce(`Step ${step + 1}${hidden ? "" : ": written"}`, hidden ? "" : written, data.languages.word);
  }

  function walked(event) {
    event.preventDefault();
    walk(step + event.detail);
  }

  function tell() {
    clearTimeout(telling);
    if (timer || data.fixed || step === told) return;
    telling = setTimeout(() => { told = step; report("step", step); }, QUIET);
  }

  function walk(to) {
    stop();
    go(to);
  }

  const pace = () => speed ?? (CALM.matches ? 0.5 : 1);

  function play() {
    if (timer) return walk(step);
    timer = setInterval(() => go(step + 1), 900 / pace());
    go(step === last ? 0 : step);
  }

  function controls() {
    // A button that says that it is disabled keeps the focus; one that is disabled would drop it.
    const button = (label, text, onclick, off = false) =>
      el("button", { type: "button", "aria-label": label, title: label, "aria-disabled": off && "true", onclick }, text);
    return el("div", { class: "bar" }, [
      button(timer ? "Pause" : "Play", timer ? "❚❚" : "▶", play),
      button("One step back", "‹", () => walk(step - 1), step === 0),
      button("One step on", "›", () => walk(step + 1), step === last),
      button(`Pace: ${pace()} ×`, `${pace()} ×`, () => {
        const playing = timer !== null;
        stop();
        speed = SPEEDS[(SPEEDS.indexOf(pace()) + 1) % SPEEDS.length];
        playing ? play() : redraw();
      }),
      el("input", { type: "range", min: 1, max: last + 1, step: 1, "aria-label": "Step",
        oninput: (event) => walk(Number(event.target.value) - 1), value: step + 1 }),
      el("output", { "aria-live": "off" }, `step ${step + 1} of ${last + 1}`),
    ]);
  }

  function prefix() {
    const chips = data.steps.map(({ read }, i) => {
      const masked = i > step, hidden = masked && data.guess && !seen(i - 1), word = hidden ? "…" : shortened(read, 24);
      const says = masked ? "masked: not written yet at this step" : "read at this step";
      return el("button", {
        type: "button", class: `chip${masked ? " masked" : ""}${i === step ? " newest" : ""}`, title: says,
        "aria-label": `${hidden ? "hidden" : word}, ${says}; go there`, onclick: () => walk(i),
      }, [el("span", { lang: data.languages.word || false }, word)]);
    });
    chips.splice(step + 1, 0, el("span", { class: "chip asked" }, "?"));
    return el("div", { class: "prefix" }, chips);
  }

  /** Whether the word that a step writes may be seen: it was asked for there, or later. */
  function seen(at) {
    return [...revealed].some((one) => one >= at);
  }

  /** Show what is written at this step, and score the guess; neither case nor the subword mark counts. */
  function reveal() {
    const plain = (word) => word.replace(/^·/, "").trim().toLowerCase();
    if (plain(typed)) guesses.set(step, [typed.trim(), plain(typed) === plain(wordAt(step))]);
    revealed.add(step);
    typed = "";
    redraw();
    if (guesses.has(step)) announce(verdict());
  }

  function verdict() {
    const [guess, right] = guesses.get(step), written = `the model wrote “${shortened(wordAt(step), 24)}”`;
    const all = [...guesses.values()], count = all.filter(([, one]) => one).length;
    const score = `${count} of ${all.length} ${all.length === 1 ? "guess" : "guesses"} right so far.`;
    return `${right ? `Right: ${written}.` : `Wrong: ${written}, not “${shortened(guess, 24)}”.`} ${score}`;
  }

  function candidates() {
    if (step < data.given)
      return el("div", { class: "candidates" }, [el("div", { class: "quiet" }, data.given_says)]);
    if (data.guess && !seen(step))
      return el("div", { class: "candidates" }, [
        el("div", {}, "What comes next? A token may be a part of a word."),
        el("input", { type: "text", class: "guess", maxlength: 40, autocomplete: "off", placeholder: "Your guess",
          "aria-label": "Your guess", value: typed, oninput: (event) => { typed = event.target.value; },
          onkeydown: (event) => { if (event.key === "Enter" && !event.isComposing) reveal(); } }),
        el("button", { type: "button", class: "reveal", onclick: reveal }, "Show the ten best"),
      ]);
    const { candidates: offered, entropy } = data.steps[step];
    const rows = offered.map(([text, probability, id, written]) => {
      const word = shortened(text, 20), share = percent(probability);
      return el("button", {
        type: "button", class: `candidate${written ? " written" : ""}`, "data-id": id,
        "aria-label": `${word} ${share}${written ? ", written" : data.fixed ? "" : ", write this instead"}`,
        "aria-disabled": data.fixed && "true",
        onclick: () => {
          stop();
          if (!written && !data.fixed) report("force", { position: step, id });
        },
      }, [
        el("span", { class: "fill", style: `width:${(100 * probability).toFixed(2)}%` }),
        el("span", { class: "word", lang: data.languages.word || false }, word), el("span", { class: "share" }, share),
      ]);
    });
    return el("div", { class: "candidates" }, [
      ...(data.guess && guesses.has(step) ? [el("div", { class: "verdict" }, verdict())] : []),
      el("div", { class: "quiet" }, `The ten best next tokens. ${data.fixed ? "" : "Choose another to write it instead. "}Entropy ${entropy.toFixed(3)} nats.`),
      ...rows,
    ]);
  }

  function heat(title, wide) {
    const [layers, heads] = data.shape, labels = data.keys, columns = labels.length;
    const left = 92, right = 60, cell = 16, gutter = 5, rows = layers * heads + 1; // the last label leans to the right
    const words = labels.map((label) => shortened(label, 12)), broad = (sign) => (sign > "\u1100" ? 2 : 1);
    const longest = Math.max(...words.map((word) => [...word].reduce((sum, sign) => sum + broad(sign), 0)));
    const top = 14 + 6 * longest; // above the rows: many rows end below a projector's screen, and a row needs its keys
    const width = Math.min(34, Math.max(16, (wide - left - right) / columns)); // labels of 14 pixels do not overlap
    const y = (row) => top + row * cell + (row ? gutter + Math.floor((row - 1) / heads) * gutter : 0);
    const height = y(rows - 1) + cell + 4;
    const names = [], cells = [];
    for (let row = 0; row < rows; row++) {
      const [layer, head] = [Math.floor((row - 1) / heads), (row - 1) % heads];
      const name = row ? `layer ${layer + 1} · head ${head + 1}` : "mean of all";
      const label = row ? (head === 0 ? `layer ${layer + 1} · 1` : String(head + 1)) : "mean";
      names.push(el("text", { x: left - 6, y: y(row) + 13, "text-anchor": "end" }, label));
      for (let s = 0; s < columns; s++) {
        const number = weightOf(row, s), masked = Number.isNaN(number), weight = masked ? 0 : number;
        cells.push(el("rect", {
          x: left + s * width, y: y(row), width: width - 1, height: cell - 1,
          fill: masked ? data.colours.masked : between(data.colours.scale, weight),
          "data-row": row, "data-key": s, "data-weight": weight,
        }, [el("title", {}, masked ? `${labels[s]}: masked` : `${name} → ${labels[s]}: ${weight.toFixed(6)}`)]));
      }
    }
    const above = words.map((word, s) => {
      const x = left + (s + 0.5) * width, at = top - 6;
      return el("text", { x, y: at, transform: `rotate(-45 ${x} ${at})`, lang: data.languages.key || false }, word);
    });
    return el("svg", { width: left + columns * width + right, height, role: "img", "aria-label": title }, [
      el("g", {}, above), el("g", {}, names), el("g", {}, cells),
    ]);
  }

  /** Row 0 is the mean of all heads, row r is head r − 1 counted through all layers; NaN where the mask forbids. */
  function weightOf(row, s) {
    const one = (index) => maps[(index * data.steps.length + step) * data.keys.length + s];
    if (row) return one(row - 1);
    const count = data.shape[0] * data.shape[1];
    let sum = 0, open = 0;
    for (let index = 0; index < count; index++) {
      if (Number.isNaN(one(index))) continue;
      sum += one(index);
      open += 1;
    }
    return open ? sum / count : NaN; // a layer with a window gives 0 to what is outside
  }

  function redraw() {
    const title = data.kind === "cross"
      ? "Where each head (row) looks in the source (column) at this step: the cross-attention row of this query."
      : "Where each head (row) looks in what was read (column) at this step; grey: masked.";
    draw(root, [controls(), prefix(), el("div", { class: "columns" }, [
      candidates(),
      el("div", {}, [el("div", { class: "quiet" }, title), el("div", { class: "scroll picture" })]),
    ])]);
    const picture = root.querySelector(".picture"); // its room is known once it stands there
    const read = data.guess && !seen(step - 1) ? "…" : `“${shortened(data.steps[step].read, 24)}”`;
    draw(picture, [heat(`Step ${step + 1} of ${last + 1}, after reading ${read}. ${title}`, room(picture))]);
  }

  document.addEventListener("headlight-walk", walked);
  const close = () => {
    stop();
    document.removeEventListener("headlight-walk", walked);
  };
  return { update, redraw, stop: close, picture: () => root.querySelector("svg") };
}
