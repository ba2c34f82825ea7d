// Greedy search.
import { logSoftmax, tensor } from "../tensor.js";
import { NO_TRACE } from "../trace.js";

/** The indices of the largest numbers, largest first. @param {Float32Array} values */
export function largestIndices(values, count) {
  /** @type {number[]} */
  const best = [];
  let least = -Infinity; // of as many as are asked for
  for (let i = 0; i < values.length; i++) {
    if (best.length === count && !(values[i] > least)) continue;
    let place = best.length;
    while (place > 0 && values[i] > values[best[place - 1]]) place--;
    best.splice(place, 0, i);
    best.length = Math.min(best.length, count);
    least = values[best[best.length - 1]];
  }
  return best;
}

/** The entropy of a distribution in nats: how uncertain the model was. @param {Float32Array} logProbs */
export function entropyOf(logProbs) {
  let entropy = 0;
  for (const value of logProbs) if (value !== -Infinity) entropy -= Math.exp(value) * value;
  return entropy;
}

/** How many tokens a translation may have: enough for a real translation, too few for endless repetition. */
function lengthLimit(sourceLength, maxLength, fewest = 0) {
  return Math.min(maxLength, Math.max(Math.floor((sourceLength * 3) / 2), fewest) + 8);
}

/**
 * The scores from which a token is chosen: log-probabilities, or logits with the changes of the model's rules; minus
 * infinity for each token that must not be written. Where the model gives no numbers, the text ends.
 * @param {Float32Array} logProbs @param {Float32Array} logits @param {Specials} specials @param {Place} place
 */
function allowedOf(logProbs, logits, { banned, ends: [end], rules }, place) {
  const allowed = (rules ? logits : logProbs).slice();
  rules?.change(allowed, place);
  for (const id of banned) allowed[id] = -Infinity;
  return allowed.some(Number.isNaN) ? allowed.fill(-Infinity).fill(0, end, end + 1) : allowed;
}

/**
 * Write the most probable token at each step. A prompt is read in one pass, up to its last token.
 * @param {Model} model @param {number[]} source Token ids. @param {SearchOptions} options
 * @returns {Generator<Step, { ids: number[], finished: boolean }>} `finished`: it wrote the token that ends a text.
 */
export function* greedy(model, source, { specials, forced = new Map(), limit = 0, given = 0, trace = NO_TRACE }) {
  const { config: { max_length } } = model, { start, ends, first = null, rules } = specials;
  const isFixed = first !== null && !forced.has(0), wanted = isFixed ? new Map([[0, first], ...forced]) : forced;
  const memory = model.encode(source, trace), cache = model.startCache(), lastForced = Math.max(-1, ...forced.keys());
  const usual = Math.min(limit, max_length) || lengthLimit(source.length, max_length, rules?.fewest);
  const most = Math.max(usual, Math.min(lastForced + 1, max_length));
  const ids = /** @type {number[]} */ ([]), place = { ids: [start], source, given, limit: most };
  const decode = (/** @type {number[]} */ read, position) => {
    trace.nextPass(position);
    return model.decode(read, memory, trace, cache);
  };
  const prompt = Array.from({ length: given }, (_, i) => (i ? wanted.get(i - 1) ?? 0 : start));
  const { data, shape: [T, V] } = given ? decode(prompt, 0) : tensor([0, 0]);
  const ahead = Array.from({ length: T }, (_, t) => logSoftmax(data.subarray(t * V, (t + 1) * V)));
  let finished = false;
  for (let i = 0; i < most && !finished; i++) {
    const logits = ahead[i] ?? decode(place.ids.slice(-1), i).data, logProbs = ahead[i] ?? logSoftmax(logits);
    const token = wanted.get(i) ?? largestIndices(allowedOf(logProbs, logits, specials, place), 1)[0];
    // A forced token ends the text only at the last forced place, and a token of a prompt never does.
    finished = ends.includes(token) && i >= Math.max(lastForced, given);
    ids.push(token);
    place.ids.push(token);
    yield { token, logProbs, fixed: isFixed && !i, most: most - given };
  }
  return { ids, finished };
}
