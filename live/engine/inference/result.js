// The result of a run, for every task: tokens, attention maps, and outcomes. And how a trace becomes these maps.
import { numLayers } from "../network/translators.js";
import { concatenate, tensor } from "../tensor.js";
import { hookName } from "../trace.js";

/**
 * What passed the hook points of a kind of attention in each layer, (L, …, queries, keys); null where a layer has none.
 * @param {Trace} trace @param {Sizes} config @param {number[]} passes Of one hypothesis.
 */
function stacked(trace, config, kind, stage, passes) {
  const names = Array.from({ length: numLayers(config, kind) }, (_, layer) => hookName(kind, layer, stage));
  if (!names.every((name) => trace.plans.get(name)?.passes?.length)) return null;
  const all = names.map((name) => trace.joined(name, passes));
  return tensor([all.length, ...all[0].shape], concatenate(...all.map(({ data }) => data)));
}

/**
 * The recorded weights, (L, H, queries, keys) for each kind of attention that the model has.
 * @param {Trace} trace @param {Sizes} config @param {number[]} passes Of one hypothesis. @param {string[]} kinds
 */
export function attentionMaps(trace, config, passes, kinds) {
  return Object.fromEntries(kinds.filter((kind) => numLayers(config, kind)).map(
    (kind) => [kind, /** @type {Tensor} */ (stacked(trace, config, kind, "weights", passes))]
  ));
}

/**
 * The masks that are not the usual ones, such as windows: kind → (L, queries, keys), 1 = may attend.
 * @param {Trace} trace @param {Sizes} config @param {number[]} passes @param {string[]} kinds
 */
export function attentionMasks(trace, config, passes, kinds) {
  return Object.fromEntries(kinds.filter((kind) => numLayers(config, kind)).flatMap((kind) => {
    const mask = stacked(trace, config, kind, "mask", passes);
    return mask ? [[kind, { shape: mask.shape, data: Uint8Array.from(mask.data) }]] : [];
  }));
}

/** Everything that was recorded: name of a hook point → (…, T, X). @param {Trace} trace @param {number[]} passes */
export function recordedIn(trace, passes) {
  return Object.fromEntries(trace.names.map((name) => [name, trace.joined(name, passes)]));
}

/**
 * What the model predicted: all written tokens after a prompt, the masked tokens of a source, or the label.
 * @param {Result} result @returns {Outcome[]}
 */
export function outcomesOf({ text, source, written, prompt_length: given = 0, probabilities, ...result }) {
  if (probabilities) {
    const candidates = Object.entries(probabilities).map(([text, probability], id) => ({ text, probability, id }));
    const best = /** @type {Candidate} */ (candidates.find((one) => one.text === text));
    return [{ ...best, position: null, candidates }];
  }
  const first = written.length ? given || Number(result.first_token_fixed ?? false) : 0;
  return (written.length ? written : source).flatMap(({ text, id, probability = 0, candidates = [] }, position) => {
    if (position < first || !candidates.length) return [];
    return [{ ...(written.length ? { text, id, probability } : candidates[0]), position, candidates }];
  });
}
