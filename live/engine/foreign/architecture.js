// What a folder of Hugging Face's `transformers` is: its task and its block. A family is an entry of `FAMILIES`: how
// its config.json becomes a description, and where its tensors are.
import { completed, requireKnown, requireNumber, requireWhole } from "../config/model.js";
import { N_, require } from "../errors.js";
import { NAMES } from "./blocks.js";
import { isUnaware, rotationsOf, windowsOf } from "./positions.js";
import { activationOf, flagIn, listIn, numberIn, settingsOf, sizeIn, sizesOf } from "./sizes.js";

const LONGEST_TEXT = 1024, MAX_MAPS = 400 << 20; // of a text; of all its maps, as in model/config/foreign.py
const PROJECTIONS = ["query", "key", "value", "output"];

/** A way to the logits through a hidden layer. @param {ReadoutStep} output */
const hidden = (name, [outputs, inputs], activation, norm, output) => [
  { matrix: name, outputs, inputs }, { activation }, ...(norm ? [{ norm, inputs: outputs }] : []), output,
];

/** BERT and its kin. @param {Values} values @param {ReturnType<typeof sizesOf>} sizes */
function readers({ task, labels }, values, sizes, { filling, classifying, types = 2, activations = ["hidden_act"] }) {
  const { d_model, rows: outputs, positions } = sizes, activation = activationOf(values, activations, "gelu");
  requireKnown("position_embedding_type", values.position_embedding_type ?? "absolute", ["absolute"]);
  requireKnown("is_decoder", flagIn(values, "is_decoder"), [false]);
  const width = sizeIn(values, ["embedding_size"], undefined, d_model), [dense, act, norm, matrix, ...bias] = filling;
  const [inner, change, classes] = classifying;
  const readout = task === "filling"
    ? hidden(dense, [width, d_model], act ?? activation, norm, { matrix, outputs, inputs: width, tied: "absent", bias })
    : hidden(inner, [d_model, d_model], change, "", { matrix: classes, outputs: labels?.length, inputs: d_model });
  return {
    norm: "post", final_norm: false, positional: "learned", embedding_norm: true, embedding_width: width, activation,
    token_types: types && sizeIn(values, ["type_vocab_size"], 1 << 10, types), num_encoder_layers: sizes.layers,
    stored_positions: positions, max_length: positions, readout: task === "reading" ? [] : readout,
    ...(task === "classification" && { pooling: "first", labels }),
  };
}

/** Decoders: what the way to the logits needs. */
const decoder = ({ d_model, layers, rows }, matrix, bound = 0) => ({
  num_decoder_layers: layers,
  readout: [
    { matrix, outputs: rows, inputs: d_model, tied: "absent", bias: [""] }, ...(bound ? [{ cap: bound }] : []),
  ],
});

/** A limit that a family may have: null means none, and a family without `usual` ignores it. @param {Values} values */
function capOf(values, name, usual = undefined) {
  const cap = usual === undefined ? 0 : name in values ? values[name] ?? 0 : usual;
  requireNumber(name, cap);
  return cap;
}

/**
 * Llama and its kin.
 * @param {Values} values @param {ReturnType<typeof sizesOf>} sizes @param {Values} kin
 *   What a family does without a word in config.json; its layers with a window; its rotations; the rest of its block.
 */
function llama(values, sizes, { usual = {}, window = {}, rope = {}, ...block }) {
  const { d_model, num_heads, layers, positions } = sizes, bias = flagIn(values, "attention_bias");
  requireKnown("use_bidirectional_attention", flagIn(values, "use_bidirectional_attention"), [false]);
  const head_width = sizeIn(values, ["head_dim"], 1 << 16, usual.head_dim ?? d_model / num_heads);
  const windows = windowsOf(values, layers, window);
  return {
    positional: "rotary", halves: true, rms_norm: true, gated: true, head_width, windows,
    activation: usual.activation ?? activationOf(values, ["hidden_act"], "silu"),
    num_kv_heads: sizeIn(values, ["num_key_value_heads"], 1000, num_heads), attention_bias: bias ? PROJECTIONS : [],
    feed_forward_bias: flagIn(values, "mlp_bias"), max_length: positions,
    rotations: rotationsOf(values, { layers, width: head_width, positions, windows }, rope),
    score_scale: (usual.scalar ? numberIn(values, ["query_pre_attn_scalar"], usual.scalar, 1e-6) : head_width) ** -0.5,
    score_cap: capOf(values, "attn_logit_softcapping", usual.score_cap),
    ...decoder(sizes, "lm_head", capOf(values, "final_logit_softcapping", usual.logit_cap)), ...block,
  };
}

