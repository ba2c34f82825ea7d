// What a folder of Hugging Face's `transformers` is: its task and its block. A family is an entry of `FAMILIES`: how
// its config.json becomes a description, and where its tensors are.
import { completed, requireKnown, requireNumber, requireWhole, settingsOf } from "../config/model.js";
import { N_, require, shown } from "../errors.js";
import { ACTIVATIONS } from "../network/layers.js";
import { NAMES } from "./blocks.js";
import { rulesOf } from "./generation.js";
import { rotationsOf, windowsOf } from "./positions.js";
import { flagIn, listIn, numberIn, sizeIn, sizesOf } from "./sizes.js";

const LONGEST_TEXT = 1024, MAX_MAPS = 400 << 20; // tokens; bytes of all maps, as in model/config/foreign.py
const QKV = ["query", "key", "value"], PROJECTIONS = [...QKV, "output"];

/**
 * BERT and similar ones.
 * @param {string[]} filling The parts on the way to the logits of a gap: a matrix, its activation ("": that of the
 *   model), a norm, the last matrix, and the names of its bias.
 * @param {string[]} classifying And to those of a class: a matrix, its activation, the last matrix.
 * @param {Values} [usual] What a family does without a word in config.json.
 * @returns {Family}
 */
function reader(root, names, filling, classifying, usual = {}) {
  const [dense, change, norm, matrix, ...bias] = filling, [inner, bend, classes] = classifying;
  return { root, names, task: "reading", usual: { layer_norm_eps: 1e-12, type_vocab_size: 2, ...usual }, block(
    values, { d_model, rows, positions, activation }, task, labels = []
  ) {
    requireKnown("position_embedding_type", values.position_embedding_type ?? "absolute", ["absolute"]);
    requireKnown("is_decoder", values.is_decoder ?? false, [false]);
    const width = sizeIn(values, ["embedding_size"], undefined, d_model);
    const position_offset = root === "roberta." ? (values.pad_token_id ?? 1) + 1 : 0;
    const readouts = {
      filling: [
        { matrix: dense, outputs: width, inputs: d_model }, { activation: change || activation },
        { norm, inputs: width }, { matrix, outputs: rows, inputs: width, tied: "absent", bias },
      ],
      classification: [
        { matrix: inner, outputs: d_model, inputs: d_model }, { activation: bend },
        { matrix: classes, outputs: labels.length, inputs: d_model },
      ],
    };
    return {
      norm: "post", final_norm: false, positional: "learned", embedding_norm: true, embedding_width: width,
      token_types: names.embedding.types ? sizeIn(values, ["type_vocab_size"], 1 << 10) : 0, position_offset,
      max_length: positions - position_offset, readout: readouts[task] ?? [],
      ...(task === "classification" && { pooling: "first", labels }),
    };
  } };
}

/**
 * Llama and similar ones.
 * @param {Values} given The rest of the block. @param {Values} [usual] See `reader`. @returns {Family}
 */
function kin(given, usual = {}, names = NAMES.LLAMA) {
  return { root: "model.", names, task: "continuation", usual: {
    hidden_act: "silu", rms_norm_eps: 1e-6, ...usual,
  }, block(values, { d_model, num_heads, layers, positions }) {
    requireKnown("use_bidirectional_attention", values.use_bidirectional_attention ?? false, [false]);
    const own = values.head_dim != null && { head_width: sizeIn(values, ["head_dim"], 1 << 16) };
    const { head_width = d_model / num_heads } = own || {}, windows = windowsOf(values, layers);
    return {
      positional: "rotary", halves: true, rms_norm: true, gated: true, ...own, windows,
      num_kv_heads: sizeIn(values, ["num_key_value_heads"], 1000, num_heads),
      attention_bias: flagIn(values, "attention_bias") ? PROJECTIONS : [],
      feed_forward_bias: flagIn(values, "mlp_bias"),
      rotations: rotationsOf(values, head_width, positions, windows), ...given,
    };
  } };
}

/** Gemma multiplies the embeddings, and stores the weights of its norms minus 1. @returns {Family} */
function gemma(given, usual = {}, names = NAMES.LLAMA, has = (/** @type {Values} */ _values) => ({})) {
  const family = kin({ norm_shift: 1, norm: "both", ...given }, { head_dim: 256, ...usual }, names);
  return { ...family, block: (values, sizes, task) => ({
    ...family.block(values, sizes, task), embedding_scale: Math.fround(Math.sqrt(sizes.d_model)),
    activation: values.hidden_activation ?? "gelu_pytorch_tanh", ...has(values),
  }) };
}

