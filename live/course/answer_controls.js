// The control in which a visitor answers, one for each form of answer.
import { el } from "../ui/dom.js";
import { shortened } from "../ui/words.js";
import { say } from "../ui/words.js";
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
 * @property {string | undefined} draft What the visitor has typed without answering.
 * @property {(text: string) => void} type
 * @property {(answer: Answer) => void} take
 */

/** @param {Asked} asked @returns {Described[]} */
export function answerControl(asked) {
  const { form, answered, options, take } = asked;
  if (form.form === "one_token") return tokens(asked);
  if (form.form === "number") return number(asked);
  return form.options ? [pills(form.options.map((one) => rich("button", options[one], {},
    pill(one === answered, () => take(one)))))] : [];
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

/**
 * A field with a button; Enter in the field is the same. Not a form: a frame may forbid it.
 * @param {Asked} asked
 */
function number({ form: { low = 0, high = 0, step = 1 }, answered, draft, type, take }) {
  const answer = ({ target }) => {
    const field = target.closest(".answer").querySelector("input");
    if (field.reportValidity()) take(Number(field.value));
  };
  const onkeydown = (event) => { if (event.key === "Enter" && !event.isComposing
    && event.target.matches("input")) answer(event); };
  return [el("div", { class: "answer", onkeydown }, [
    el("label", { class: "control" }, [
      el("span", { class: "label" }, say("Your estimate, {low} to {high}", { low, high })),
      el("input", { type: "number", min: low, max: high, step, inputmode: step % 1 ? "decimal" : "numeric",
        required: true, autocomplete: "off", enterkeyhint: "go", value: draft ?? answered ?? "",
        oninput: ({ target }) => type(target.value) }),
    ]),
    button(say("Answer"), answer),
  ])];
}
