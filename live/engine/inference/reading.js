// Read a text with a model that only reads: its attention maps, and candidates for each masked token or a class.
import { logSoftmax, softmax } from "../tensor.js";
import { Trace } from "../trace.js";
import { ATTENTION, attentionMaps, recordedIn, sourceOf, withCandidates } from "./run.js";

/** A long review keeps its beginning and its end, where it gives its opinion. @param {number[]} ids */
function shortenedIds(ids, room) {
  const half = Math.floor(room / 2);
  return ids.length > room ? [...ids.slice(0, half), ...ids.slice(half - room)] : ids;
}

/**
 * The logits of a model that only reads: (S, V) to fill gaps, (1, C) of a class.
 * @param {Model} model @param {number[]} ids @param {Visitor} trace @param {number[]} [segments]
 */
export function logitsOf(model, ids, trace, segments) {
  return model.logits(/** @type {Tensor} */ (model.encode(ids, trace, { segments }).states), trace);
}

/**
 * A result that has only a source. `text` has the best candidate in the place of each masked token, or it is the most
 * probable label.
 * @param {AnyCheckpoint} checkpoint @param {string} text @param {string} second
 * @param {{ edits?: Edits, record?: string[] }} options @returns {Result}
 */
export function resultOfReading(checkpoint, text, second, { edits = {}, record = [] }) {
  const { task, model, config, languages: [language] } = checkpoint, isClass = task === "classification";
  const trace = new Trace({ record: [ATTENTION, ...record], edits });
  const { tokens, ids, dropped, segments } = sourceOf(
    checkpoint, text, second, config.max_length, isClass ? shortenedIds : undefined
  );
  const logits = task === "reading" ? null : logitsOf(model, ids, trace, segments);
  if (!logits) model.encode(ids, trace, { segments });
  const found = logits && (isClass ? classOf(config, logits) : gapsFilled(checkpoint, tokens, logits));
  return {
    text: "", source: tokens, ...found, read: [], written: [], finished: true, dropped,
    languages: isClass ? checkpoint.languages : [language, language],
    maps: attentionMaps(trace, config, ["encoder"]), recorded: recordedIn(trace),
  };
}

/** @param {Sizes} config @param {Tensor} logits (1, C) */
function classOf({ labels, several_labels: several }, logits) {
  const shares = several ? logits.data.map((one) => 1 / (1 + Math.exp(-one))) : softmax(logits).data;
  return {
    text: labels[shares.indexOf(Math.max(...shares))],
    probabilities: labels.map((label, i) => /** @type {[string, number]} */ ([label, shares[i]])),
  };
}

/** @param {AnyCheckpoint} checkpoint @param {Token[]} tokens @param {Tensor} logits (S, V) */
function gapsFilled({ tokenizer, specials }, tokens, { data, shape: [, width] }) {
  const source = tokens.map((token, i) => {
    if (token.id !== specials.mask) return token;
    const found = withCandidates(tokenizer, token, logSoftmax(data.subarray(i * width, (i + 1) * width)));
    return { ...found, probability: found.candidates[0].probability }; // it decides how strongly the page shades it
  });
  const ids = source.map(({ id, candidates: [best] = [] }) => best?.id ?? id);
  const start = source.findIndex(({ part }) => part === "B"), parts = start < 0 ? [ids] : [
    ids.slice(0, start), ids.slice(start),
  ];
  const isFilled = ids.some((id, i) => id !== tokens[i].id);
  return { source, text: isFilled ? parts.map((part) => tokenizer.decode(part)).join(" / ") : "" };
}
