"""Build small random models of the families of Hugging Face's `transformers`, for `families.py` and for the tests.

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
    "LABELS",
    "MASK",
    "NAMES",
    "PAD",
    "SENTENCES",
    "SPECIAL",
    "VOCABULARY",
    "Family",
    "build",
    "byte_level",
    "framed",
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
    "attention_heads": 4,
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
    return framed(tokenizer, template)


def framed(tokenizer: tokenizers.Tokenizer, template: str) -> tokenizers.Tokenizer:
    """The tokenizer with special tokens around a text."""
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
    named: Any = CLASSES[family.task][family.model_type]
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
