"""Folders of Hugging Face's `transformers` for tests: small random models with their tokenizers."""

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import tokenizers
import torch
from tokenizers import decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import (
    BartConfig,
    BartForConditionalGeneration,
    BertConfig,
    BertForMaskedLM,
    BertForSequenceClassification,
    DistilBertConfig,
    DistilBertForMaskedLM,
    DistilBertForSequenceClassification,
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
    M2M100Config,
    M2M100ForConditionalGeneration,
    PreTrainedModel,
    PreTrainedTokenizerFast,
    Qwen2Config,
    Qwen2ForCausalLM,
    RobertaConfig,
    RobertaForMaskedLM,
    T5Config,
    T5ForConditionalGeneration,
)

from tools.small_models import (
    BEGIN,
    END,
    LABELS,
    MASK,
    NAMES,
    PAD,
    SENTENCES,
    SPECIAL,
    VOCABULARY,
    byte_level,
    framed,
    sharpen,
    train_tokenizer,
)

__all__ = [
    "CLASSIFIERS",
    "FAMILIES",
    "LABELS",
    "LANGUAGE_MODELS",
    "MASK",
    "READERS",
    "TRANSLATORS",
    "make_folder",
    "make_many_languages",
    "sharpen",
]

ALONE = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}
IDS = {"pad_token_id": PAD, "bos_token_id": BEGIN, "eos_token_id": END}


def word_pieces(template: str) -> tokenizers.Tokenizer:
    """A tokenizer like that of BERT. Its vocabulary is fixed: training takes pieces of equal counts in any order."""
    text = " ".join(SENTENCES).lower()
    letters = sorted(set(text) - {" "})
    words = sorted(set(re.findall(r"[a-zäöüß]+", text)))
    pieces = [piece for word in words for piece in (word[:4], f"##{word[4:]}") if piece != "##"]
    known = dict.fromkeys([*SPECIAL, *letters, *(f"##{letter}" for letter in letters), *pieces])
    model = models.WordPiece({piece: i for i, piece in enumerate(known)}, unk_token="<unk>")
    tokenizer = tokenizers.Tokenizer(model)
    tokenizer.add_special_tokens(SPECIAL)
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    return framed(tokenizer, template)


def marked_spaces(template: str) -> tokenizers.Tokenizer:
    """A tokenizer like those of T5 and Llama, which come from SentencePiece."""
    tokenizer = tokenizers.Tokenizer(models.Unigram())
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    trainer = trainers.UnigramTrainer(
        vocab_size=VOCABULARY, special_tokens=SPECIAL, unk_token="<unk>", show_progress=False
    )
    return train_tokenizer(tokenizer, trainer, template)


def two_stacks(config: type[Any], size: int, **more: Any) -> Any:
    sizes = {f"{side}_{what}": n for side in ("encoder", "decoder") for what, n in STACK.items()}
    return config(vocab_size=size, d_model=32, max_position_embeddings=64, **IDS, **sizes, **more)


STACK = {"layers": 2, "attention_heads": 4, "ffn_dim": 48}
Maker = tuple[Callable[[int], PreTrainedModel], Callable[[str], tokenizers.Tokenizer], str]
TRANSLATORS: Mapping[str, Maker] = {
    "bart": (
        lambda size: BartForConditionalGeneration(two_stacks(BartConfig, size, decoder_start_token_id=END)),
        byte_level,
        "<s> $A </s>",
    ),
    "t5": (
        lambda size: T5ForConditionalGeneration(
            T5Config(
                vocab_size=size,
                d_model=32,
                d_kv=8,
                d_ff=48,
                num_layers=2,
                num_heads=4,
                decoder_start_token_id=PAD,
                pad_token_id=PAD,
                eos_token_id=END,
            )
        ),
        marked_spaces,
        "$A </s>",
    ),
}
LANGUAGE_MODELS: Mapping[str, Maker] = {
    "gpt2": (
        lambda size: GPT2LMHeadModel(
            GPT2Config(vocab_size=size, n_embd=32, n_layer=2, n_head=4, n_positions=96, **IDS)
        ),
        byte_level,
        "$A",
    ),
    "llama": (
        lambda size: LlamaForCausalLM(
            LlamaConfig(
                vocab_size=size, **ALONE, intermediate_size=48, num_key_value_heads=2, max_position_embeddings=96, **IDS
            )
        ),
        marked_spaces,
        "<s> $A",
    ),
    "qwen2": (
        lambda size: Qwen2ForCausalLM(
            Qwen2Config(
                vocab_size=size, **ALONE, intermediate_size=48, num_key_value_heads=2, max_position_embeddings=96, **IDS
            )
        ),
        byte_level,
        "$A",
    ),
}
READERS: Mapping[str, Maker] = {
    "bert": (
        lambda size: BertForMaskedLM(
            BertConfig(vocab_size=size, **ALONE, intermediate_size=48, max_position_embeddings=64, pad_token_id=PAD)
        ),
        word_pieces,
        "<s> $A </s>",
    ),
    "roberta": (
        lambda size: RobertaForMaskedLM(
            RobertaConfig(vocab_size=size, **ALONE, intermediate_size=48, max_position_embeddings=66, **IDS)
        ),
        byte_level,
        "<s> $A </s>",
    ),
    "distilbert": (
        lambda size: DistilBertForMaskedLM(
            DistilBertConfig(vocab_size=size, dim=32, n_layers=2, n_heads=4, hidden_dim=48, max_position_embeddings=64)
        ),
        word_pieces,
        "<s> $A </s>",
    ),
}
CLASSIFIERS: Mapping[str, Maker] = {
    "bert-classifier": (
        lambda size: BertForSequenceClassification(
            BertConfig(vocab_size=size, **ALONE, intermediate_size=48, pad_token_id=PAD, id2label=LABELS)
        ),
        word_pieces,
        "<s> $A </s>",
    ),
    "distilbert-classifier": (
        lambda size: DistilBertForSequenceClassification(
            DistilBertConfig(vocab_size=size, dim=32, n_layers=2, n_heads=4, hidden_dim=48, id2label=LABELS)
        ),
        word_pieces,
        "<s> $A </s>",
    ),
}
FAMILIES = {**TRANSLATORS, **LANGUAGE_MODELS, **READERS}
ALL = {**FAMILIES, **CLASSIFIERS}


def make_folder(folder: Path, family: str, seed: int = 0) -> Path:
    """Write a folder as the library does: configuration, weights and tokenizer. The attention is sharp."""
    make_model, make_tokenizer, template = ALL[family]
    tokenizer = make_tokenizer(template)
    torch.manual_seed(seed)
    sharpen(make_model(tokenizer.get_vocab_size())).save_pretrained(folder)
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, **NAMES).save_pretrained(folder)
    return folder


def make_many_languages(folder: Path, codes: Sequence[str]) -> Path:
    """A folder like those of NLLB: a language token comes before a text, and the settings name no target language."""
    tokenizer = marked_spaces("$A </s>")
    tokenizer.add_special_tokens(list(codes))
    first = tokenizer.token_to_id(codes[0])
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{codes[0]} $A </s>", special_tokens=[(codes[0], first), ("</s>", END)]
    )
    torch.manual_seed(5)
    config = two_stacks(M2M100Config, tokenizer.get_vocab_size(), decoder_start_token_id=END)
    sharpen(M2M100ForConditionalGeneration(config)).save_pretrained(folder)
    wrapped = PreTrainedTokenizerFast(tokenizer_object=tokenizer, extra_special_tokens=list(codes), **NAMES)
    wrapped.save_pretrained(folder)
    return folder
