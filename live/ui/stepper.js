// Walks through a decode: what the model has read, what it could write next, and where each head attends, step by step.
import { announce, draw, el, find, singleTabStop } from "./dom.js";
import { availableWidth, component, zoomOf } from "./mounting.js";
import { colourAt, decodeFloats, meanOf, times, WEIGHTS } from "./numbers.js";
import { barButton, filmButtons, playback } from "./playback.js";
import { decimal, directionOf, headName, isolated, letters, percent, say, shortened } from "./words.js";

const SPEEDS = [1, 2, 0.5], STEP_TIME = 900; // milliseconds at speed 1
// pixels: labels of heads, room for the last slanted label, rows
const LEFT = 92, RIGHT = 60, CELL = 16, LOWEST = 4, GUTTER = 5;
const LABELLED = 14; // pixels: a lower row has no label of its own, because labels would overlap
const ABOVE = 228; // pixels of the screen above the picture in presenter mode

/**
 * Whether a guess is right. Upper and lower case and the mark of a subword do not count.
 * @param {string} guess @param {string} written
 */
export function isRight(guess, written) {
  return plain(guess) === plain(written);
}

const plain = (word) => word.replace(/^·/, "").trim().toLowerCase();

/**
 * The sizes of the picture of one step: a row for the mean and one for each head, a column for each key.
 * @param {object} picture
 * @param {[number, number]} picture.shape Layers, and heads per layer.
 * @param {string[]} picture.labels Of the keys.
 * @param {number} picture.available Pixels.
 * @param {number} [picture.below] Pixels that the picture may be high; the rows become as low as they must.
 */
export function rowsLayout({ shape: [layers, heads], labels, available, below = Infinity }) {
  const top = 14 + 6 * Math.max(...labels.map(letters));
  // labels of 14 pixels do not overlap
  const width = Math.min(34, Math.max(16, (available - LEFT - RIGHT) / labels.length));
  const cell = Math.max(LOWEST, Math.min(CELL, Math.floor((below - top - 4 - layers * GUTTER) / (layers * heads + 1))));
  const y = (row) => top + row * cell + (row ? GUTTER + Math.floor((row - 1) / heads) * GUTTER : 0);
  return { top, width, cell, y, height: y(layers * heads) + cell + 4 };
}