/** The limits and the scale of the scores of Gemma 2 and 3. @param {Values} values */
const scaled = (values) => ({
  score_scale: numberIn(values, ["query_pre_attn_scalar"], 256, 1e-6) ** -0.5,
  logit_cap: numberIn(values, ["final_logit_softcapping"], 0),
});

/** An encoder and a decoder with different sizes. @param {Values} values */
function twoStacks(values, { rows, layers, num_heads, d_ff }) {
  const others = sizeIn(values, ["decoder_attention_heads"], 1000, num_heads);
  require(
    others === num_heads, "config-unsupported",
    N_("The encoder has {num_heads} heads and the decoder {others}. Open this model in the app."),
    { num_heads, others },
  );
  return {
    num_encoder_layers: layers, target_vocab_size: sizeIn(values, ["decoder_vocab_size"], undefined, rows),
    num_decoder_layers: sizeIn(values, ["decoder_layers", "num_decoder_layers"], 1000, layers),
    decoder_d_ff: sizeIn(values, ["decoder_ffn_dim"], undefined, d_ff),
    tie_embeddings: flagIn(values, "share_encoder_decoder_embeddings", true) ? "all" : "target",
  };
}

/** BART and Marian. @param {Values} given The rest of the block. @returns {Family} */
const bart = (given) => ({ root: "model.", names: NAMES.BART, task: "translation", stacks: true, block: (
  values, sizes
) => ({
  ...twoStacks(values, sizes), norm: "post", final_norm: false, stored_positions: sizes.positions + 2,
  embedding_scale: flagIn(values, "scale_embedding") ? Math.sqrt(sizes.d_model) : 1,
  ...(!flagIn(values, "tie_word_embeddings", true) && { tie_embeddings: "target" }), ...given,
}) });

/** T5, also with a gate (Flan-T5). @type {Family} */
const t5 = {
  root: "", names: NAMES.T5, task: "translation", stacks: true, usual: { layer_norm_epsilon: 1e-6 },
  block(values, sizes) {
    const [name, gated] = shown(values.feed_forward_proj ?? "relu").split("-").reverse();
    requireKnown("feed_forward_proj", gated ?? "gated", ["gated"]);
    requireKnown("feed_forward_proj", name, [...ACTIVATIONS.keys()]);
    const buckets = sizeIn(values, ["relative_attention_num_buckets"], 1 << 16, 32), half = buckets / 2;
    requireNumber("relative_attention_num_buckets", buckets, 4, 1 << 16);
    requireWhole("relative_attention_num_buckets / 2", half); // an encoder has one half for earlier keys
    const farthest = sizeIn(values, ["relative_attention_max_distance"], 1 << 20, 128);
    requireNumber("relative_attention_max_distance", farthest, half + 1, 1 << 20); // nearer ones have their own buckets
    const scales = values.scale_decoder_outputs ?? values.tie_word_embeddings !== false;
    return {
      ...twoStacks(values, sizes), rms_norm: true, positional: "relative", gated: gated === "gated",
      head_width: sizeIn(values, ["d_kv"], 1 << 16), attention_bias: [], feed_forward_bias: false, score_scale: 1,
      activation: gated && name === "gelu" ? "gelu_new" : name,
      buckets, farthest,
      state_scale: values.model_type === "t5" && scales ? sizes.d_model ** -0.5 : 1,
    };
  },
};

const PREDICTIONS = "cls.predictions.", LATE = { use_sliding_window: false, max_window_layers: 28 };
const bert = reader("bert.", NAMES.BERT, [
  `${PREDICTIONS}transform.dense`, "", `${PREDICTIONS}transform.LayerNorm`, `${PREDICTIONS}decoder`,
  `${PREDICTIONS}bias`, `${PREDICTIONS}decoder.bias`,
], ["bert.pooler.dense", "tanh", "classifier"]);
const roberta = reader("roberta.", NAMES.BERT, [
  "lm_head.dense", "gelu", "lm_head.layer_norm", "lm_head.decoder", "lm_head.bias", "lm_head.decoder.bias",
], ["classifier.dense", "tanh", "classifier.out_proj"]);

