// Older folders have no tokenizer.json. What it would contain follows from the files of the vocabulary.
import { parseJson } from "../json.js";
import { MAX_TOKENS } from "../text/tokenizers.js";
import { FLAGS } from "./added_tokens.js";
import { requireSound } from "./damage.js";
import { ofSentencePiece } from "./sentence_piece.js";

/**
 * The contents of tokenizer.json for BERT's `vocab.txt`, for the `vocab.json` and `merges.txt` of GPT-2 and RoBERTa, or
 * for files of SentencePiece.
 * @param {Record<string, string>} texts Name of a file → its text. @param {Record<string, any>} settings
 * @returns {any} null without these files
 */
export function withoutTokenizerJson(texts, settings) {
  const named = (name, usual) => settings[`${name}_token`]?.content ?? settings[`${name}_token`] ?? usual;
  if (Object.hasOwn(texts, "vocab.txt")) {
    const lines = linesOf(texts["vocab.txt"].replace(/\n$/, ""), "\n");
    const vocab = new Map(lines.map((line, id) => [line.trimEnd(), id]));
    const tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"].map(
      (usual) => named(usual.slice(1, -1).toLowerCase(), usual)
    );
    const [, unk_token, cls, sep] = tokens, { do_lower_case = true, tokenize_chinese_chars = true } = settings;
    return {
      added_tokens: addedOf(tokens, vocab),
      normalizer: {
        type: "BertNormalizer", clean_text: true, handle_chinese_chars: tokenize_chinese_chars,
        strip_accents: settings.strip_accents, lowercase: do_lower_case,
      },
      pre_tokenizer: { type: "BertPreTokenizer" },
      model: { type: "WordPiece", unk_token, vocab },
      post_processor: { type: "BertProcessing", cls: [cls, vocab.get(cls)], sep: [sep, vocab.get(sep)] },
      decoder: { type: "WordPiece", prefix: "##", cleanup: true },
    };
  }
  const isGpt = Object.hasOwn(texts, "vocab.json") && Object.hasOwn(texts, "merges.txt");
  if (!isGpt) return ofSentencePiece(texts, settings);
  const vocab = new Map(Object.entries(parseJson(texts["vocab.json"])));
  const lines = linesOf(texts["merges.txt"].replace(/\r?\n$/, ""), /\r?\n/);
  const merges = lines.filter((line) => !line.startsWith("#version"));
  const isRoberta = vocab.has("<s>") && vocab.has("</s>");
  const byteLevel = { type: "ByteLevel", add_prefix_space: settings.add_prefix_space ?? false };
  const begin = named("cls", "<s>"), end = named("sep", "</s>"), mask = named("mask", "<mask>");
  return {
    added_tokens: addedOf(
      isRoberta ? ["<pad>", "<unk>", begin, end, mask] : [named("eos", "<|endoftext|>")], vocab
    ).map((token) => ({ ...token, lstrip: token.content === mask })),
    pre_tokenizer: byteLevel, decoder: byteLevel,
    model: { type: "BPE", vocab, merges },
    post_processor: isRoberta
      ? { type: "RobertaProcessing", cls: [begin, vocab.get(begin)], sep: [end, vocab.get(end)] }
      : byteLevel,
  };
}

/** The lines of a text that has not too many. @param {string | RegExp} end @returns {string[]} */
function linesOf(text, end) {
  const lines = text.split(end, MAX_TOKENS + 1);
  requireSound(lines.length <= MAX_TOKENS);
  return lines;
}

/** Special tokens of a vocabulary, as tokenizer.json lists them. @param {Map<string, number>} vocab */
function addedOf(tokens, vocab) {
  return [...new Set(tokens)].filter((content) => vocab.has(content)).map(
    (content) => ({ content, id: vocab.get(content), ...FLAGS })
  );
}
