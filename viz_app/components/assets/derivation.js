// A part of the model: its steps with their numbers, beside the code. What one points at lights up in both.
export default function ({ data, parentElement }) {
  const view = mounted(parentElement, derivation);
  view.update(data);
  return view.close;
}

function derivation(root) {
  let data, pinned = "", pointed = "";

  function point(step) {
    if (pointed === step) return;
    pointed = step;
    redraw();
  }

  /** What an element of a step has: it lights the step while it is pointed at. */
  function of(step, name) {
    return {
      class: `${name}${step === (pointed || pinned) ? " lit" : ""}`, "data-step": step,
      onpointerenter: () => point(step), onpointerleave: () => point(""),
    };
  }

  function part({ name, formula, facts, picture, says, height, coarse }) {
    return el("button", {
      ...of(name, "step"), type: "button", "aria-pressed": String(pinned === name),
      onfocus: () => point(name), onblur: () => point(""),
      onclick: () => { pinned = pinned === name ? "" : name; redraw(); },
    }, [
      el("span", { class: "name" }, name),
      el("span", { class: "formula" }, formula),
      el("img", { src: picture, alt: says, title: says, class: coarse ? "coarse" : false, style: `height: ${height}px` }),
      el("span", { class: "facts" }, facts.map(([title, value]) => el("span", {}, [el("span", {}, `${title}: `), el("b", {}, value)]))),
    ]);
  }

  function line({ words, step }) {
    const content = [...words.map(([text, kind]) => el("span", { class: kind }, text)), el("span", {}, "\n")];
    return el("span", step ? of(step, "line marked") : { class: "line" }, content);
  }

  function redraw() {
    draw(root, [el("div", { class: data.steps.length ? "derivation" : "derivation alone", "data-title": data.title }, [
      el("div", { class: "steps", role: "group", "aria-label": `Steps: ${data.alt}` }, data.steps.map(part)),
      el("div", {}, data.code.map((lines) => el("pre", { tabindex: 0, role: "region", "aria-label": `Code: ${data.alt}` }, lines.map(line)))),
    ])]);
  }

  function update(next) {
    data = next;
    if (!data.steps.some(({ name }) => name === pinned)) pinned = "";
    redraw();
  }

  return { update, redraw, picture: () => root.querySelector(".derivation") };
}
