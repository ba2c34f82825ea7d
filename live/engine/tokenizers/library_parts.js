// The parts of a tokenizer.json of the library `tokenizers`: normalizers change a text, pre-tokenizers cut it into
// pieces, decoders turn tokens into a text. Each part has the name and the settings of the library.
import { N_, require, shown } from "../errors.js";
import { requireSound } from "./damage.js";
import { placesOf, regExpOf } from "./patterns.js";
import { bytesOf, charactersOf, toBytes, toText } from "../text/shown_bytes.js";
import { wordsOf } from "../text/tokenizers.js";

const MAX_PARTS = 24, MAX_NAME = 64, MAX_CHARACTER = 64; // of one stage; characters; of what replaces one character
const MAX_CHARSMAP = 8 << 20; // characters or bytes
const MAX_GROWTH = 20; // Unicode's compatibility forms write one character as up to 18
const PUNCTUATION = /[!-/:-@[-`{-~]|\p{P}/gu, NUMBER = /\p{N}/gu, SPACE = /\p{White_Space}/gu;
const WORD_OR_SIGNS = new RegExp(
  String.raw`[\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\p{Join_Control}]+`
  + String.raw`|[^\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\p{Join_Control}\p{White_Space}]+`, "gu",
);
const NMT_REMOVES = new RegExp(String.raw`[\x01-\x08\x0b` + String.raw`\x0e-\x1f\x7f\x8f\x9f]`, "g");
const CHINESE = new RegExp(
  String.raw`[\u4e00-\u9fff\u3400-\u4dbf\u{20000}-\u{2a6df}\u{2a700}-\u{2b73f}\u{2b740}-\u{2b81f}`
  + String.raw`\u{2b920}-\u{2ceaf}\uf900-\ufaff\u{2f800}-\u{2fa1f}]`, "gu",
);
/** What stands too far from its word in a joined text, and what replaces it. */
const SPACED = [
  [" .", "."], [" ?", "?"], [" !", "!"], [" ,", ","], [" ' ", "'"], [" n't", "n't"], [" 'm", "'m"],
  [" do not", " don't"], [" 's", "'s"], [" 've", "'ve"], [" 're", "'re"],
];

/** A small Greek sigma has another form at the end of a word, but not in the library. */
const lower = (text) => text.replaceAll("Σ", "σ").toLowerCase();
const form = (name) => () => (text) => text.normalize(name);

/** @param {{ pattern: { String?: string, Regex?: string } }} part @returns {(text: string) => number[][]} */
function finder({ pattern: { String: given, Regex: regex } }) {
  const escaped = (given ?? "").replace(/[$()*+.?[\\\]^{|}]/g, "\\$&");
  const found = regex === undefined ? new RegExp(escaped, "gu") : regExpOf(regex).regExp;
  return (text) => placesOf(found, text);
}

/** Normalizer and decoder. */
function replacing(part) {
  const find = finder(part), content = String(part.content);
  return (text) => {
    let end = 0, changed = "";
    for (const [from, to] of find(text)) {
      changed += text.slice(end, from) + content;
      end = to;
    }
    return changed + text.slice(end);
  };
}

/**
 * SentencePiece's rules for characters: a tree of bytes (Yata et al. 2007), and the replacements, which end with zeros.
 * The function gives the length and the replacement of the first, or of the longest, rule for what follows a place.
 * @param {string | Uint8Array} [charsmap] A text is in base 64.
 */
function rulesIn(charsmap = "") {
  requireShort(charsmap.length <= MAX_CHARSMAP);
  const bytes = typeof charsmap === "string" ? Uint8Array.from(atob(charsmap), (sign) => sign.charCodeAt(0)) : charsmap;
  if (bytes.length < 4) return null;
  const size = new DataView(bytes.buffer).getUint32(0, true);
  const tree = new Uint32Array(bytes.slice(4, 4 + size).buffer), texts = bytes.subarray(4 + size);
  const step = (unit) => (unit >>> 10) << ((unit & 512) >>> 6);
  return (part, place = 0, isLongest = false) => {
    let at = step(tree[0]), length = 0, found = -1;
    for (let i = place; i < part.length && (isLongest || found < 0); i++) {
      at ^= part[i];
      const unit = part[i] ? tree[at] ?? 0 : 0;
      if (!part[i] || ((unit & 0x800000ff) >>> 0) !== part[i]) break;
      at ^= step(unit);
      if (unit & 256) [length, found] = [i + 1 - place, tree[at] & 0x7fffffff];
    }
    if (found < 0 || found >= texts.length) return null;
    const end = texts.indexOf(0, found), text = texts.subarray(found, end < 0 ? texts.length : end);
    requireShort(text.length <= MAX_CHARACTER);
    return { length, text: toText(text, false) };
  };
}

/** As in the library, the first rule that begins a group of characters replaces the whole group. */
function precompiled({ precompiled_charsmap: charsmap }) {
  const rules = rulesIn(charsmap ?? undefined), ruleOf = (part) => rules?.(toBytes(part))?.text ?? null;
  if (!rules) return (text) => text;
  const groups = new Intl.Segmenter("en", { granularity: "grapheme" });
  return (text) => Array.from(groups.segment(text), ({ segment }) => {
    const whole = toBytes(segment).length < 6 ? ruleOf(segment) : null;
    return whole ?? Array.from(segment, (character) => ruleOf(character) ?? character).join("");
  }).join("");
}

/** SentencePiece's own normalization: the longest rule at each place, and marks for spaces. */
function sentencePiece({ precompiled_charsmap, prefix, strips }) {
  const rules = rulesIn(precompiled_charsmap);
  return (text) => {
    const bytes = toBytes(text), parts = [];
    for (let at = 0, size; at < bytes.length; at += size) {
      const rule = rules?.(bytes, at, true), lead = bytes[at];
      size = rule?.length ?? 1 + Number(lead > 0xbf) + Number(lead > 0xdf) + Number(lead > 0xef);
      parts.push(rule?.text ?? toText(bytes.subarray(at, at + size), false));
    }
    const all = parts.join(""), kept = strips ? all.replace(/^ +/, "").replace(/ {2,}/g, " ") : all;
    const marked = (prefix && kept ? "▁" : "") + kept.replaceAll(" ", "▁");
    return strips ? marked.replace(/▁+$/, "") : marked;
  };
}

function requireShort(condition) {
  require(condition, "tokenizer-unsupported", N_("A part of the tokenizer makes texts many times as long."));
}

function bertNormalizer({ clean_text, handle_chinese_chars, strip_accents, lowercase }) {
  return (text) => {
    let changed = text;
    if (clean_text) changed = changed.replace(/(?![\t\n\r])[\p{Cc}\p{Cf}\p{Co}\ufffd]/gu, "").replace(SPACE, " ");
    if (handle_chinese_chars) changed = changed.replace(CHINESE, " $& ");
    if (strip_accents ?? lowercase) changed = changed.normalize("NFD").replace(/\p{Mn}/gu, "");
    return lowercase ? lower(changed) : changed;
  };
}

/** Name → settings → text → text. @type {Record<string, (part: any) => (text: string) => string>} */
export const NORMALIZERS = {
  NFC: form("NFC"), NFD: form("NFD"), NFKC: form("NFKC"), NFKD: form("NFKD"),
  Lowercase: () => lower,
  StripAccents: () => (text) => text.replace(/\p{M}/gu, ""),
  BertNormalizer: bertNormalizer,
  Replace: replacing,
  Prepend: ({ prepend }) => (text) => text && prepend + text,
  Strip: ({ strip_left, strip_right }) => (text) => {
    const ended = strip_right ? text.slice(0, text.length - spacesAt(text, -1)) : text;
    return strip_left ? ended.slice(spacesAt(ended, 1)) : ended;
  },
  Precompiled: precompiled,
  SentencePiece: sentencePiece,
  Nmt: () => (text) => text
    .replace(NMT_REMOVES, "")
    .replace(/[\t\n\f\r\u1680\u200b-\u200f\u2028\u2029\u2581\ufeff\ufffd]/g, " "),
  ByteLevel: () => charactersOf,
};

/** How many spaces a text begins with (1), or ends with (-1). @param {string} text */
export function spacesAt(text, direction) {
  let count = 0;
  while (count < text.length && /\p{White_Space}/u.test(text.at(direction > 0 ? count : -1 - count) ?? "")) count++;
  return count;
}

/**
 * Cut a text at places. A piece that is removed becomes an empty text.
 * @param {string} text @param {number[][]} places @param {string} behavior of the library
 */
function cut(text, places, behavior, invert = false) {
  const parts = [], isBackwards = behavior === "MergedWithNext", pieces = [];
  let end = 0, before = false;
  for (const [from, to] of [...places, [text.length, text.length]]) {
    if (end < from) parts.push([text.slice(end, from), invert]);
    if (from < to) parts.push([text.slice(from, to), !invert]);
    end = to;
  }
  if (behavior === "Isolated") return parts.map(([part]) => part);
  if (behavior === "Removed") return parts.map(([part, isMatch]) => (isMatch ? "" : part));
  for (const [part, isMatch] of isBackwards ? parts.reverse() : parts) {
    const joins = behavior === "Contiguous" ? isMatch === before : isMatch && !before;
    const neighbour = joins ? pieces.pop() ?? "" : "";
    pieces.push(isBackwards ? part + neighbour : neighbour + part);
    before = isMatch;
  }
  return isBackwards ? pieces.reverse() : pieces;
}

const cutting = (pattern, behavior) => (text) => cut(text, placesOf(pattern, text), behavior);

/** Pre-tokenizer. It marks spaces, and cuts before each. */
function metaspace({ replacement, prepend_scheme = "always", add_prefix_space = true, split = true }) {
  const scheme = add_prefix_space ? prepend_scheme : "never", find = finder({ pattern: { String: replacement } });
  return (text, isFirst) => {
    const marked = text.replaceAll(" ", replacement);
    const prepends = !marked.startsWith(replacement) && (scheme === "always" || (scheme === "first" && isFirst));
    const whole = prepends ? replacement + marked : marked;
    return split ? cut(whole, find(whole), "MergedWithNext") : [whole];
  };
}

/**
 * Name → settings → piece of a text, and whether the text begins with it → smaller pieces.
 * @type {Record<string, (part: any) => (text: string, isFirst: boolean) => string[]>}
 */
export const PRE_TOKENIZERS = {
  ByteLevel: ({ add_prefix_space, use_regex = true }) => (text) => {
    const spaced = add_prefix_space && !text.startsWith(" ") ? ` ${text}` : text;
    return (use_regex ? wordsOf(spaced) : [spaced]).map(charactersOf);
  },
  BertPreTokenizer: () => (text) => cutting(SPACE, "Removed")(text).flatMap(
    (word) => (word ? cutting(PUNCTUATION, "Isolated")(word) : [word])
  ),
  Metaspace: metaspace,
  Whitespace: () => (text) => cut(text, placesOf(WORD_OR_SIGNS, text), "Removed", true),
  WhitespaceSplit: () => cutting(SPACE, "Removed"),
  Punctuation: ({ behavior = "Isolated" }) => cutting(PUNCTUATION, behavior),
  Digits: ({ individual_digits }) => cutting(NUMBER, individual_digits ? "Isolated" : "Contiguous"),
  Split: ({ behavior, invert, ...part }) => {
    const find = finder(/** @type {any} */ (part));
    return (text) => cut(text, find(text), behavior, invert);
  },
};

/** Each run of bytes becomes a text, or a sign per byte where the run is damaged. @param {string[]} tokens */
function withBytes(tokens) {
  const texts = [];
  let bytes = [];
  const end = () => {
    try {
      if (bytes.length) texts.push(toText(Uint8Array.from(bytes), true));
    } catch {
      texts.push(...bytes.map(() => "\ufffd"));
    }
    bytes = [];
  };
  for (const token of tokens) {
    const byte = /^<0x([\da-fA-F]{2})>$/.exec(token);
    if (byte) bytes.push(Number.parseInt(byte[1], 16));
    else {
      end();
      texts.push(token);
    }
  }
  end();
  return texts;
}

const joinedBytes = (parts) => toText(Uint8Array.from(parts.flatMap((part) => [...part])), false);
const eachToken = (change) => (tokens) => tokens.map(change);

/**
 * Name → settings → tokens → tokens, which are joined in the end.
 * @type {Record<string, (part: any) => (tokens: string[]) => string[]>}
 */
export const DECODERS = {
  ByteLevel: () => (tokens) => [joinedBytes(tokens.map((token) => bytesOf(token) ?? toBytes(token)))],
  WordPiece: ({ prefix, cleanup }) => eachToken((token, i) => {
    const text = i === 0 ? token : token.startsWith(prefix) ? token.slice(prefix.length) : ` ${token}`;
    return cleanup ? SPACED.reduce((changed, [from, to]) => changed.replaceAll(from, to), text) : text;
  }),
  Metaspace: ({ replacement, prepend_scheme, add_prefix_space = true }) => eachToken((token, i) => (
    token.replaceAll(replacement, i === 0 && add_prefix_space && prepend_scheme !== "never" ? "" : " ")
  )),
  BPEDecoder: ({ suffix }) => (tokens) => tokens.map(
    (token, i) => token.replaceAll(suffix, i === tokens.length - 1 ? "" : " ")
  ),
  ByteFallback: () => withBytes,
  Fuse: () => (tokens) => [tokens.join("")],
  Strip: ({ content, start, stop }) => eachToken((token) => {
    const signs = [...token];
    let from = 0, to = signs.length;
    while (from < Math.min(start, to) && signs[from] === content) from++;
    while (signs.length - to < stop && to > from && signs[to - 1] === content) to--;
    return signs.slice(from, to).join("");
  }),
  Replace: (part) => eachToken(replacing(part)),
};

/** @param {unknown} condition @param {unknown} part The name of a part of a tokenizer. */
export function requireKnownPart(condition, part) {
  require(condition, "tokenizer-unsupported", N_(
    "The tokenizer has {part}, which the browser does not know. Open this model in the app."
  ), { part: shown(part) });
}

/** The parts of a stage in order, with those inside sequences. @returns {any[]} */
export function libraryParts(stage) {
  requireSound(!stage || typeof stage.type === "string");
  if (stage?.type !== "Sequence") return stage ? [stage] : [];
  return (stage.normalizers ?? stage.pretokenizers ?? stage.processors ?? stage.decoders).flatMap(libraryParts);
}

/**
 * The functions of a stage.
 * @template Step @param {any} stage @param {Record<string, (part: any) => Step>} known @returns {Step[]}
 */
export function stepsOf(stage, known) {
  const parts = libraryParts(stage);
  requireShort(parts.length <= MAX_PARTS);
  return parts.map((part) => {
    requireKnownPart(Object.hasOwn(known, part.type), part.type);
    const { precompiled_charsmap: _, pattern, ...settings } = part;
    for (const value of [...Object.values(settings), pattern?.String])
      requireShort(typeof value !== "string" || value.length <= MAX_NAME);
    return known[part.type](part);
  });
}

/** Run the functions of a stage, one after the other. @param {((texts: string[]) => string[])[]} steps */
export function runSteps(steps, texts) {
  const length = (all) => all.reduce((sum, text) => sum + text.length, 0), most = MAX_GROWTH * (length(texts) + 100);
  return steps.reduce((before, step) => {
    const after = step(before);
    requireShort(length(after) <= most);
    return after;
  }, texts);
}
