// What the engine says about the config.json of other libraries. tests/live compares the models with the library.
import assert from "node:assert/strict";
import test from "node:test";
import { FOREIGN } from "../../live/engine/foreign/open.js";
import { readTokenizer } from "../../live/engine/tokenizers/tokenizer.js";

const LLAMA = {
  hidden_size: 32, num_hidden_layers: 2, num_attention_heads: 4, num_key_value_heads: 2, intermediate_size: 48,
  vocab_size: 100, max_position_embeddings: 64, hidden_act: "silu", rms_norm_eps: 1e-6, head_dim: 8,
  rope_parameters: { rope_type: "llama3", rope_theta: 500, factor: 8, low_freq_factor: 1, high_freq_factor: 4 },
  sliding_window: 4, use_sliding_window: true, attention_bias: false, eos_token_id: [1, 2], bos_token_id: 3,
  layer_types: ["sliding_attention", "full_attention"], no_rope_layers: [1, 0], max_window_layers: 1,
};
const BERT = {
  hidden_size: 32, num_hidden_layers: 2, num_attention_heads: 4, intermediate_size: 48, vocab_size: 100,
  max_position_embeddings: 64, type_vocab_size: 2, hidden_act: "gelu", layer_norm_eps: 1e-12, pad_token_id: 0,
  embedding_size: 16, is_decoder: false, id2label: { 0: "a", 1: "b" }, problem_type: "single_label_classification",
};
const BART = {
  d_model: 32, encoder_layers: 2, decoder_layers: 1, encoder_attention_heads: 4, decoder_attention_heads: 4,
  encoder_ffn_dim: 48, decoder_ffn_dim: 40, vocab_size: 100, max_position_embeddings: 64, scale_embedding: true,
  activation_function: "gelu", decoder_start_token_id: 2, eos_token_id: 2, forced_bos_token_id: 0,
  bad_words_ids: [[7]], pad_token_id: 1,
};
const CONFIGS = {
  llama: LLAMA, mistral: LLAMA, qwen2: LLAMA, qwen3: LLAMA, smollm3: LLAMA, olmo2: LLAMA,
  gemma2: { ...LLAMA, query_pre_attn_scalar: 9, attn_logit_softcapping: 5, final_logit_softcapping: null },
  gemma3_text: { ...LLAMA, rope_local_base_freq: 100, sliding_window_pattern: 2, layer_types: null },
  gpt2: { n_embd: 32, n_layer: 2, n_head: 4, n_positions: 64, vocab_size: 100, scale_attn_weights: true },
  gpt_neox: { ...LLAMA, rotary_pct: 0.5, rope_parameters: { type: "linear", factor: 2 }, use_parallel_residual: true },
  bert: { ...BERT, architectures: ["BertForMaskedLM"] }, roberta: { ...BERT, pad_token_id: 1 },
  distilbert: { dim: 32, n_layers: 2, n_heads: 4, hidden_dim: 48, vocab_size: 100, max_position_embeddings: 64 },
  electra: { ...BERT, architectures: ["ElectraForSequenceClassification"] }, bart: BART, marian: BART,
  t5: {
    d_model: 32, d_kv: 8, d_ff: 48, num_layers: 2, num_heads: 4, vocab_size: 100, feed_forward_proj: "gated-gelu",
    decoder_start_token_id: 0, eos_token_id: 1, relative_attention_num_buckets: 32, layer_norm_epsilon: 1e-6,
  },
};
const WRONG = [
  null, undefined, "x", "__proto__", "constructor", [], [[]], {}, 0, -1, 1.5, 1e12, true, false, [null], ["x", 5],
];

/** @param {Record<string, any>} config */
const described = (config, more = {}) => FOREIGN.describe({ "config.json": JSON.stringify(config), ...more });

/** Every number in a description. */
function numbersIn(value) {
  if (typeof value === "number") return [value];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(numbersIn) : [];
}

/** A refusal with a whole sentence, or a description without a number that is not finite. */
function check(what, config, more = {}) {
  const before = performance.now();
  try {
    assert.ok(numbersIn(described(config, more)).every(Number.isFinite), what);
  } catch (error) {
    assert.match(error.code ?? `${error.stack}`, /^config-(damaged|unsupported)$/, what);
    assert.ok(error.message.endsWith(".") && !/\{\w+\}|undefined$/.test(error.message), `${what}: ${error.message}`);
  }
  assert.ok(performance.now() - before < 500, `${what} takes long`);
}

