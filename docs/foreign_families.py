"""A small random model of each family of Hugging Face's `transformers`, for `families.py` and for the tests.

The tokenizers are learned from a few sentences. Large random weights make the attention sharp.
"""

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import tokenizers
import torch
import transformers
from tokenizers import decoders, models, pre_tokenizers, processors, trainers
from transformers import CONFIG_MAPPING, PreTrainedModel, PreTrainedTokenizerFast
from transformers.models.auto import modeling_auto as auto

__all__ = [
    "BEGIN",
    "END",
    "FAMILIES",
    "LABELS",
    "MASK",
    "NAMES",
    "PAD",
    "SPECIAL",
    "VOCABULARY",
    "WINDOW",
    "Family",
    "build",
    "byte_level",
    "family_named",
    "make_family",
    "sharpen",
    "train_tokenizer",
]


SENTENCES = (
    "The cat sat on the mat because it was tired.",
    "A small dog is running through the snow.",
    "My sister likes apples, and my brother likes pears.",
    "Where is the nearest station? It is over there!",
    "Zwei Kinder spielen im Garten; der Hund schläft.",
    "我妹妹上周买了一辆新车。",
) * 4
NAMES = {
    "pad_token": "<pad>",
    "bos_token": "<s>",
    "eos_token": "</s>",
    "unk_token": "<unk>",
    "mask_token": "<mask>",
}
SPECIAL = ["<pad>", "<s>", "</s>", "<unk>", "<mask>"]
PAD, BEGIN, END, UNKNOWN, MASK = range(5)
VOCABULARY = 320  # tokens at most
LABELS = {0: "terrible", 1: "so-so", 2: "<b>great</b>"}
UNSCALED = ("t5", "mt5", "umt5", "switch_transformers")  # families that do not divide their scores by √K
# Configurations have different names for the same size. Each family takes the names that it knows.
SIZES: Mapping[str, Any] = {
    **dict.fromkeys(("hidden_size", "d_model", "n_embd", "embedding_size", "word_embed_proj_dim", "dim"), 32),
    **dict.fromkeys(("num_hidden_layers", "num_layers", "num_decoder_layers", "n_layer", "n_layers"), 2),
    **dict.fromkeys(("encoder_layers", "decoder_layers", "num_encoder_layers"), 2),
    **dict.fromkeys(("num_attention_heads", "num_heads", "n_head", "n_heads"), 4),
    **dict.fromkeys(("encoder_attention_heads", "decoder_attention_heads"), 4),
    **dict.fromkeys(("num_encoder_attention_heads", "num_decoder_attention_heads"), 4),
    **dict.fromkeys(("num_key_value_heads",), 2),
    **dict.fromkeys(("intermediate_size", "encoder_ffn_dim", "decoder_ffn_dim", "d_ff", "ffn_dim", "dff"), 48),
    **dict.fromkeys(("hidden_dim", "intermediate_size_mlp", "n_inner"), 48),
    **dict.fromkeys(("max_position_embeddings", "n_positions", "n_ctx", "max_encoder_position_embeddings"), 128),
    **dict.fromkeys(("head_dim", "d_kv"), 8),
    **dict.fromkeys(("num_experts", "num_local_experts"), 4),
    **dict.fromkeys(("moe_intermediate_size", "shared_expert_intermediate_size", "expert_ffn_size"), 16),
    "num_experts_per_tok": 2,
}
MARKS = {"pad_token_id": PAD, "bos_token_id": BEGIN, "eos_token_id": END}
CLASSES = {
    "translation": auto.MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES,
    "continuation": auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES,
    "reading": auto.MODEL_FOR_MASKED_LM_MAPPING_NAMES,
    "classification": auto.MODEL_FOR_SEQUENCE_CLASSIFICATION_MAPPING_NAMES,
}


@dataclass(frozen=True, kw_only=True)
class Family:
    """A family, or one of its variants."""

    title: str
    task: str
    model_type: str  # as in `config.json`
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """A name for a folder."""
        return "-".join(self.title.lower().replace(",", "").replace("(", "").replace(")", "").split())


