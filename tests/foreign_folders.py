"""Folders of Hugging Face's `transformers` for tests: small random models, tokenizers learned from a few sentences."""

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

__all__ = [
    "CLASSIFIERS",
    "CONTINUERS",
    "FAMILIES",
    "LABELS",
    "MASK",
    "READERS",
    "TRANSLATORS",
    "make_folder",
    "make_many_languages",
    "sharpened",
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
MOST = 320  # pieces
ALONE = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}
LABELS = {0: "terrible", 1: "so-so", 2: "<b>great</b>"}
IDS = {"pad_token_id": PAD, "bos_token_id": BEGIN, "eos_token_id": END}


def byte_level(template: str) -> tokenizers.Tokenizer:
    """As GPT-2's and RoBERTa's: 256 bytes and some merges."""
    tokenizer = tokenizers.Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=MOST, special_tokens=SPECIAL, initial_alphabet=alphabet, show_progress=False
    )
    return learned(tokenizer, trainer, template)


def word_pieces(template: str) -> tokenizers.Tokenizer:
    """As BERT's."""
    tokenizer = tokenizers.Tokenizer(models.WordPiece(unk_token="<unk>"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    trainer = trainers.WordPieceTrainer(vocab_size=MOST, special_tokens=SPECIAL, show_progress=False)
    return learned(tokenizer, trainer, template)


def marked_spaces(template: str) -> tokenizers.Tokenizer:
    """As those of SentencePiece: T5's and Llama's."""
    tokenizer = tokenizers.Tokenizer(models.Unigram())
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    trainer = trainers.UnigramTrainer(vocab_size=MOST, special_tokens=SPECIAL, unk_token="<unk>", show_progress=False)
    return learned(tokenizer, trainer, template)


def learned(tokenizer: tokenizers.Tokenizer, trainer: Any, template: str) -> tokenizers.Tokenizer:
    tokenizer.train_from_iterator(SENTENCES, trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single=template, special_tokens=[("<s>", BEGIN), ("</s>", END)]
    )
    return tokenizer


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
CONTINUERS: Mapping[str, Maker] = {
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
FAMILIES = {**TRANSLATORS, **CONTINUERS, **READERS}
ALL = {**FAMILIES, **CLASSIFIERS}
OF_T5 = ("t5", "mt5", "umt5", "switch_transformers")


def sharpened(model: PreTrainedModel) -> PreTrainedModel:
    """A fresh model whose attention is made sharp: else it looks everywhere alike, and its maps would prove little."""
    factor = 1.5 if model.config.model_type in OF_T5 else 6  # they do not divide their products
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.dim() > 1 and "norm" not in name:
                parameter.mul_(factor)
    return model.eval()


def make_folder(folder: Path, family: str, seed: int = 0) -> Path:
    """Write a folder as the library does: configuration, weights, tokenizer; its attention is sharp, not flat."""
    make_model, make_tokenizer, template = ALL[family]
    tokenizer = make_tokenizer(template)
    torch.manual_seed(seed)
    sharpened(make_model(tokenizer.get_vocab_size())).save_pretrained(folder)
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, **NAMES).save_pretrained(folder)
    return folder


def make_many_languages(folder: Path, codes: Sequence[str]) -> Path:
    """As a folder of NLLB: a token for each language stands before a text, and the settings name no target."""
    tokenizer = marked_spaces("$A </s>")
    tokenizer.add_special_tokens(list(codes))
    first = tokenizer.token_to_id(codes[0])
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{codes[0]} $A </s>", special_tokens=[(codes[0], first), ("</s>", END)]
    )
    torch.manual_seed(5)
    config = two_stacks(M2M100Config, tokenizer.get_vocab_size(), decoder_start_token_id=END)
    sharpened(M2M100ForConditionalGeneration(config)).save_pretrained(folder)
    wrapped = PreTrainedTokenizerFast(tokenizer_object=tokenizer, extra_special_tokens=list(codes), **NAMES)
    wrapped.save_pretrained(folder)
    return folder