/** An encoder and a decoder with different sizes. @param {Values} values */
function twoStacks(values, { rows, layers, num_heads, d_ff }) {
  const others = sizeIn(values, ["decoder_attention_heads"], 1000, num_heads);
  require(
    others === num_heads, "config-unsupported",
    N_("The encoder has {num_heads} heads and the decoder {others}. Open this model in the app."),
    { num_heads, others },
  );
  const target = sizeIn(values, ["decoder_vocab_size"], undefined, rows);
  return {
    num_encoder_layers: layers, source_vocab_size: rows, target_vocab_size: target,
    num_decoder_layers: sizeIn(values, ["decoder_layers", "num_decoder_layers"], 1000, layers),
    decoder_d_ff: sizeIn(values, ["decoder_ffn_dim"], undefined, d_ff),
    tie_embeddings: flagIn(values, "share_encoder_decoder_embeddings", true) ? "all" : "target",
  };
}

/** BART and Marian. @param {Values} values @param {ReturnType<typeof sizesOf>} sizes */
function bart(values, sizes, given) {
  const stacks = twoStacks(values, sizes), outputs = stacks.target_vocab_size, inputs = sizes.d_model;
  const bias = { bias: ["final_logits_bias", ""], shape: [1, outputs] };
  return {
    ...stacks, norm: "post", final_norm: false, norm_eps: 1e-5, max_length: sizes.positions,
    activation: activationOf(values, ["activation_function"], "gelu"),
    embedding_scale: flagIn(values, "scale_embedding") ? Math.sqrt(inputs) : 1,
    readout: [{ matrix: "lm_head", outputs, inputs, tied: "absent", ...bias }], ...given,
  };
}

/** T5, also with a gate (Flan-T5). @param {Values} values @param {ReturnType<typeof sizesOf>} sizes */
function t5(values, sizes) {
  const [gate, name] = String(values.feed_forward_proj ?? "relu").split("-"), gated = name !== undefined;
  requireKnown("feed_forward_proj", gated ? gate : "gated", ["gated"]);
  const activation = activationOf({ act: gated ? (name === "gelu" ? "gelu_new" : name) : gate }, ["act"], "relu");
  const { d_model: inputs, rows: outputs } = sizes;
  const scaled = values.model_type === "t5" && (values.scale_decoder_outputs ?? values.tie_word_embeddings !== false);
  return {
    ...twoStacks(values, sizes), rms_norm: true, positional: "relative", head_width: sizeIn(values, ["d_kv"], 1 << 16),
    attention_bias: [], feed_forward_bias: false, score_scale: 1, gated, activation, max_length: sizes.positions,
    buckets: sizeIn(values, ["relative_attention_num_buckets"], 1 << 16, 32),
    farthest: sizeIn(values, ["relative_attention_max_distance"], 1 << 20, 128),
    norm_eps: numberIn(values, ["layer_norm_epsilon"], 1e-6, 0, 1),
    readout: [
      ...(scaled ? [{ times: inputs ** -0.5 }] : []),
      { matrix: "lm_head", outputs, inputs, tied: "absent", bias: [""] },
    ],
  };
}

const bert = { root: "bert.", names: NAMES.BERT, task: "reading", eps: 1e-12, block: (values, sizes, given) => readers(
  given, values, sizes, {
    filling: [
      "cls.predictions.transform.dense", undefined, "cls.predictions.transform.LayerNorm", "cls.predictions.decoder",
      "cls.predictions.bias", "cls.predictions.decoder.bias",
    ],
    classifying: ["bert.pooler.dense", "tanh", "classifier"],
  }
) };
const roberta = { ...bert, root: "roberta.", block: (values, sizes, given) => {
  const position_offset = (values.pad_token_id ?? 1) + 1;
  return { ...readers(given, values, sizes, {
    filling: ["lm_head.dense", "gelu", "lm_head.layer_norm", "lm_head.decoder", "lm_head.bias", "lm_head.decoder.bias"],
    classifying: ["classifier.dense", "tanh", "classifier.out_proj"],
  }), position_offset, max_length: sizes.positions - position_offset };
} };
const LATE = { optional: true, slides: (i, values) => i >= (values.max_window_layers ?? 28) };
const kin = (given, names = NAMES.LLAMA) => ({
  root: "model.", names, task: "continuation", eps: 1e-6, block: (values, sizes) => llama(values, sizes, given),
});
/** Gemma multiplies the embeddings, and stores the weights of its norms minus 1. */
const gemma = ({ usual = {}, ...given }, names) => {
  const activation = "gelu_pytorch_tanh", found = kin({}, names);
  return { ...found, block: (values, sizes) => llama(values, sizes, {
    usual: { head_dim: 256, activation: activationOf(values, ["hidden_activation"], activation), ...usual },
    embedding_scale: Math.fround(Math.sqrt(sizes.d_model)), norm_shift: 1, norm: "both", ...given,
  }) };
};

