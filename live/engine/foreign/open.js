// Opens folders of other libraries: what they are, their tokenizer and their model.
import { N_, require } from "../errors.js";
import { makeModel } from "../network/translators.js";
import { readTokenizer } from "../tokenizers/tokenizer.js";
import { describeForeign, layoutOf } from "./architecture.js";
import { tensorPlaces } from "./blocks.js";

/**
 * The special tokens of a model of another library: those of its settings, and those of its tokenizer.
 * @param {Description} description @param {any} tokenizer @returns {AllSpecials}
 */
function specialsWith({ task, specials, config }, { size, specials: found }) {
  const rows = config.source_vocab_size ?? config.vocab_size ?? config.target_vocab_size;
  require(
    size <= rows, "tokenizer-damaged", N_("The tokenizer has {size} tokens, and the model has embeddings for {rows}."),
    { size, rows },
  );
  const { before, after, separator, segment, unknown, mask, start, end, marks } = found;
  const translates = task === "translation", writes = translates || task === "continuation";
  const own = [...marks].filter((id) => id !== unknown && id !== mask);
  return {
    ...specials, unknown, before, mask: task === "filling" ? mask : null,
    start: translates ? specials.start : start ?? end ?? 0,
    after: task === "continuation" ? [] : after, // it would end the text
    separator: writes ? [] : separator,
    segment: segment < config.token_types ? segment : 0, // the model may have no vector for it
    marks: [...new Set([...own, ...(translates ? [specials.start] : []), ...specials.ends])],
  };
}

/** @type {Opener} */
export const FOREIGN = {
  describe: describeForeign,

  /** A text has no padding, whatever its ids, and a file may have more tensors. */
  modelOf(description, weights) {
    const { config } = description;
    weights.place = tensorPlaces(weights, layoutOf(description), config);
    return makeModel(weights, config, -1);
  },

  /** Its texts have no spaces around them. */
  tokenizerOf(texts) {
    const tokenizer = readTokenizer(texts), decode = tokenizer.decode.bind(tokenizer);
    return Object.assign(tokenizer, { decode: (ids) => decode(ids).trim() });
  },

  specialsOf: specialsWith,
};
