// The controls for the kind of attention, the layer and the head.
import { times } from "./assets/numbers.js";
import { chosenHead, singleHead } from "./chosen_head.js";
import { list, segmented } from "./controls.js";
import { kindsOf, namesOf } from "./kinds.js";
import { say } from "./assets/words.js";

/**
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
