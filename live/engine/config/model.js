// The sizes of a model, checked, and the parts of its block.
import { EngineError, N_, require, shown } from "../errors.js";
import { parseJson } from "../json.js";

const MAX_SIZE = 1 << 20, MAX_POSITIONS = 1 << 12, MAX_LAYERS = 1000, MAX_TABLE = 1 << 24;
/** @type {Record<string, unknown[]>} What our own models may choose. */
const CHOICES = {
  architecture: ["recurrent"], norm: ["post", "pre"], activation: ["relu", "gelu"], pooling: ["attention", "mean"],
  attention: ["scaled_dot_product", "additive", "none"], tie_embeddings: ["none", "target", "all"],
  positional: ["sinusoidal", "learned", "rotary", "alibi", "relative", "none"], attention_sinks: [false, true],
};

/**
 * What `config.json` must say about one of our models: the names of its choices, and of its sizes.
 * @returns {[string[], string[]]}
 */
function namesNeeded(task, architecture) {
  const isTranslator = task === "translation";
  const ends = isTranslator ? ["source_vocab_size", "target_vocab_size"] : ["vocab_size"];
  if (architecture) return [["attention", "tie_embeddings"], ["d_model", "d_hidden", "max_length", ...ends]];
  const layers = isTranslator ? ["num_encoder_layers", "num_decoder_layers"] : ["num_encoder_layers"];
  return [
    ["norm", "activation", "attention", "positional", isTranslator ? "tie_embeddings" : "pooling"],
    ["d_model", "d_ff", "max_length", "num_heads", ...layers, ...ends],
  ];
}

// The values that follow are those of config.json, and a sentence names one as this file does.

/** @param {unknown} value @param {unknown[]} known */
export function requireKnown(name, value, known) {
  require(
    known.includes(value), "config-unsupported",
    N_("{name} in config.json is {value}. The browser runs {known}. Open this model in the app."),
    { name, value: shown(value), known: known.join(", ") },
  );
}

/** @param {unknown} value @returns {asserts value is number} */
export function requireWhole(name, value, most = name.startsWith("num_") ? MAX_LAYERS : MAX_SIZE) {
  const size = /** @type {number} */ (value);
  require(
    Number.isInteger(size) && size > 0 && size <= most, "config-damaged",
    N_("{name} in config.json is {value}. It must be a whole number from 1 to {most}."),
    { name, value: shown(value), most },
  );
}

/** @param {unknown} value @returns {asserts value is number} */
export function requireNumber(name, value, least = 0, most = Infinity) {
  const number = /** @type {number} */ (value);
  require(
    Number.isFinite(number) && number >= least && number <= most, "config-damaged",
    N_("{name} in config.json is {value}. It must be a number from {least} to {most}."),
    { name, value: shown(value), least, most },
  );
}

/** The sizes of one of our own models. @param {Record<string, any>} model @returns {Sizes} */
export function readSizes(task, model) {
  const [choices, sizes] = namesNeeded(task, model.architecture);
  for (const [name, known] of Object.entries(CHOICES))
    if (name in model || choices.includes(name)) requireKnown(name, model[name], known);
  for (const name of sizes) requireWhole(name, model[name], name === "max_length" ? MAX_POSITIONS : undefined);
  require(
    task === "translation" || (Array.isArray(model.labels) && model.labels.length > 1), "config-damaged",
    N_("A classifier needs at least two labels."),
  );
  if (model.architecture) return /** @type {any} */ (model);
  requireNumber("score_cap", model.score_cap ?? 0);
  const { d_model, norm, tie_embeddings: tied, target_vocab_size, labels } = model;
  const outputs = task === "translation" ? target_vocab_size : labels.length;
  const output = task === "translation" ? { bias: [""], tied: tied === "none" ? "never" : "always" } : {};
  return completed({
    ...model, final_norm: norm === "pre", embedding_scale: Math.sqrt(d_model),
    readout: [{ matrix: "output_projection", outputs, inputs: d_model, ...output }],
  });
}

/**
 * The sizes of a model with the parts of its block that they do not name.
 * @param {Record<string, any>} given
 * @param {Record<string, string>} [names] Our names → those in config.json, where they differ.
 * @returns {Sizes}
 */
export function completed(given, names = {}) {
  const { d_model, num_heads, num_kv_heads, max_length, d_ff, attention } = given;
  const nameOf = (size) => names[size] ?? size;
  const requireDivisible = (whole, part) => require(
    given[whole] % given[part] === 0, "config-damaged",
    N_("{whole} ({size}) must be divisible by {part} ({count}) in config.json."),
    { whole: nameOf(whole), size: given[whole], part: nameOf(part), count: given[part] },
  );
  if (!given.head_width) requireDivisible("d_model", "num_heads");
  const head_width = given.head_width || d_model / num_heads, groups = num_kv_heads || num_heads;
  requireWhole(nameOf("num_kv_heads"), groups, num_heads);
  if (num_kv_heads) requireDivisible("num_heads", "num_kv_heads");
  require(
    given.positional !== "rotary" || (head_width % 2 === 0 && attention !== "additive"), "config-damaged",
    N_("Rotary positions need heads of an even width ({width}) and scaled dot products."), { width: head_width },
  );
  require(
    d_model * max_length <= MAX_TABLE, "config-damaged",
    N_("{width} times {length} in config.json is {size}. The limit is {limit}."),
    { width: nameOf("d_model"), length: nameOf("max_length"), size: d_model * max_length, limit: MAX_TABLE },
  );
  return /** @type {any} */ ({
    num_encoder_layers: 0, num_decoder_layers: 0, attention: "scaled_dot_product", embedding_width: d_model,
    embedding_scale: 1, embedding_norm: false, token_types: 0, tie_embeddings: "all", halves: false, buckets: 32,
    farthest: 128, norm: "pre", rms_norm: false, norm_eps: 1e-5, norm_shift: 0, final_norm: true, parallel: false,
    gated: false, attention_bias: ["query", "key", "value", "output"], feed_forward_bias: true, norm_queries: "",
    score_scale: head_width ** -0.5, scale_by_layer: false, score_cap: 0, attention_sinks: false, decoder_d_ff: d_ff,
    readout: [], ...given, head_width, num_kv_heads: groups,
  });
}

/**
 * The values of a file of settings; none without the file.
 * @param {Record<string, string>} texts By the names of their files. @param {string} file @returns {Values}
 */
export function settingsOf(texts, file) {
  try {
    const values = parseJson(texts[file] ?? "{}");
    if (typeof values === "object" && values !== null && !Array.isArray(values)) return values;
  } catch {
    // as if it said something else
  }
  throw new EngineError("config-damaged", N_("{file} is damaged. Copy it again."), { file });
}