/** @type {Map<string, Family>} */
export const FAMILIES = new Map(Object.entries(/** @type {Record<string, Family>} */ ({
  gpt2: {
    root: "transformer.", names: NAMES.GPT2, task: "continuation", joined: "columns",
    usual: { activation_function: "gelu_new" }, block: (values) => ({
      positional: "learned", ...(!flagIn(values, "scale_attn_weights", true) && { score_scale: 1 }),
      scale_by_layer: flagIn(values, "scale_attn_by_inverse_layer_idx"),
    }),
  },
  gpt_neox: {
    root: "gpt_neox.", names: NAMES.NEOX, task: "continuation", joined: "heads", output: "embed_out",
    usual: { rotary_pct: 0.25 }, block: (values, { d_model, num_heads, layers, positions }) => ({
      positional: "rotary", halves: true, parallel: flagIn(values, "use_parallel_residual", true),
      attention_bias: flagIn(values, "attention_bias", true) ? PROJECTIONS : [],
      rotations: rotationsOf(values, d_model / num_heads, positions, Array(layers).fill(0)),
    }),
  },
  llama: kin({}), mistral: kin({}, { max_window_layers: 0, sliding_window: 4096 }),
  qwen2: kin({ attention_bias: QKV }, LATE),
  qwen3: kin({ norm_queries: "each" }, { head_dim: 128, ...LATE }),
  smollm3: kin({}, { rope_theta: 2e6, use_sliding_window: false, no_rope_layer_interval: 4 }),
  olmo2: kin({ norm: "added", norm_queries: "all" }, { rms_norm_eps: 1e-5 }), gemma: gemma({ norm: "pre" }),
  gemma2: gemma({}, {
    sliding_window_pattern: 2, attn_logit_softcapping: 50, final_logit_softcapping: 30,
  }, NAMES.GEMMA, (values) => ({ ...scaled(values), score_cap: numberIn(values, ["attn_logit_softcapping"], 0) })),
  gemma3_text: gemma({ norm_queries: "each" }, {
    sliding_window_pattern: 6, rope_theta: 1e6, rope_local_base_freq: 1e4,
  }, NAMES.GEMMA, scaled),
  bert, roberta, "xlm-roberta": roberta, camembert: roberta,
  distilbert: reader(
    "distilbert.", NAMES.DISTILBERT,
    ["vocab_transform", "", "vocab_layer_norm", "vocab_projector", "vocab_projector.bias"],
    ["pre_classifier", "relu", "classifier"],
  ),
  electra: reader("electra.", NAMES.BERT, [
    "generator_predictions.dense", "gelu", "generator_predictions.LayerNorm", "generator_lm_head",
    "generator_lm_head.bias",
  ], ["classifier.dense", "gelu", "classifier.out_proj"]),
  bart: bart({ positional: "learned", embedding_norm: true, position_offset: 2 }),
  marian: bart({ positional: "sinusoidal", halves: true }), t5,
  mt5: { ...t5, usual: { ...t5.usual, feed_forward_proj: "gated-gelu" } },
})));

/** The end of the name of a class → its task; the base of a family has that of the family. */
export const TASKS = Object.entries({
  ForSequenceClassification: "classification", ForMaskedLM: "filling", ForCausalLM: "continuation",
  LMHeadModel: "continuation", ForConditionalGeneration: "translation", MTModel: "translation",
  EncoderModel: "reading", Model: "", ForPreTraining: "",
});

/** What the class that config.json names does. @param {Values} values @param {Family} family @returns {Task} */
function taskOf(values, family) {
  const named = shown(listIn(values, "architectures")?.[0] ?? "Model"), type = values.model_type;
  const found = TASKS.find(([end]) => named.endsWith(end))?.[1];
  const task = named === "BertForPreTraining" ? "filling" : found === "" ? family.task : found;
  const known = { reading: ["reading", "filling", "classification"], continuation: ["continuation"], translation: [
    "translation", ...(family.names.self.positions ? ["reading"] : []),
  ] };
  require(
    task && known[family.task].includes(task), "config-unsupported",
    N_("The browser does not run {named} of the family {type}. Open this model in the app."),
    { named, type },
  );
  return /** @type {Task} */ (task);
}

/** The classes of a classifier. @param {Values} values @returns {string[]} */
function labelsOf(values) {
  const labels = Object.values(values.id2label ?? { 0: "LABEL_0", 1: "LABEL_1" }).map(String);
  require(
    labels.length > 1 && values.problem_type !== "regression", "config-unsupported",
    N_("This model gives a text a number and not one of several classes. Choose a classifier."),
  );
  return labels;
}

/**
 * The ids and the rules in the settings for writing: those of generation_config.json, and of config.json without it.
 * @param {Values} config @param {Values | undefined} generation @param {Task} task @returns {Specials}
 */