test("each family is described", () => {
  for (const [model_type, config] of Object.entries(CONFIGS)) {
    const { family, config: { d_model, num_heads, head_width }, task } = described({ model_type, ...config });
    assert.deepEqual([family, d_model, num_heads, head_width], [model_type, 32, 4, 8]);
    assert.ok(task);
  }
  const tasks = (model_type, ...names) => names.map(
    (name) => described({ model_type, ...CONFIGS[model_type], architectures: [name] }).task
  );
  assert.deepEqual(tasks("bert", "BertModel", "BertForPreTraining", "BertForSequenceClassification"), [
    "reading", "filling", "classification",
  ]);
  assert.deepEqual(tasks("t5", "T5EncoderModel", "T5Model"), ["reading", "translation"]);
  assert.deepEqual(tasks("gpt2", "GPT2Model", "GPT2LMHeadModel"), ["continuation", "continuation"]);
});

test("the settings of well-known models are understood", () => {
  const llama = described({ // Llama 3.2 1B
    model_type: "llama", architectures: ["LlamaForCausalLM"], hidden_size: 2048, num_hidden_layers: 16, head_dim: 64,
    num_attention_heads: 32, num_key_value_heads: 8, intermediate_size: 8192, vocab_size: 128256, hidden_act: "silu",
    max_position_embeddings: 131072, rms_norm_eps: 1e-5, rope_theta: 500000, tie_word_embeddings: true,
    rope_scaling: {
      factor: 32, high_freq_factor: 4, low_freq_factor: 1, original_max_position_embeddings: 8192, rope_type: "llama3",
    }, pretraining_tp: 1, bos_token_id: 128000, eos_token_id: 128001, attention_bias: false, mlp_bias: false,
  }, { "generation_config.json": '{"eos_token_id": [128001, 128008], "do_sample": true}' });
  assert.deepEqual([llama.config.max_length, llama.specials.ends], [452, [128001, 128008]]);
  const { config: gemma } = described({ // Gemma 3 1B
    model_type: "gemma3_text", hidden_size: 1152, num_hidden_layers: 26, num_attention_heads: 4, num_key_value_heads: 1,
    head_dim: 256, intermediate_size: 6912, vocab_size: 262144, max_position_embeddings: 32768, rope_theta: 1000000,
    hidden_activation: "gelu_pytorch_tanh", rope_local_base_freq: 10000, rope_scaling: null, sliding_window: 512,
    sliding_window_pattern: 6, query_pre_attn_scalar: 256, attn_logit_softcapping: null, eos_token_id: [1, 106],
    final_logit_softcapping: null,
  });
  assert.deepEqual(gemma.windows.slice(3, 8), [512, 512, 0, 512, 512]);
  assert.ok(gemma.rotations[4][1] > gemma.rotations[5][1] && gemma.score_cap === 0);
  const marian = described({ // opus-mt-en-de
    model_type: "marian", architectures: ["MarianMTModel"], activation_function: "swish", bad_words_ids: [[58100]],
    d_model: 512, decoder_attention_heads: 8, decoder_ffn_dim: 2048, decoder_layers: 6, decoder_start_token_id: 58100,
    encoder_attention_heads: 8, encoder_ffn_dim: 2048, encoder_layers: 6, eos_token_id: 0, forced_eos_token_id: 0,
    id2label: { 0: "LABEL_0" }, max_length: 512, max_position_embeddings: 512, num_hidden_layers: 6, vocab_size: 58101,
    pad_token_id: 58100, scale_embedding: true, static_position_embeddings: true, normalize_before: false,
  }, { "tokenizer_config.json": '{"source_lang": "eng", "target_lang": "deu"}' });
  const { rules, ...specials } = marian.specials;
  assert.deepEqual(specials, { start: 58100, ends: [0], pad: 58100, first: undefined, banned: [58100] });
  const last = new Float32Array(58101);
  rules.change(last, { ids: [58100, 7, 8], source: [7, 0], given: 0, limit: 3 });
  assert.deepEqual([...last.keys()].filter((id) => last[id] > -Infinity), [0]);
  assert.deepEqual([marian.config.max_length, marian.config.activation], [512, "swish"]);
  assert.deepEqual(marian.languages, ["eng", "deu"]);
});

