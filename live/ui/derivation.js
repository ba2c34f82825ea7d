// One part of the model: its steps with their numbers, beside its code. Pointing at a step highlights it in both.
import { draw, el } from "./dom.js";
import { component } from "./mounting.js";
import { dataUrl, decodeBytes, pixelsOf, SIGNED, WEIGHTS } from "./numbers.js";
import { say } from "./words.js";

export const derivation = component((root) => {
  let data, pictures = /** @type {string[]} */ ([]), pinned = "", pointed = ""; // the latter two: names of steps

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

  function stepElement({ name, title = name, formula, facts, alt, height, coarse }, i) {
    return el("button", {
      ...belongingTo(name, "step"), type: "button", "aria-pressed": String(pinned === name),
      onfocus: () => point(name), onblur: () => point(""),
      onclick: () => { pinned = pinned === name ? "" : name; redraw(); },
    }, [
      el("span", { class: "name" }, title),
      el("span", { class: "formula" }, formula),
      el("img", { src: pictures[i], alt, title: alt, class: coarse ? "coarse" : false, style: `height: ${height}px` }),
      el("span", { class: "facts" }, facts.map(
        ([fact, value]) => el("span", {}, [el("span", {}, say("{name}:", { name: fact })), el("b", {}, value)])
      )),
    ]);
  }

  function redraw() {
    const { steps, code, alt, title } = data;
    draw(root, [el("div", { class: `derivation${steps.length ? (code.length ? " coded" : "") : " alone"}`,
      "data-title": title }, [
      el(
        "div", { class: "steps", role: "group", "aria-label": say("Steps: {name}", { name: alt }) },
        steps.map(stepElement),
      ),
      ...(code.length ? [codeListings(code, alt, belongingTo)] : []),
    ])]);
  }

  function update(next) {
    data = next;
    pictures = data.steps.map(({ levels, width, shares }) => dataUrl(
      pixelsOf(decodeBytes(levels), width, shares ? WEIGHTS : SIGNED)
    ));
    if (!data.steps.some(({ name }) => name === pinned)) pinned = "";
    redraw();
  }

  return { update, redraw, picture: () => root.querySelector(".derivation") };
});

/**
 * The code of one part of the model, in which the lines of a step are marked.
 * @param {any[][]} listings Each is a list of lines with their words, and the step of a line.
 * @param {string} name
 * @param {(step: string, name: string) => Record<string, any>} belongingTo The attributes of an element that belongs to
 *   a step.
 */
function codeListings(listings, name, belongingTo) {
  const line = ({ words, step }) => {
    const content = [...words.map(([text, kind]) => el("span", { class: kind }, text)), el("span", {}, "\n")];
    return el("span", step ? belongingTo(step, "line marked") : { class: "line" }, content);
  };
  return el("div", { class: "listing" }, listings.map((lines) =>
    el("pre", { tabindex: 0, role: "region", "aria-label": say("Code: {name}", { name }) }, lines.map(line))));
}