function specialsOf(config, generation, task, rows) {
  const settings = generation ?? config, values = { ...config, ...generation };
  const id = (name, given = values) => {
    const value = given[name] ?? undefined, known = value === undefined || (Number.isInteger(value) && value < rows);
    require(
      known && !(value < 0), "config-damaged",
      N_("{name} in {file} is {value}, and this model has the tokens 0 to {last}. "
        + "Write one of them, or null for none."),
      {
        name, file: name in (generation ?? {}) ? "generation_config.json" : "config.json", value: shown(value),
        last: rows - 1,
      },
    );
    return value;
  };
  const ends = [values.eos_token_id ?? []].flat().filter((end) => !(end < 0)); // a negative end is never written
  const writes = task === "translation" || task === "continuation";
  for (const eos_token_id of writes ? ends : []) id("eos_token_id", { eos_token_id });
  const start = id("decoder_start_token_id") ?? id("bos_token_id");
  const bad = Array.isArray(settings.bad_words_ids) ? settings.bad_words_ids : [];
  require(
    task !== "translation" || (start !== undefined && ends.length === 1), "config-damaged",
    N_("The settings name no token with which the text starts or ends. Add generation_config.json."),
  );
  const specials = {
    start: start ?? ends[0] ?? 0, ends, pad: id("pad_token_id"), first: id("forced_bos_token_id", settings),
    banned: bad.filter((word) => word?.length === 1 && !ends.includes(word[0])).map(([token]) => token),
  };
  return { ...specials, rules: writes ? rulesOf(settings, specials, rows) : undefined };
}

/** @param {Values} values */
function familyOf(values) {
  const { model_type: type, quantization_config: quantized } = values, known = [...FAMILIES.keys()].join(", ");
  require(
    !quantized, "config-unsupported",
    N_("The weights are quantized. Open the model from which they were made, in full or half precision."),
  );
  require(
    typeof type === "string", "config-damaged",
    N_("config.json is missing or names no model_type. Add the whole file of this model."),
  );
  const family = FAMILIES.get(type);
  require(
    family, "config-unsupported",
    N_("The browser does not run models of the family {type}. It runs {known}. Open this model in the app."),
    { type: shown(type), known },
  );
  return family;
}

/**
 * From the last states of a decoder to its logits.
 * @param {Sizes} config @param {Family} family @returns {ReadoutStep[]}
 */
function wayOut({ d_model: inputs, target_vocab_size: outputs, state_scale, logit_cap }, { output = "lm_head" }) {
  const bias = ["final_logits_bias", ""]; // of BART and Marian
  return [
    ...(state_scale ? [{ times: state_scale }] : []),
    { matrix: output, outputs, inputs, tied: "absent", bias, shape: [1, outputs] },
    ...(logit_cap ? [{ cap: logit_cap }] : []),
  ];
}

/** What a folder of another library is. @param {Record<string, string>} texts See `describe`. @returns {Description} */
export function describeForeign(texts) {
  const given = settingsOf(texts, "config.json"), family = familyOf(given), values = { ...family.usual, ...given };
  const task = taskOf(values, family), sizes = sizesOf(values);
  const { layers, rows, positions, names, ...known } = sizes;
  const labels = task === "classification" ? labelsOf(values) : undefined;
  const stack = family.task === "continuation" ? "num_decoder_layers" : "num_encoder_layers";
  const block = /** @type {Values} */ ({
    source_vocab_size: rows, target_vocab_size: rows, vocab_size: rows, stored_positions: positions, [stack]: layers,
    max_length: positions, several_labels: values.problem_type === "multi_label_classification", ...known,
    ...family.block(values, sizes, task, labels), ...(task === "reading" && { num_decoder_layers: 0 }),
  });
  const { num_encoder_layers: above = 0, num_decoder_layers: below = 0 } = block;
  const maps = (above + below * (above ? 2 : 1)) * sizes.num_heads;
  block.max_length = Math.min(LONGEST_TEXT, Math.floor(Math.sqrt(MAX_MAPS / (4 * maps))), block.max_length);
  require(
    block.max_length > 0, "config-damaged",
    N_("{name} in config.json is {value}, which leaves no position for a token."),
    { name: names.max_length, value: positions },
  );
  const config = completed(block, names);
  if (below) config.readout = wayOut(config, family);
  const { source_lang: from, target_lang: to } = settingsOf(texts, "tokenizer_config.json");
  return {
    family: values.model_type, task, config, figures: {}, segments: config.token_types,
    specials: specialsOf(
      values, "generation_config.json" in texts ? settingsOf(texts, "generation_config.json") : undefined, task,
      config.target_vocab_size
    ),
    ...(typeof from === "string" && typeof to === "string" && { languages: [from, to] }),
  };
}

/** How the tensors of a family are stored. @param {Description} description @returns {Layout} */
export function layoutOf({ family, config }) {
  const { names, ...layout } = /** @type {Family} */ (FAMILIES.get(family));
  return { ...layout, names: config.gated && names === NAMES.T5 ? NAMES.GATED_T5 : names };
}