def byte_level(template: str) -> tokenizers.Tokenizer:
    """A tokenizer like that of GPT-2 and RoBERTa: 256 bytes and some merges."""
    tokenizer = tokenizers.Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY, special_tokens=SPECIAL, initial_alphabet=alphabet, show_progress=False
    )
    return train_tokenizer(tokenizer, trainer, template)


def train_tokenizer(tokenizer: tokenizers.Tokenizer, trainer: Any, template: str) -> tokenizers.Tokenizer:
    tokenizer.train_from_iterator(SENTENCES, trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single=template, special_tokens=[("<s>", BEGIN), ("</s>", END)]
    )
    return tokenizer


def sharpen(model: PreTrainedModel) -> PreTrainedModel:
    """Make the attention of a random model sharp. Nearly uniform maps would prove little."""
    factor = 1.5 if model.config.model_type in UNSCALED else 6
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.dim() > 1 and "norm" not in name:
                parameter.mul_(factor)
    return model.eval()


def build(family: Family, vocabulary: int, *, seed: int = 0) -> PreTrainedModel:
    """Make a small random model with sharp attention."""
    kind: Any = CONFIG_MAPPING[family.model_type]
    default = kind()
    known = {*inspect.signature(kind.__init__).parameters, *default.to_dict()}
    marks: dict[str, Any] = {**MARKS, **({"decoder_start_token_id": END} if family.task == "translation" else {})}
    labels = {"id2label": LABELS} if family.task == "classification" else {}
    sizes = {name: size for name, size in SIZES.items() if name in known}
    config = kind(**{**sizes, **marks, "vocab_size": vocabulary, **labels, **family.settings})
    named = CLASSES[family.task][family.model_type]
    torch.manual_seed(seed)
    model: PreTrainedModel = getattr(transformers, named[0] if isinstance(named, tuple) else named)(config)
    return sharpen(model)


def make_family(folder: Path, family: Family, *, seed: int = 0) -> Path:
    """Write a folder as the library does: configuration, weights and tokenizer."""
    frames = {"continuation": "<s> $A"}
    tokenizer = byte_level(frames.get(family.task, "<s> $A </s>"))
    build(family, tokenizer.get_vocab_size(), seed=seed).save_pretrained(folder)
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, **NAMES).save_pretrained(folder)
    return folder


def of(task: str, types: Mapping[str, str], **settings: Any) -> list[Family]:
    return [Family(title=title, task=task, model_type=kind, settings=settings) for title, kind in types.items()]


WINDOW = {"sliding_window": 4, "layer_types": ["sliding_attention", "full_attention"]}
EXPERTS = {"n_routed_experts": 4, "n_group": 1, "topk_group": 1, "first_k_dense_replace": 1}
LATENT = {**EXPERTS, "num_key_value_heads": 4, "kv_lora_rank": 16, "q_lora_rank": 16} | {
    "head_dim": 4,
    "qk_rope_head_dim": 4,
    "qk_nope_head_dim": 8,
    "v_head_dim": 6,
}
WIDE = {"head_dim": 16}  # heads × head width is twice the hidden size