test("every value of another type is refused with a sentence, or means nothing", () => {
  for (const [model_type, config] of Object.entries(CONFIGS)) {
    const whole = { model_type, architectures: null, quantization_config: null, ...config };
    for (const name of Object.keys(whole))
      for (const value of WRONG) check(`${model_type}: ${name} = ${value}`, { ...whole, [name]: value });
    for (const name of Object.keys(config.rope_parameters ?? {}))
      for (const value of WRONG)
        check(`${model_type}: ${name} = ${value}`, {
          ...whole, rope_parameters: { ...config.rope_parameters, [name]: value },
        });
  }
});

test("what the browser cannot run is named, with a remedy", () => {
  const refused = (config, text, more) => assert.throws(
    () => described({ model_type: "llama", ...LLAMA, ...config }, more), (error) => text.test(error.message)
  );
  refused({ model_type: "mamba" }, /family mamba.*gpt2, .*Open this model in the app\.$/);
  for (const model_type of [undefined, null, {}, 5]) refused({ model_type }, /^config\.json is missing or names no/);
  assert.throws(() => FOREIGN.describe({}), /^EngineError: config\.json is missing/);
  assert.throws(() => FOREIGN.describe({ "config.json": "[".repeat(4e7) }), /^EngineError: config\.json is damaged\./);
  refused({ hidden_act: "relu2" }, /^hidden_act in config\.json is relu2\. The browser runs relu, .*app\.$/);
  refused({ rope_parameters: { rope_type: "yarn", factor: 2 } }, /^rope_type in config\.json is yarn\./);
  refused({ quantization_config: { quant_method: "gptq" } }, /quantized.*full or half precision\.$/);
  refused({ architectures: ["LlamaForSequenceClassification"] }, /LlamaForSequenceClassification of the family llama/);
  refused({ layer_types: ["linear_attention", "full_attention"] }, /^layer_types in config\.json is linear/);
  refused({}, /^generation_config\.json is damaged\./, { "generation_config.json": "[" });
  refused({}, /^bos_token_id in generation_config\.json is -1/, { "generation_config.json": '{"bos_token_id": -1}' });
  refused({ num_hidden_layers: 5000 }, /^num_hidden_layers in config\.json is 5000\. It must be .* from 1 to 1000\.$/);
  refused({ hidden_size: 33, head_dim: null }, /^hidden_size \(33\) must be .* num_attention_heads \(4\) in/);
  refused({ num_key_value_heads: 3 }, /^num_attention_heads \(4\) must be divisible by num_key_value_heads \(3\)/);
  refused({ hidden_size: 1 << 20, max_position_embeddings: 4096 }, /^hidden_size times max_position_embeddings in /);
  refused({ hidden_size: undefined }, /^config\.json does not say hidden_size\./);
  const t5 = (change, text) => refused({ model_type: "t5", ...CONFIGS.t5, ...change }, text);
  t5({ feed_forward_proj: "gated-nonsense" }, /^feed_forward_proj in config\.json is nonsense\. The browser/);
  for (const count of [1, 2, 3, 31]) t5({ relative_attention_num_buckets: count }, /^relative_attention_num_buckets/);
  t5({ relative_attention_max_distance: 16 }, /_max_distance in config\.json is 16\. It must be a number from 17 to /);
  for (const name of ["__proto__", "constructor", "toString"]) refused({ model_type: name }, /does not run models/);
});

test("a model asks for nothing that the file does not have", () => {
  const description = described({ model_type: "llama", ...LLAMA, hidden_size: 1 << 16, vocab_size: 1 << 20 });
  /** @type {any} */
  const weights = { entries: new Map(), has: () => false, matrix(name) {
    throw new Error(this.place(name)[0]);
  } };
  assert.throws(() => FOREIGN.modelOf(description, weights), /^Error: embed_tokens\.weight$/);
});

test("a text that a tokenizer makes too long is refused before it is cut into pieces", () => {
  const tokenizer = readTokenizer({ "tokenizer.json": JSON.stringify({
    normalizer: { type: "Replace", pattern: { String: "a" }, content: "bbbb" },
    model: { type: "BPE", vocab: { b: 0 }, merges: [] },
  }) });
  assert.equal(tokenizer.encode("a").length, 4);
  tokenizer.preTokenize = () => assert.fail("it was cut");
  assert.throws(() => tokenizer.encode("a".repeat(10_000)), { code: "text-too-long" });
});
