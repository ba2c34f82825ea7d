// The kind of attention, the layer and the head that the visitor chose. They follow the visitor from page to page.
import { times } from "./assets/numbers.js";
import { say } from "./assets/words.js";
import { list, segmented } from "./controls.js";
import { kindsOf, namesOf } from "./kinds.js";

/** @typedef {{ choices: import("./choices.js").Choices, info: import("./session.js").Info }} Chosen */

/**
 * @param {Chosen} chosen
 * @param {string} [wanted] The kind, if a page has a choice of its own for it.
 * @returns {{ kind: string, layer: number, head: any }} The head is a number from 0, "mean" or "max".
 */
export function chosenHead({ choices, info }, wanted = choices.kind) {
  const kinds = kindsOf(info.heads), kind = kinds.includes(wanted) ? wanted : kinds[0];
  const [layers, heads] = info.heads[kind];
  const layer = choices.layer && Number(choices.layer) >= 1 ? Math.min(Number(choices.layer), layers) - 1 : layers - 1;
  const head = ["mean", "max"].includes(choices.head)
    ? choices.head
    : Math.min(Math.max(Number(choices.head ?? 1), 1), heads) - 1;
  return { kind, layer, head };
}

/** As `chosenHead`, where a page has no use for an aggregate. @param {Chosen} chosen @param {string} [wanted] */
export function singleHead(chosen, wanted) {
  const found = chosenHead(chosen, wanted);
  return { ...found, head: typeof found.head === "number" ? found.head : 0 };
}

/**
 * The controls for the kind of attention, the layer and the head.
 * @param {import("./app.js").App} app
 * @param {{ aggregates?: boolean, name?: string, wanted?: string }} [options] Offer the mean and the maximum of the
 *   heads too; the name of the choice of the kind, and its value.
 */
export function headLists(app, { aggregates = false, name = "kind", wanted } = {}) {
  const { kind, layer, head } = aggregates ? chosenHead(app) : singleHead(app, wanted);
  const [layers, heads] = app.info.heads[kind];
  const numbers = (count) => times(count, (i) => /** @type {[string, string]} */ ([String(i + 1), String(i + 1)]));
  /** @type {[string, string][]} */
  const more = aggregates && heads > 1 ? [["mean", say("mean")], ["max", say("maximum")]] : [];
  return [
    segmented(
      say("Attention"), kindsOf(app.info.heads).map((one) => [one, namesOf(one).title]), kind,
      (value) => app.change({ [name]: value }),
    ),
    list(say("Layer"), numbers(layers), String(layer + 1), (value) => app.change({ layer: value })),
    list(
      say("Head"), [...numbers(heads), ...more], typeof head === "number" ? String(head + 1) : head,
      (value) => app.change({ head: value }),
    ),
  ];
}