FAMILIES: tuple[Family, ...] = (
    *of(
        "translation",
        {
            "Marian": "marian",
            "BART": "bart",
            "mBART": "mbart",
            "M2M100 and NLLB": "m2m_100",
            "Pegasus": "pegasus",
            "Blenderbot": "blenderbot",
            "Blenderbot Small": "blenderbot-small",
            "PLBART": "plbart",
            "MVP": "mvp",
            "Pegasus-X": "pegasus_x",
            "BigBird-Pegasus": "bigbird_pegasus",
            "LED": "led",
            "NLLB-MoE": "nllb-moe",
            "Switch Transformers": "switch_transformers",
            "LongT5": "longt5",
            "ProphetNet": "prophetnet",
        },
    ),
    *of("translation", {"T5": "t5", "mT5": "mt5", "UMT5": "umt5"}),
    *of("translation", {"T5, wide heads": "t5", "mT5, wide heads": "mt5"}, d_kv=16),
    *of("translation", {"T5, gated (Flan-T5)": "t5"}, feed_forward_proj="gated-gelu", tie_word_embeddings=False),
    *of("translation", {"FSMT": "fsmt"}, src_vocab_size=320, tgt_vocab_size=320, langs=["en", "de"]),
    *of("translation", {"BART, other numbers of heads": "bart"}, decoder_attention_heads=2),
    *of(
        "continuation",
        {
            "GPT-2": "gpt2",
            "GPT-NeoX": "gpt_neox",
            "GPT-NeoX Japanese": "gpt_neox_japanese",
            "GPT-BigCode": "gpt_bigcode",
            "OPT": "opt",
            "BioGPT": "biogpt",
            "XGLM": "xglm",
            "CTRL": "ctrl",
            "OpenAI GPT": "openai-gpt",
            "Llama": "llama",
            "Mistral": "mistral",
            "Mixtral": "mixtral",
            "Qwen 2": "qwen2",
            "Qwen 2 MoE": "qwen2_moe",
            "Qwen 3": "qwen3",
            "Qwen 3 MoE": "qwen3_moe",
            "Qwen3-Next": "qwen3_next",
            "Gemma": "gemma",
            "Gemma 2": "gemma2",
            "Phi": "phi",
            "Phi-3": "phi3",
            "Phi-3.5 MoE": "phimoe",
            "StableLM": "stablelm",
            "OLMo": "olmo",
            "OLMo 2": "olmo2",
            "OLMoE": "olmoe",
            "FlexOlmo": "flex_olmo",
            "SmolLM3": "smollm3",
            "Granite": "granite",
            "Granite MoE": "granitemoe",
            "Cohere": "cohere",
            "StarCoder2": "starcoder2",
            "Nemotron": "nemotron",
            "Persimmon": "persimmon",
            "BitNet": "bitnet",
            "Helium": "helium",
            "GLM": "glm",
            "GLM-4": "glm4",
            "Arcee": "arcee",
            "Apertus": "apertus",
            "ERNIE 4.5": "ernie4_5",
            "ERNIE 4.5 MoE": "ernie4_5_moe",
            "Seed-OSS": "seed_oss",
            "HunYuan": "hunyuan_v1_dense",
            "DiffLlama": "diffllama",
            "MiniMax": "minimax",
            "LFM2": "lfm2",
            "gpt-oss": "gpt_oss",
            "BLOOM": "bloom",
            "Falcon": "falcon",
            "MPT": "mpt",
            "XLNet": "xlnet",
            "Doge": "doge",
            "Mamba": "mamba",
        },
    ),
    *of("continuation", {"GPT-J": "gptj", "CodeGen": "codegen"}, rotary_dim=4),
    *of("continuation", {"Llama, one key for all heads": "llama"}, num_key_value_heads=1),
    *of("continuation", {"Llama, biases": "llama"}, attention_bias=True, mlp_bias=True),
    *of("continuation", {"OPT, norms behind": "opt"}, do_layer_norm_before=False),
    *of("continuation", {"OPT, narrow embeddings": "opt"}, word_embed_proj_dim=16),
    *of("continuation", {"GPT-NeoX, layers in a row": "gpt_neox"}, use_parallel_residual=False),
    *of("continuation", {"GPT-BigCode, a key for each head": "gpt_bigcode"}, multi_query=False),
    *of("continuation", {"Phi, normed queries": "phi"}, qk_layernorm=True),
    *of("continuation", {"StableLM, normed queries": "stablelm"}, qk_layernorm=True, use_parallel_residual=True),
    *of("continuation", {"Mistral, window": "mistral"}, sliding_window=4),
    *of("continuation", {"Mixtral, window": "mixtral"}, sliding_window=4),
    *of("continuation", {"StarCoder2, window": "starcoder2"}, sliding_window=4),
    *of("continuation", {"Phi-3, window": "phi3"}, sliding_window=4),
    *of("continuation", {"Qwen 2, window": "qwen2"}, use_sliding_window=True, **WINDOW),
    *of("continuation", {"Qwen 3, wide heads": "qwen3", "Gemma, wide heads": "gemma"}, **WIDE),
    *of("continuation", {"Llama, wide heads": "llama", "Mistral, wide heads": "mistral"}, **WIDE),
    *of("continuation", {"Gemma 3": "gemma3_text", "Cohere 2": "cohere2", "EXAONE 4": "exaone4"}, **WINDOW),
    *of("continuation", {"OLMo 3": "olmo3", "AFMoE": "afmoe", "CWM": "cwm"}, **WINDOW),
    *of("continuation", {"Gemma 3, wide heads": "gemma3_text"}, **WINDOW, **WIDE),
    *of("continuation", {"VaultGemma": "vaultgemma"}, **WINDOW),
    *of("continuation", {"JetMoE": "jetmoe"}, kv_channels=8),
    *of("continuation", {"DeepSeek V2": "deepseek_v2", "DeepSeek V3": "deepseek_v3"}, **LATENT),
    *of("continuation", {"dots.llm1": "dots1"}, **EXPERTS, n_shared_experts=1),
    *of("continuation", {"Llama 4": "llama4_text"}, layer_types=["chunked_attention", "full_attention"]),
    *of("continuation", {"GPT-Neo": "gpt_neo"}, attention_types=[[["global", "local"], 1]]),
    *of(
        "reading",
        {
            "BERT": "bert",
            "DistilBERT": "distilbert",
            "RoBERTa": "roberta",
            "XLM-RoBERTa": "xlm-roberta",
            "XLM-RoBERTa XL": "xlm-roberta-xl",
            "RoBERTa PreLayerNorm": "roberta-prelayernorm",
            "CamemBERT": "camembert",
            "ELECTRA": "electra",
            "ERNIE": "ernie",
            "ESM": "esm",
            "EuroBERT": "eurobert",
            "Nomic": "nomic_bert",
            "Data2Vec": "data2vec-text",
            "LayoutLM": "layoutlm",
            "MegatronBERT": "megatron-bert",
            "X-MOD": "xmod",
            "ALBERT": "albert",
            "DeBERTa": "deberta",
            "DeBERTa V2": "deberta-v2",
            "MPNet": "mpnet",
            "Longformer": "longformer",
            "BigBird": "big_bird",
            "Funnel": "funnel",
            "FNet": "fnet",
            "ConvBERT": "convbert",
            "RemBERT": "rembert",
            "RoFormer": "roformer",
            "SqueezeBERT": "squeezebert",
            "I-BERT": "ibert",
            "Nyströmformer": "nystromformer",
            "MRA": "mra",
            "YOSO": "yoso",
        },
    ),
    *of("reading", {"ModernBERT": "modernbert"}, **WINDOW),
    *of("reading", {"MobileBERT": "mobilebert"}, intra_bottleneck_size=32, true_hidden_size=32),
    *of("reading", {"ELECTRA, narrow embeddings": "electra"}, embedding_size=16),
    *of("reading", {"XLM": "xlm", "FlauBERT": "flaubert"}, emb_dim=32),
    *of(
        "classification",
        {
            "BERT classifier": "bert",
            "DistilBERT classifier": "distilbert",
            "RoBERTa classifier": "roberta",
            "XLM-RoBERTa classifier": "xlm-roberta",
            "CamemBERT classifier": "camembert",
            "ELECTRA classifier": "electra",
            "ERNIE classifier": "ernie",
            "ESM classifier": "esm",
            "EuroBERT classifier": "eurobert",
            "Data2Vec classifier": "data2vec-text",
            "LayoutLM classifier": "layoutlm",
            "MegatronBERT classifier": "megatron-bert",
            "GPT-2 classifier": "gpt2",
            "Llama classifier": "llama",
            "BART classifier": "bart",
            "ALBERT classifier": "albert",
            "DeBERTa V2 classifier": "deberta-v2",
        },
    ),
    *of("classification", {"BERT classifier, several labels": "bert"}, problem_type="multi_label_classification"),
    *of("classification", {"ModernBERT classifier": "modernbert"}, classifier_pooling="cls", **WINDOW),
    *of("classification", {"ModernBERT classifier, mean": "modernbert"}, classifier_pooling="mean", **WINDOW),
    *of("classification", {"EuroBERT classifier, mean": "eurobert"}, classifier_pooling="late"),
    *of("classification", {"MobileBERT classifier": "mobilebert"}, intra_bottleneck_size=32, true_hidden_size=32),
)


def family_named(title: str) -> Family:
    return next(family for family in FAMILIES if family.title == title)