/** @type {Map<string, Family>} */
const FAMILIES = new Map(Object.entries(/** @type {Record<string, any>} */ ({
  gpt2: {
    root: "transformer.", names: NAMES.GPT2, task: "continuation", joined: "columns", block: (values, sizes) => ({
      activation: activationOf(values, ["activation_function"], "gelu_new"), positional: "learned",
      stored_positions: sizes.positions, max_length: sizes.positions,
      ...(!flagIn(values, "scale_attn_weights", true) && { score_scale: 1 }),
      scale_by_layer: flagIn(values, "scale_attn_by_inverse_layer_idx"), ...decoder(sizes, "lm_head"),
    }),
  },
  gpt_neox: {
    root: "gpt_neox.", names: NAMES.NEOX, task: "continuation", joined: "heads", block: (values, sizes) => ({
      activation: activationOf(values, ["hidden_act"], "gelu"), positional: "rotary", halves: true,
      parallel: flagIn(values, "use_parallel_residual", true), max_length: sizes.positions,
      attention_bias: flagIn(values, "attention_bias", true) ? PROJECTIONS : [],
      rotations: rotationsOf(
        values, { ...sizes, width: sizes.d_model / sizes.num_heads, windows: [] }, { fraction: 0.25 }
      ),
      ...decoder(sizes, "embed_out"),
    }),
  },
  llama: kin({}), mistral: kin({ window: { slides: () => true } }),
  qwen2: kin({ attention_bias: ["query", "key", "value"], window: LATE }),
  qwen3: kin({ norm_queries: "each", usual: { head_dim: 128 }, window: LATE }),
  smollm3: kin({ rope: { base: 2_000_000 }, window: { optional: true, slides: (i, values) => isUnaware(values, i) } }),
  olmo2: { ...kin({ norm: "added", norm_queries: "all" }), eps: 1e-5 }, gemma: gemma({ norm: "pre" }),
  gemma2: gemma({
    usual: { scalar: 256, score_cap: 50, logit_cap: 30 }, window: { slides: (i) => i % 2 === 0 },
  }, NAMES.GEMMA),
  gemma3_text: gemma({
    usual: { scalar: 256, logit_cap: 0 }, norm_queries: "each", rope: { base: 1_000_000, local: 10_000 },
    window: { slides: (i, values) => (i + 1) % (values.sliding_window_pattern ?? 6) !== 0 },
  }, NAMES.GEMMA),
  bert, roberta, "xlm-roberta": roberta, camembert: roberta,
  distilbert: { ...bert, root: "distilbert.", names: NAMES.DISTILBERT, block: (values, sizes, given) => readers(
    given, values, { ...sizes, norm_eps: 1e-12 }, {
      filling: ["vocab_transform", undefined, "vocab_layer_norm", "vocab_projector", "vocab_projector.bias"],
      classifying: ["pre_classifier", "relu", "classifier"], types: 0, activations: ["activation"],
    }
  ) },
  electra: { ...bert, root: "electra.", block: (values, sizes, given) => readers(given, values, sizes, {
    filling: [
      "generator_predictions.dense", "gelu", "generator_predictions.LayerNorm", "generator_lm_head",
      "generator_lm_head.bias",
    ],
    classifying: ["classifier.dense", "gelu", "classifier.out_proj"],
  }) },
  bart: { root: "model.", names: NAMES.BART, task: "translation", stacks: true, block: (values, sizes) => bart(
    values, sizes, {
      positional: "learned", embedding_norm: true, position_offset: 2, stored_positions: sizes.positions + 2,
    }
  ) },
  marian: { root: "model.", names: NAMES.BART, task: "translation", stacks: true, block: (values, sizes) => bart(
    values, sizes, { positional: "sinusoidal", halves: true }
  ) },
  t5: { root: "", names: NAMES.T5, task: "translation", stacks: true, block: t5 },
  mt5: { root: "", names: NAMES.T5, task: "translation", stacks: true, block: t5 },
})));

/** The end of the name of a class → its task; the base of a family has that of the family. */
const TASKS = Object.entries({
  ForSequenceClassification: "classification", ForMaskedLM: "filling", ForCausalLM: "continuation",
  LMHeadModel: "continuation", ForConditionalGeneration: "translation", MTModel: "translation",
  EncoderModel: "reading", Model: "", ForPreTraining: "",
});

