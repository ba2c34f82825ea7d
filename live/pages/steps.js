// Step by step: the translation word by word. The visitor can force another word at each step.
import { draw, el } from "../ui/dom.js";
import { stepper } from "../ui/stepper.js";
import { say } from "../ui/words.js";
import { tokenRows, writtenText } from "../controls/tokens.js";
import { writeForced } from "../app/link.js";
import { mount, note, place, segmented, toggle } from "../controls/controls.js";
import { KINDS } from "../engine/trace.js";
import { kindsOf, maskOf, namesOf } from "../pictures/maps.js";
import { SHARED } from "../app/shared.js";

/** @param {Element} root @param {App} app */
export async function showSteps(root, app) {
  const { choices } = app, translation = await app.ifCurrent(app.result());
  const { prompt_length: given = 0 } = translation;
  if (!translation.written.length) {
    draw(root, [note(say("This page shows a text while it is written, and this model only reads."))]);
    return;
  }
  if (Math.max(translation.written.length - given, given) > SHARED.limits.steps) {
    draw(root, [
      note(say(
        "This page shows at most {most} tokens. The translation has {n}. Shorten the sentence.",
        { most: SHARED.limits.steps, n: translation.written.length }
      )),
    ]);
    return;
  }
  const kinds = kindsOf(app.info.heads).filter((kind) => kind !== "encoder"), guess = choices.guess === "true";
  const kind = kinds.includes(choices.steps_kind) ? choices.steps_kind : kinds[0];
  draw(root, [
    writtenText(guess ? { ...translation, text: "…" } : translation),
    el("div", { class: "notes" }, app.notesOf(translation)),
    el("div", { class: "row" }, [
      segmented(say("Attention"), kinds.map((one) => [one, namesOf(one).title]), kind, app.set("steps_kind")),
      toggle(say("Guess the next word"), guess, app.set("guess"), say("Words are hidden until you ask for them.")),
    ]),
    place("steps"),
  ]);
  mount(root, "steps", stepper,
    stepperData(translation, { kind, guess, fixed: app.isReport,
      step: choices.step ? Number(choices.step) - 1 : null }), (name, value) => {
    if (name === "step") app.change({ step: String(value + 1) });
    else app.change({ step: String(value.position + 1), forced: writeForced(forcedWith(app.forced, value)) });
  });
}

/** The forced words with one more. Those after it depended on another beginning. */
function forcedWith(forced, { position, id }) {
  return new Map([...[...forced].filter(([at]) => at < position), [position, id]]);
}

/**
 * The data of the component stepper.
 * @param {Result} translation
 * @param {{ kind: string, guess: boolean, fixed: boolean, step: number | null }} shown `fixed`: no other word can be
 *   forced.
 */
function stepperData(translation, { kind, guess, fixed, step }) {
  const { data, shape: [layers, heads, T, S] } = translation.maps[kind], { keys } = KINDS[kind];
  const [source, target] = translation.languages;
  const mayAttend = maskOf(translation, kind);
  const { prompt_length: given = 0, first_token_fixed: fixedStart = false } = translation;
  const maps = data.map(
    (weight, i) => (mayAttend(Math.floor(i / (heads * T * S)), Math.floor(i / S) % T, i % S) ? weight : -Infinity)
  );
  return {
    text: tokenRows(translation).reads.map(({ text }) => text).join("|"), given: given || Number(fixedStart),
    kind, guess, fixed, maps,
    given_note: given ? say("This token belongs to the text that you typed. The model chooses nothing here.")
      : say("“{token}” is given, not chosen. It tells the model what to write, such as the language.", {
        token: translation.written[0].text,
      }),
    keys: translation[keys].map(({ text }) => text), languages: {
      key: kind === "cross" ? source : target, word: target,
    },
    shape: [layers, heads], step: step === null ? null : Math.min(Math.max(step, 0), T - 1),
    steps: translation.read.map(
      ({ text }, i) => ({
        read: text, entropy: translation.written[i].entropy, candidates: candidates(translation.written[i]),
      })
    ),
  };
}

/**
 * The candidates of a step: text, probability, id, and whether it was written. A forced token may be unlikely.
 * @param {Token} token
 */
function candidates({ text, id, probability, candidates: best = [] }) {
  const offered = best.map((one) => [one.text, one.probability, one.id, one.id === id]);
  return best.some((one) => one.id === id) ? offered : [...offered, [text, probability, id, true]];
}
