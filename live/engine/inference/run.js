// What a model computes: a run, in the JSON form of model/inference/run.py. And its computation by a model of any task.
import { readChanges } from "../changes.js";
import { N_, require } from "../errors.js";
import { editsOf } from "../interventions.js";
import { resultOfClassifying } from "./classify.js";
import { resultOfReading } from "./reading.js";
import { translating } from "./translate.js";

/**
 * Translate, continue, read or classify a text, and record hook points. The generator yields after each written token.
 * @param {AnyCheckpoint} checkpoint @param {Run} run
 * @param {string[]} [record] Patterns for the names of hook points, in addition to the weights and masks.
 * @returns {Generator<Progress, Result>}
 */
export function* running(checkpoint, { text, second = "", search, forced = [], changes = "" }, record = []) {
  const { task, specials } = checkpoint, intervention = readChanges(changes);
  require(intervention, "unknown-change", N_("The run has an unknown change: {changes}."), { changes });
  const isPair = second.trim() !== "", edits = editsOf(intervention);
  require(
    !isPair || specials.separator?.length, "no-pairs",
    N_("This model reads single texts: its tokenizer has no template for two. Leave the second text out."),
  );
  if (task === "classification") return resultOfClassifying(checkpoint, text, second, { edits, record });
  if (task === "filling" || task === "reading") return resultOfReading(checkpoint, text, second, { edits, record });
  return yield* translating(checkpoint, text, { search, forced: new Map(forced), edits, record });
}
