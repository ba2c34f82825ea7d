// The table of an atlas: the numbers of each head, and what they are called.
import { decodeFloats } from "./numbers.js";
import { capitalized, headName, say } from "./words.js";

const ENDS = ["", "_low", "_high"]; // of a number: its mean, and the ends of its 95 % interval

/** Kind of attention → its name. @type {Record<string, () => string>} */
export const KIND_TITLES = {
  cross: () => say("cross"), encoder: () => say("encoder self"), decoder: () => say("decoder self"),
};

/** The title of a head. */
export const titleOf = ({ kind, layer, head }) => capitalized(`${KIND_TITLES[kind]()}, ${headName(layer, head)}`);

/** A number → its title, its meaning in a sentence, and its unit. @type {Record<string, () => string[]>} */
const NUMBERS = {
  entropy: () => [say("Entropy"), say("How spread out the weights of a row are, in nats."), say("nats")],
  confidence: () => [say("Confidence"), say("The largest weight of a row.")],
  distance: () => [say("Distance"), say("How many tokens away the weight lies, on average."), say("tokens")],
  previous: () => [say("Previous"), say("The share of the weight on the previous token.")],
  same: () => [say("Same"), say("The share of the weight on the token itself.")],
  next: () => [say("Next"), say("The share of the weight on the next token.")],
  start: () => [say("First token"), say("The share of the weight on the first token of the text.")],
  end: () => [say("End"), say("The share of the weight on the special token: </s> of the source, <s> of the target.")],
  special: () => [say("Special tokens"), say("The share of the weight on special tokens such as </s>.")],
  punctuation: () => [say("Punctuation"), say("The share of the weight on punctuation marks.")],
  sinks: () => [say("Sinks"), say("The share of the weight on special tokens, punctuation and the first token.")],
  content: () => [say("Content"), say("In how many rows the strongest key is a word or a number.")],
  duplicate: () => [say("Duplicate"), say("The share of the weight on earlier occurrences of the same token.")],
  induction: () => [
    say("Induction"), say("The share of the weight on the tokens that followed earlier occurrences of the token."),
  ],
  word: () => [say("Same word"), say("The share of the weight on the other tokens of the same word.")],
  governor: () => [say("Governor"), say("The share of the weight on the word on which the word of the row depends.")],
  dependents: () => [
    say("Dependents"), say("The share of the weight on the words that depend on the word of the row."),
  ],
  nouns: () => [say("Nouns"), say("The share of the weight on nouns and names.")],
  verbs: () => [say("Verbs"), say("The share of the weight on verbs that are no auxiliaries.")],
  modifiers: () => [say("Modifiers"), say("The share of the weight on adjectives and adverbs.")],
  function_words: () => [
    say("Function words"), say("The share of the weight on articles, pronouns, prepositions and the like."),
  ],
  alignment: () => [
    say("Alignment"),
    say("In how many rows the strongest key is in the source word at which all heads together point."),
  ],
  alignment_without_sinks: () => [
    say("Alignment without sinks"), say("The same for the strongest key that is a word or a number."),
  ],
  importance: () => [
    say("Importance"), say("How strongly the loss changes with the output of the head (gradient)."), say("nats"),
  ],
};

/** The names of a number of an atlas. @param {string} name */
export function numberNames(name) {
  const [title, meaning = "", unit] = Object.hasOwn(NUMBERS, name) ? NUMBERS[name]() : [name];
  return { title, meaning, axis: unit ? `${title} (${unit})` : title };
}

/**
 * The table of an atlas as its readers use it.
 * @param {{ kinds: { kind: string, layers: number, heads: number }[], numbers: string[], values: any }} data
 */
export function readTable({ kinds, numbers, values }) {
  const found = decodeFloats(values), columns = numbers.flatMap((name) => ENDS.map((end) => name + end));
  const places = new Map(columns.map((name, i) => [name, i]));
  let at = 0;
  const heads = kinds.flatMap(({ kind, layers, heads: count }) => Array.from({ length: layers * count }, (_, i) => {
    const [layer, head] = [Math.floor(i / count), i % count];
    return { at: at++, kind, layer, head, name: `${kind}.${layer + 1}.${head + 1}` };
  }));
  return {
    heads, numbers, columns, kinds: kinds.map(({ kind }) => kind),
    /** A number of a head; NaN where it has none. @param {number} head @param {string} name */
    value: (head, name) => found[head * columns.length + (places.get(name) ?? NaN)],
  };
}
