// The control in which a visitor answers, one for each form of answer.
import { el } from "../ui/dom.js";
import { say, shortened } from "../ui/words.js";
import { button, list } from "../controls/controls.js";
import { rich } from "./rich.js";

const MOST_CHIPS = 24; // tokens; more are a list
export const NOTHING = "-"; // an option without a value would get that of its label

/**
 * @typedef {import("./progress.js").Answer} Answer
 * @typedef {object} Asked
 * @property {import("./progress.js").AnswerForm} form
 * @property {Answer | undefined} answered undefined: not yet.
 * @property {Record<string, string>} options Their names as HTML.
 * @property {Token[] | null} tokens Of the run; null until they are known.
 * @property {string} language Of the tokens.
 * @property {number[] | undefined} heads Layers and heads of a kind of attention, if the model has it.
 * @property {Map<string, string>} drafts What the visitor has typed or chosen in a field without answering.
 * @property {(answer: Answer) => void} take
 */

/** @type {Record<string, (asked: Asked) => Described[]>} */
const CONTROLS = {
  one_of: ({ form, answered, options, take }) =>
    [pills((form.options ?? []).map((one) => rich("button", options[one], {},
    pill(one === answered, () => take(one)))))],
  one_token: tokens, one_head: heads, number, word,
  action: () => [],
};

/** @param {Asked} asked @returns {Described[]} */
export function answerControl(asked) {
  return CONTROLS[asked.form.form](asked);
}

const pill = (pressed, onclick) => ({ type: "button", class: "plain", "aria-pressed": String(pressed), onclick });

/** @param {Described[]} buttons */
function pills(buttons) {
  return el("div", { class: "pills", role: "group", "aria-label": say("Your answer") }, buttons);
}

/** @param {Asked} asked */
function tokens({ tokens: shown, language, answered, take }) {
  if (!shown) return [];
  if (shown.length <= MOST_CHIPS) return [pills(shown.map(({ text, word }, i) =>
    el("button", pill(i === answered, () => take(i)),
      [el("bdi", { lang: word >= 0 ? language : false }, shortened(text, 40))])))];
  const options = shown.map(({ text }, i) => /** @type {[string, string]} */ ([String(i), `${i + 1} · ${text}`]));
  return [list(say("Your answer"), [[NOTHING, say("Choose a token")], ...options], String(answered ?? NOTHING),
    (value) => { if (value !== NOTHING) take(Number(value)); }, { lang: language })];
}

/** @param {Asked} asked */
function heads({ heads: size, answered, drafts, take }) {
  if (!size) return [el("p", { class: "note" },
    say("This model does not have this kind of attention. Reset this step."))];
  const [first, second] = Array.isArray(answered) ? answered : [0, 0];
  const numbers = (count) => Array.from({ length: count },
    (_, i) => /** @type {[string, string]} */ ([String(i), String(i + 1)]));
  const chosen = (name, before, most) => Math.min(Number(drafts.get(name) ?? before), most - 1);
  const values = [chosen("layer", first, size[0]), chosen("head", second, size[1])];
  return [form(() => take([chosen("layer", first, size[0]), chosen("head", second, size[1])]), [
    list(say("Layer"), numbers(size[0]), String(values[0]), (value) => drafts.set("layer", value)),
    list(say("Head"), numbers(size[1]), String(values[1]), (value) => drafts.set("head", value)),
  ])];
}

/** @param {Asked} asked */
function number({ form: { low = 0, high = 0, step = 1 }, answered, drafts, take }) {
  return [form((field) => take(Number(field.value)),
    [field(say("Your estimate, {low} to {high}", { low, high }), drafts, answered,
    { type: "number", min: low, max: high, step, inputmode: step % 1 ? "decimal" : "numeric", required: true })])];
}

/** @param {Asked} asked */
function word({ form: { longest }, answered, drafts, take }) {
  return [form((field) => { if (field.value.trim()) take(field.value.trim()); },
    [field(say("Your answer; press Enter"), drafts, answered, { type: "text", maxlength: longest })])];
}

/** A field that keeps what the visitor has typed. */
function field(label, drafts, answered, attributes) {
  return el("label", { class: "control" }, [
    el("span", { class: "label" }, label),
    el("input", { autocomplete: "off", enterkeyhint: "go", ...attributes, value: drafts.get("field") ?? answered ?? "",
      oninput: ({ target }) => drafts.set("field", target.value) }),
  ]);
}

/**
 * Controls with a button; Enter in a field is the same. Not a form: a frame may forbid it.
 * @param {(field: HTMLInputElement) => void} take
 * @param {Described[]} controls
 */
function form(take, controls) {
  const answer = (event) => {
    const field = event.target.closest(".answer").querySelector("input");
    if (!field || field.reportValidity()) take(field);
  };
  const onkeydown = (event) => { if (event.key === "Enter" && !event.isComposing
    && event.target.matches("input")) answer(event); };
  return el("div", { class: "answer", onkeydown }, [...controls, button(say("Answer"), answer)]);
}
