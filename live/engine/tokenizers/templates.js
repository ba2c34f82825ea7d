// Templates: where the special tokens of a model stand around one text, and around the two texts of a pair.
import { N_, require } from "../errors.js";
import { requireSound } from "./damage.js";
import { libraryParts, requireKnownPart } from "./library_parts.js";

/** The template of a pair of texts or of one text without special tokens. */
const TEXT = { part: "A", ids: [], segment: 0 }, SECOND = { part: "B", ids: [], segment: 1 };
const PLAIN_TEMPLATES = { single: [TEXT], pair: [TEXT, SECOND] };
const special = (id, segment = 0) => ({ part: "", ids: [id], segment });

/** Name → settings → templates. @type {Record<string, (part: any) => Templates>} */
const PROCESSORS = {
  TemplateProcessing: ({ single, pair, special_tokens }) => {
    const read = (pieces) => pieces.map(({ Sequence: text, SpecialToken: token }) => (
      text ? { part: text.id, ids: [], segment: text.type_id }
        : { part: "", ids: special_tokens[token.id].ids, segment: token.type_id }
    ));
    return { single: read(single), pair: read(pair) };
  },
  BertProcessing: ({ cls: [, begin], sep: [, end] }) => {
    const single = [special(begin), TEXT, special(end)];
    return { single, pair: [...single, SECOND, special(end, 1)] };
  },
  RobertaProcessing: ({ cls: [, begin], sep: [, end] }) => {
    const single = [special(begin), TEXT, special(end)];
    return { single, pair: [...single, special(end), { ...SECOND, segment: 0 }, special(end)] };
  },
};

/** The templates of a post-processor. @param {string[]} tokens Of the vocabulary, by their ids. @returns {Templates} */
export function templatesOf(processor, tokens) {
  const parts = libraryParts(processor).filter(({ type }) => type !== "ByteLevel"), [part] = parts;
  const isKnown = parts.length < 2 && (!part || Object.hasOwn(PROCESSORS, part.type));
  requireKnownPart(isKnown, parts.map(({ type }) => String(type)).join(", "));
  const found = part ? PROCESSORS[part.type](part) : PLAIN_TEMPLATES;
  for (const needed of ["A", "AB"]) {
    const pieces = needed === "A" ? found.single : found.pair;
    const texts = pieces.map(({ part: name }) => name).join("");
    const isNumbered = pieces.every(({ segment }) => Number.isInteger(segment));
    require(texts === needed && isNumbered, "tokenizer-unsupported", N_(
      "The tokenizer writes a text more than once, or not at all."
    ));
    const areTokens = pieces.every(({ ids }) => ids.every((id) => Number.isInteger(id) && tokens[id] !== undefined));
    requireSound(areTokens, N_(
      "The tokenizer puts a token around a text that its vocabulary does not have. Copy its files again."
    ));
  }
  return found;
}

/** The ids of the special tokens of a template before, between and after its texts. @param {TemplatePiece[]} pieces */
export function framesOf(pieces) {
  /** @type {number[][]} */
  const frames = [[]];
  for (const { part, ids } of pieces)
    if (part) frames.push([]);
    else frames[frames.length - 1].push(...ids);
  return frames;
}