/** What the class that config.json names does. @param {Values} values @param {Family} family @returns {Task} */
function taskOf(values, family) {
  const named = String(listIn(values, "architectures")?.[0] ?? "Model"), type = values.model_type;
  const found = TASKS.find(([end]) => named.endsWith(end))?.[1];
  const task = named === "BertForPreTraining" ? "filling" : found === "" ? family.task : found;
  const known = { reading: ["reading", "filling", "classification"], continuation: ["continuation"], translation: [
    "translation", ...(family.names.self.positions ? ["reading"] : []),
  ] };
  require(
    task && known[family.task].includes(task), "config-unsupported",
    N_("The browser does not run {named} of the family {type}. Open this model in the app."), { named, type },
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

/** The ids in the settings for writing. @param {Values} values @param {Task} task @returns {Specials} */
function specialsOf(values, task, rows) {
  const id = (name) => {
    const value = values[name] ?? undefined, known = value === undefined || (Number.isInteger(value) && value < rows);
    require(known && !(value < 0), "config-damaged", N_("{name} is no token of this model."), { name });
    return value;
  };
  const ends = [values.eos_token_id ?? []].flat(), start = id("decoder_start_token_id") ?? id("bos_token_id");
  const bad = Array.isArray(values.bad_words_ids) ? values.bad_words_ids : [];
  require(
    task !== "translation" || (start !== undefined && ends.length === 1), "config-damaged",
    N_("The settings name no token with which the text starts or ends. Add generation_config.json."),
  );
  return {
    start: start ?? ends[0] ?? 0, ends, pad: id("pad_token_id"), first: id("forced_bos_token_id"),
    last: task === "translation" ? id("forced_eos_token_id") : undefined,
    banned: bad.filter((word) => word?.length === 1 && !ends.includes(word[0])).map(([token]) => token),
  };
}

/** @param {Values} values */
function familyOf(values) {
  const { model_type: type, quantization_config: quantized } = values, known = [...FAMILIES.keys()].join(", ");
  require(
    !quantized, "config-unsupported",
    N_("The weights are quantized. Open the model from which they were made, in full or half precision."),
  );
  const family = FAMILIES.get(type);
  require(
    family, "config-unsupported",
    N_("The browser does not run models of the family {type}. It runs {known}. Open this model in the app."),
    { type: String(type).slice(0, 60), known },
  );
  return family;
}

/** What a folder of another library is. @param {Record<string, string>} texts See `describe`. @returns {Description} */
export function describeForeign(texts) {
  require(
    !Object.hasOwn(texts, "adapter_config.json"), "config-unsupported",
    N_("This folder has an adapter. Merge it into its model and open the whole model."),
  );
  const values = settingsOf(texts["config.json"]), family = familyOf(values), task = taskOf(values, family);
  const sizes = sizesOf(values, family), labels = task === "classification" ? labelsOf(values) : undefined;
  const { layers, rows, positions: _, ...known } = sizes;
  const block = /** @type {Values} */ ({ ...known, ...family.block(values, sizes, { task, labels }) });
  if (family.stacks && task === "reading") Object.assign(block, { num_decoder_layers: 0, readout: [] });
  const { num_encoder_layers: above = 0, num_decoder_layers: below = 0 } = block;
  const maps = (above + below * (above ? 2 : 1)) * sizes.num_heads;
  const longest = Math.min(LONGEST_TEXT, Math.floor(Math.sqrt(MAX_MAPS / (4 * maps))), block.max_length);
  requireWhole("max_length", longest, LONGEST_TEXT);
  const config = completed({
    source_vocab_size: rows, target_vocab_size: rows, vocab_size: rows, ...block, max_length: longest,
    several_labels: values.problem_type === "multi_label_classification",
  });
  const { source_lang: from, target_lang: to } = settingsOf(texts["tokenizer_config.json"]);
  return {
    family: values.model_type, task, config, figures: {}, segments: config.token_types,
    specials: specialsOf({ ...values, ...settingsOf(texts["generation_config.json"]) }, task, config.target_vocab_size),
    ...(typeof from === "string" && typeof to === "string" && { languages: [from, to] }),
  };
}

/** How the tensors of a family are stored. @param {Description} description @returns {Layout} */
export function layoutOf({ family, config }) {
  const { names, ...layout } = /** @type {Family} */ (FAMILIES.get(family));
  return { ...layout, names: config.gated && names === NAMES.T5 ? NAMES.GATED_T5 : names };
}