export const stepper = component((root) => {
  const calm = matchMedia("(prefers-reduced-motion: reduce)");
  let data = /** @type {any} */ (null), maps, report;
  let speed = /** @type {number | null} */ (null); // as chosen
  let revealed = new Set(); // the steps where the visitor asked for the candidates, when guessing
  let guesses = new Map(), typed = ""; // step → [the guess, whether it is right]; the text in the field
  const film = playback({
    length: () => data.steps.length,
    interval: () => STEP_TIME / currentSpeed(),
    draw: (changed) => {
      if (changed) typed = "";
      redraw();
      if (changed) announceStep();
    },
    report: (step) => { if (!data.fixed) report("step", step); },
  });
  const { index: current, show } = film;
  const last = () => data.steps.length - 1;
  const currentSpeed = () => speed ?? (calm.matches ? 0.5 : 1);
  const wordAt = (step) => data.steps[step].candidates.find((candidate) => candidate[3])[0];
  /** Whether the word that a step writes may be seen: the visitor asked for it at this step or a later one. */
  const isRevealed = (step) => !data.guess || [...revealed].some((one) => one >= step);

  function update(next, setTriggerValue) {
    const isNew = next.text !== data?.text;
    [data, maps, report] = [next, decodeFloats(next.maps), setTriggerValue];
    if (isNew) {
      film.stop();
      [revealed, guesses] = [new Set(), new Map()];
      const first = next.step ?? next.given; // the model does not choose the tokens of a prompt
      film.set(first, first);
    }
    film.refresh();
  }

  function announceStep() {
    const step = current(), hidden = step < data.given || !isRevealed(step);
    const sentence = hidden ? say("Step {n}", { n: step + 1 }) : say("Step {n}: written", { n: step + 1 });
    announce(sentence, hidden ? "" : wordAt(step), data.languages.word);
  }

  function changeSpeed() {
    const playing = film.playing();
    film.stop();
    speed = SPEEDS[(SPEEDS.indexOf(currentSpeed()) + 1) % SPEEDS.length];
    if (playing) film.play();
    else redraw();
  }

  function controls() {
    const step = current();
    return el("div", { class: "bar" }, [
      ...filmButtons(film, last(), [say("Previous step"), say("Next step")]),
      barButton(say("Speed: {number} ×", { number: currentSpeed() }), `${currentSpeed()} ×`, changeSpeed),
      el("input", { type: "range", min: 1, max: last() + 1, step: 1, "aria-label": say("Step"),
        oninput: (event) => show(Number(event.target.value) - 1), value: step + 1 }),
      el("output", { "aria-live": "off" }, say("step {n} of {all}", { n: step + 1, all: last() + 1 })),
    ]);
  }

  function prefix() {
    const step = current(), chips = data.steps.map(({ read }, i) => {
      const masked = i > step, hidden = masked && !isRevealed(i - 1), word = hidden ? "…" : shortened(read, 24);
      const note = masked ? say("masked: not written yet at this step") : say("read at this step");
      return el("button", {
        type: "button", class: `chip${masked ? " masked" : ""}${i === step ? " newest" : ""}`, title: note,
        "aria-label": say("{token}, {note}; go to this step", {
          token: hidden ? say("hidden") : isolated(word), note,
        }), onclick: () => show(i),
      }, [el("bdi", { lang: data.languages.word || false }, word)]);
    });
    chips.splice(step + 1, 0, el("span", { class: "chip asked" }, "?"));
    return el("div", { class: "prefix", dir: directionOf(data.steps.map(({ read }) => read)) }, chips);
  }

  /** Show the word that this step writes, and score the guess. */
  function reveal() {
    const step = current();
    if (plain(typed)) guesses.set(step, [typed.trim(), isRight(typed, wordAt(step))]);
    revealed.add(step);
    typed = "";
    redraw();
    if (guesses.has(step)) announce(verdict());
  }

  function verdict() {
    const [guess, right] = guesses.get(current()), all = [...guesses.values()];
    const count = all.filter(([, one]) => one).length;
    const word = (text) => isolated(shortened(text, 24));
    const values = { written: word(wordAt(current())), guess: word(guess), count, all: all.length };
    return right
      ? say("Right: the model wrote “{written}”. Right guesses so far: {count} of {all}.", values)
      : say("Wrong: the model wrote “{written}”, not “{guess}”. Right guesses so far: {count} of {all}.", values);
  }

  function question() {
    return [
      el("div", {}, say("Which token comes next? A token may be a part of a word.")),
      el("input", { type: "text", class: "guess", maxlength: 40, autocomplete: "off", placeholder: say("Your guess"),
        "aria-label": say("Your guess"), value: typed, oninput: (event) => { typed = event.target.value; },
        onkeydown: (event) => { if (event.key === "Enter" && !event.isComposing) reveal(); } }),
      el("button", { type: "button", class: "reveal", onclick: reveal }, say("Show the ten most likely tokens")),
    ];
  }

  function candidateButton([text, probability, id, written]) {
    const word = shortened(text, 20), share = percent(probability);
    const values = { token: isolated(word), share };
    const label = written ? say("{token} {share}, written", values)
      : data.fixed ? `${values.token} ${share}` : say("{token} {share}, force this token", values);
    return el("button", {
      type: "button", class: `candidate${written ? " written" : ""}`, "data-id": id, "aria-label": label,
      "aria-disabled": data.fixed && "true",
      onclick: () => {
        film.stop();
        if (!written && !data.fixed) report("force", { position: current(), id });
      },
    }, [
      el("span", { class: "fill", style: `width:${(100 * (probability || 0)).toFixed(2)}%` }),
      el("bdi", { class: "word", lang: data.languages.word || false }, word), el("span", { class: "share" }, share),
    ]);
  }

  function candidates() {
    const step = current();
    if (step < data.given) return el("div", { class: "candidates" }, [el("div", { class: "quiet" }, data.given_note)]);
    if (!isRevealed(step)) return el("div", { class: "candidates" }, question());
    const { candidates: offered, entropy } = data.steps[step];
    const number = decimal(entropy ?? NaN, 3);
    return el("div", { class: "candidates" }, [
      ...(data.guess && guesses.has(step) ? [el("div", { class: "verdict" }, verdict())] : []),
      el("div", { class: "quiet" }, data.fixed
        ? say("The ten most likely next tokens. Entropy: {number} nats.", { number })
        : say("The ten most likely next tokens. Choose another one to force it. Entropy: {number} nats.", { number })),
      ...offered.map(candidateButton),
    ]);
  }

  /** Row 0 is the mean of all heads, row r is head r − 1, counted through all layers. −∞ where the mask forbids. */
  function weightOf(row, s) {
    const one = (head) => maps[(head * data.steps.length + current()) * data.keys.length + s];
    return row ? one(row - 1) : meanOf(times(data.shape[0] * data.shape[1], (head) => one(head)));
  }

  function cellOf(row, s, name, { width, cell, y }) {
    const weight = weightOf(row, s), known = Number.isFinite(weight), masked = weight === -Infinity;
    const choose = () => {
      film.stop();
      report("cell", [row - 1, current(), s]);
    };
    return el("rect", {
      x: LEFT + s * width, y: y(row), width: width - 1, height: cell - 1,
      fill: known ? colourAt(WEIGHTS.scale, weight) : masked ? WEIGHTS.masked : WEIGHTS.broken,
      "data-row": row, "data-key": s, "data-weight": masked ? 0 : weight,
      ...(data.choosable && row && !masked ? {
        tabindex: -1, role: "button", style: "cursor:pointer", onclick: choose,
        onkeydown: ({ key }) => { if (key === "Enter") choose(); },
      } : {}),
    }, [el("title", {}, masked
      ? say("{token}: masked", { token: isolated(keyAt(s)) })
      : `${name} → ${isolated(keyAt(s))}: ${known ? weight.toFixed(6) : say("not a number")}`)]);
  }

  /**
   * A key of the map. In self-attention the keys are the words themselves, and a visitor who guesses must not see them.
   */
  const keyAt = (s) => data.kind === "cross" || s <= current() || isRevealed(s - 1) ? data.keys[s] : "…";

  /** The label of a row and the middle of its text. One label stands for all heads of a layer if their rows are low. */
  function rowLabel(row, { cell, y }) {
    const heads = data.shape[1], [layer, head] = [Math.floor((row - 1) / heads), (row - 1) % heads];
    if (!row) return [say("mean"), y(0) + cell / 2];
    if (cell >= LABELLED)
      return [head === 0 ? say("layer {layer} · 1", { layer: layer + 1 }) : String(head + 1), y(row) + cell / 2];
    return [head === 0 ? say("layer {layer}", { layer: layer + 1 }) : "", y(row) + heads * cell / 2];
  }

  function rowsOfHeads(title, available, below) {
    const heads = data.shape[1], rows = data.shape[0] * heads + 1;
    const words = data.keys.map((_, s) => shortened(keyAt(s), 12));
    const layout = rowsLayout({ shape: data.shape, labels: words, available, below }), { top, width, height } = layout;
    const names = [], cells = [];
    for (let row = 0; row < rows; row++) {
      const name = row ? headName(Math.floor((row - 1) / heads), (row - 1) % heads) : say("mean of all heads");
      const [label, middle] = rowLabel(row, layout);
      if (label) names.push(el("text", { x: LEFT - 6, y: middle + 5, "text-anchor": "end" }, label));
      cells.push(...data.keys.map((_, s) => cellOf(row, s, name, layout)));
    }
    const above = words.map((word, s) => {
      const x = LEFT + (s + 0.5) * width, at = top - 6;
      return el(
        "text", { x, y: at, transform: `rotate(-45 ${x} ${at})`, lang: data.languages.key || false }, isolated(word)
      );
    });
    return el("svg", {
      width: LEFT + words.length * width + RIGHT, height, role: data.choosable ? "group" : "img", "aria-label": title,
    }, [
      el("g", {}, above), el("g", {}, names), el("g", {}, cells),
    ]);
  }

  function redraw() {
    const step = current(), title = data.kind === "cross"
      ? say("Cross-attention at this step: where each head (row) attends in the source (column).")
      : say(
        "Decoder self-attention at this step: where each head (row) attends in the tokens read (column). Grey: masked."
      );
    draw(root, [controls(), prefix(), el("div", { class: "columns" }, [
      candidates(),
      el("div", {}, [el("div", { class: "quiet" }, title), el("div", { class: "scroll picture" })]),
    ])]);
    const picture = find(root, ".picture"); // it has its width only now
    const read = isRevealed(step - 1) ? `“${isolated(shortened(data.steps[step].read, 24))}”` : "…";
    const zoom = zoomOf(picture);
    const below = zoom > 1 ? (innerHeight - ABOVE) / zoom : Infinity; // who presents does not scroll
    const label = say("Step {n} of {all}, after reading {token}. {title}", {
      n: step + 1, all: last() + 1, token: read, title,
    });
    draw(picture, [rowsOfHeads(label, availableWidth(picture), below)]);
    if (data.choosable) singleTabStop(find(picture, "svg"), "rect[tabindex]");
  }

  return { update, redraw, stop: film.end, picture: () => root.querySelector("svg") };
});
