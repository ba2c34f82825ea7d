// One part of the model: its steps with their numbers, beside its code. Pointing at a step highlights it in both.
import { draw, el } from "./dom.js";
import { component } from "./mounting.js";

export default component((root) => {
  let data, pinned = "", pointed = ""; // names of steps

  function point(step) {
    if (pointed === step) return;
    pointed = step;
    redraw();
  }

  /** The attributes of an element that belongs to a step. */
  function belongingTo(step, name) {
    return {
      class: `${name}${step === (pointed || pinned) ? " lit" : ""}`, "data-step": step,
      onpointerenter: () => point(step), onpointerleave: () => point(""),
    };
  }

  function stepElement({ name, formula, facts, picture, alt, height, coarse }) {
    return el("button", {
      ...belongingTo(name, "step"), type: "button", "aria-pressed": String(pinned === name),
      onfocus: () => point(name), onblur: () => point(""),
      onclick: () => { pinned = pinned === name ? "" : name; redraw(); },
    }, [
      el("span", { class: "name" }, name),
      el("span", { class: "formula" }, formula),
      el("img", { src: picture, alt, title: alt, class: coarse ? "coarse" : false, style: `height: ${height}px` }),
      el("span", { class: "facts" }, facts.map(([title, value]) => el("span", {}, [el("span", {}, `${title}: `), el("b", {}, value)]))),
    ]);
  }

  function lineElement({ words, step }) {
    const content = [...words.map(([text, kind]) => el("span", { class: kind }, text)), el("span", {}, "\n")];
    return el("span", step ? belongingTo(step, "line marked") : { class: "line" }, content);
  }

  function redraw() {
    draw(root, [el("div", { class: data.steps.length ? "derivation" : "derivation alone", "data-title": data.title }, [
      el("div", { class: "steps", role: "group", "aria-label": `Steps: ${data.alt}` }, data.steps.map(stepElement)),
      el("div", {}, data.code.map((lines) => el("pre", { tabindex: 0, role: "region", "aria-label": `Code: ${data.alt}` }, lines.map(lineElement)))),
    ])]);
  }

  function update(next) {
    data = next;
    if (!data.steps.some(({ name }) => name === pinned)) pinned = "";
    redraw();
  }

  return { update, redraw, picture: () => root.querySelector(".derivation") };
});
