// The rules about the tokens that a model writes, from the settings that `generate` of Hugging Face's `transformers`
// obeys. They change the logits of the next token in place. model/foreign/generation.py has the same ones.
import { N_, require, shown } from "../errors.js";

const MAX_PHRASES = 1000, MAX_PHRASE_TOKENS = 10_000; // of bad_words_ids and sequence_bias
const LARGEST = 3.4028234663852886e38; // in single precision

const isPenalty = (value) => Number.isFinite(value) && value > 0;
const isCount = (value) => Number.isInteger(value) && value > 0;
const areWhole = (value) => Array.isArray(value) && value.every(Number.isInteger);
const areTokens = (value, rows) => areWhole(value) && value.every((id) => id >= 0 && id < rows);
const areBiases = (value, rows) => Array.isArray(value) && value.every(
  (pair) => areTokens(pair?.[0], rows) && typeof pair[1] === "number"
);

/** The tokens of a text that follow there on the last n - 1 ids. @param {number[]} text @param {number[]} ids */
function following(text, ids, n) {
  return text.filter((_, i) => {
    let same = 1;
    while (same < n && i >= same && text[i - same] === ids[ids.length - same]) same++;
    return same === n;
  });
}

/** @param {Float32Array} scores @param {number[]} ids */
function ban(scores, ids) {
  for (const id of ids) scores[id] = -Infinity;
}

/** A penalty above 1 makes tokens less probable. @param {Float32Array} scores @param {number[]} ids */
function penalize(scores, ids, given) {
  const penalty = Math.fround(given);
  for (const id of new Set(ids)) scores[id] = scores[id] < 0 ? scores[id] * penalty : scores[id] / penalty;
}

/** Change the score of the last token of each phrase where the others have just been written. @type {Rule} */
function favour(scores, phrases, { ids }) {
  for (const [phrase, bias] of phrases) {
    const last = phrase.length - 1;
    if (phrase.every((id, i) => i === last || id === ids[ids.length - last + i])) scores[phrase[last]] += bias;
  }
}

/**
 * Each setting, in the order of the library: whether its value can be used, and what it does.
 * @type {[string, (value: any, rows: number) => boolean, Rule][]}
 */
const RULES = [
  ["sequence_bias", areBiases, favour],
  ["encoder_repetition_penalty", isPenalty, (scores, value, { source }) => penalize(scores, source, 1 / value)],
  ["repetition_penalty", isPenalty, (scores, value, { ids }) => penalize(scores, ids, value)],
  ["no_repeat_ngram_size", isCount, (scores, n, { ids }) => ban(scores, following(ids, ids, n))],
  ["encoder_no_repeat_ngram_size", isCount, (scores, n, { ids, source }) => ban(scores, following(source, ids, n))],
  ["bad_words_ids", areBiases, favour],
  ["min_length", isCount, (scores, least, { ids, ends }) => ids.length < least && ban(scores, ends)],
  ["min_new_tokens", isCount, (scores, least, { ids, given, ends }) => (
    ids.length - given < least && ban(scores, ends)
  )],
  ["forced_eos_token_id", (value, rows) => areTokens([value].flat(), rows), (scores, value, { ids, limit }) => {
    if (ids.length !== limit) return;
    scores.fill(-Infinity);
    for (const id of [value].flat()) scores[id] = 0;
  }],
  ["remove_invalid_values", Boolean, (scores) => {
    for (const [id, score] of scores.entries()) scores[id] = Math.max(-LARGEST, Math.min(LARGEST, score || 0));
  }],
  ["exponential_decay_length_penalty", (value) => Array.isArray(value) && value.length > 1 && value.every(
    Number.isFinite
  ), (scores, [start, factor], { ids, given, ends }) => {
    const over = ids.length - given - start, growth = Math.fround(factor ** over - 1);
    for (const end of over > 0 ? ends : [])
      if (Number.isFinite(scores[end])) scores[end] += Math.fround(Math.abs(scores[end]) * growth);
  }],
  ["suppress_tokens", areWhole, ban],
  ["begin_suppress_tokens", areWhole, (scores, value, { ids, given, first }) => (
    ids.length === given + Number(given === 1 && first !== undefined) && ban(scores, value)
  )],
];

/** Each phrase once. Refuse what would take too long at each step. @param {[number[], number][]} pairs */
function modest(name, pairs) {
  const tokens = pairs.flatMap(([ids]) => ids).length;
  require(
    pairs.length <= MAX_PHRASES && tokens <= MAX_PHRASE_TOKENS, "config-unsupported",
    N_("{name} in its generation settings has {phrases} phrases with {tokens} tokens. The limits are "
      + "{max_phrases} phrases and {max_phrase_tokens} tokens. Shorten the list in generation_config.json."),
    { name, phrases: pairs.length, tokens, max_phrases: MAX_PHRASES, max_phrase_tokens: MAX_PHRASE_TOKENS },
  );
  return [...new Map(pairs.map((pair) => [String(pair[0]), pair])).values()];
}

/** Whether a setting does nothing. The token 0 is a token like others. */
function isNeutral(name, value) {
  return value == null || (name !== "forced_eos_token_id" && (
    !value || value.length === 0 || (value === 1 && name.endsWith("repetition_penalty"))
  ));
}

/**
 * The rules that a model obeys; none without a setting that does something.
 * @param {Values} settings For writing. @param {Specials} specials @param {number} rows Tokens of the vocabulary.
 * @returns {Rules | undefined}
 */
export function rulesOf(settings, { ends, banned, first }, rows) {
  /** @type {[Rule, any][]} */
  const rules = [];
  for (const [name, fits, rule] of RULES) {
    const given = settings[name], bans = name === "bad_words_ids";
    if (isNeutral(name, given)) continue;
    let value = bans ? [given].flat().map((ids) => [ids, -Infinity]) : given;
    require(
      fits(value, rows), "config-damaged",
      N_("{name} in its generation settings is {value}, which cannot be used. Correct it in generation_config.json."),
      { name, value: shown(given) },
    );
    if (bans) value = value.filter(([ids]) => ids.length > 1); // single ones are `Specials.banned`
    if (rule === favour) value = modest(name, value);
    if (!bans || value.length) rules.push([rule, value]);
  }
  const fewest = Math.max(settings.min_length || 0, settings.min_new_tokens || 0);
  return rules.length ? { fewest, change(scores, { ids, source, given, limit }) {
    for (const [rule, value] of rules) rule(scores, value, { ids, source, given: given + 1, limit, ends, first });
    ban(scores, banned);
    require(
      !scores.every((score) => score === -Infinity), "config-unsupported",
      N_("The generation settings of this model allow no token after {n} tokens. Change generation_config.json."),
      { n: ids.length },
    );
  } } : undefined;
}
