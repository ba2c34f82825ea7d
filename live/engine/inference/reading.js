// Read a text with a model that only reads: its attention maps, and candidates for each masked token.
import { logSoftmax } from "../tensor.js";
import { Trace } from "../trace.js";
import { ATTENTION, attentionMaps, recordedIn, sourceOf, withCandidates } from "./run.js";

/**
 * The logits of a model that only reads: (S, V) to fill gaps, (1, C) of a class.
 * @param {Model} model @param {number[]} ids @param {Visitor} trace @param {number[]} [segments]
 */
export function logitsOf(model, ids, trace, segments) {
  return model.logits(/** @type {Tensor} */ (model.encode(ids, trace, { segments }).states), trace);
}

/**
 * A result that has only a source. Each masked token has candidates, and `text` has the best one in its place.
 * @param {AnyCheckpoint} checkpoint @param {string} text @param {string} second
 * @param {{ edits?: Edits, record?: string[] }} options @returns {Result}
 */
export function resultOfReading(checkpoint, text, second, { edits = {}, record = [] }) {
  const { task, model, config, tokenizer, specials, languages } = checkpoint;
  const trace = new Trace({ record: [ATTENTION, ...record], edits });
  const { tokens, ids, dropped, segments } = sourceOf(checkpoint, text, second, config.max_length);
  const logits = task === "filling" ? logitsOf(model, ids, trace, segments) : null; // (S, V)
  if (!logits) model.encode(ids, trace, { segments });
  const filled = [...ids];
  const source = tokens.map((token, i) => {
    if (!logits || token.id !== specials.mask) return token;
    const width = logits.shape[1], logProbs = logSoftmax(logits.data.subarray(i * width, (i + 1) * width));
    const found = withCandidates(tokenizer, token, logProbs), [best] = found.candidates ?? [];
    filled[i] = best.id;
    return { ...found, probability: best.probability }; // which decides how strongly the page shades it
  });
  const start = source.findIndex(({ part }) => part === "B"), parts = start < 0 ? [filled] : [
    filled.slice(0, start), filled.slice(start),
  ];
  return {
    text: filled.some((id, i) => id !== ids[i]) ? parts.map((part) => tokenizer.decode(part)).join(" / ") : "",
    source, read: [], written: [], finished: true, dropped, languages: [languages[0], languages[0]],
    maps: attentionMaps(trace, config, ["encoder"]),
    recorded: recordedIn(trace),
  };
}
