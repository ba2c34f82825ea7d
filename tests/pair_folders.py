"""Folders of small random models that read pairs of texts, each with the template of its tokenizer."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tokenizers
import torch
from tokenizers import processors
from transformers import (
    BertConfig,
    BertForMaskedLM,
    BertForSequenceClassification,
    DebertaV2Config,
    DebertaV2ForSequenceClassification,
    ElectraConfig,
    ElectraForMaskedLM,
    PreTrainedModel,
    PreTrainedTokenizerFast,
    RobertaConfig,
    RobertaForMaskedLM,
    XLNetConfig,
    XLNetForSequenceClassification,
)

from tests.foreign_folders import marked_spaces, word_pieces
from tools.small_models import BEGIN, END, LABELS, NAMES, PAD, byte_level, sharpen

__all__ = ["PAIRS", "make_pair_folder"]

SIZES: Mapping[str, Any] = {
    **{"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 48},
    **{"max_position_embeddings": 66, "pad_token_id": PAD},
}
WITHOUT_SEGMENTS = ("input_ids", "attention_mask")


@dataclass(frozen=True, kw_only=True)
class PairModel:
    """A model, its tokenizer and what this makes of one text and of two."""

    make: Callable[[int], PreTrainedModel]  # from the size of the vocabulary
    tokenizer: Callable[[str], tokenizers.Tokenizer] = word_pieces
    single: str = "<s> $A </s>"
    pair: str = "<s> $A </s> $B:1 </s>:1"
    inputs: tuple[str, ...] = (*WITHOUT_SEGMENTS, "token_type_ids")  # that the tokenizer returns


def bert(size: int, **settings: Any) -> PreTrainedModel:
    return BertForMaskedLM(BertConfig(vocab_size=size, **SIZES, **settings))


PAIRS: Mapping[str, PairModel] = {
    "bert": PairModel(make=bert),
    "four segments": PairModel(make=lambda size: bert(size, type_vocab_size=4)),
    "no segments from the tokenizer": PairModel(make=bert, inputs=WITHOUT_SEGMENTS),
    "narrow embeddings": PairModel(
        make=lambda size: ElectraForMaskedLM(ElectraConfig(vocab_size=size, embedding_size=16, **SIZES))
    ),
    "two separators": PairModel(
        make=lambda size: RobertaForMaskedLM(RobertaConfig(vocab_size=size, type_vocab_size=1, **SIZES)),
        tokenizer=byte_level,
        pair="<s> $A </s> </s> $B </s>",
        inputs=WITHOUT_SEGMENTS,
    ),
    "classifier": PairModel(
        make=lambda size: BertForSequenceClassification(BertConfig(vocab_size=size, id2label=LABELS, **SIZES))
    ),
    "read-only classifier": PairModel(
        make=lambda size: DebertaV2ForSequenceClassification(
            DebertaV2Config(vocab_size=size, type_vocab_size=2, relative_attention=True, id2label=LABELS, **SIZES)
        ),
        tokenizer=marked_spaces,
    ),
    "special tokens behind": PairModel(
        make=lambda size: XLNetForSequenceClassification(
            XLNetConfig(vocab_size=size, d_model=32, n_layer=2, n_head=4, d_inner=48, pad_token_id=PAD, id2label=LABELS)
        ),
        tokenizer=marked_spaces,
        single="$A </s> <s>:2",
        pair="$A </s> $B:1 </s>:1 <s>:2",
    ),
}


def make_pair_folder(folder: Path, name: str) -> Path:
    """Write the folder of one of `PAIRS`. The attention is sharp."""
    model = PAIRS[name]
    tokenizer = model.tokenizer(model.single)
    tokenizer.post_processor = processors.TemplateProcessing(
        single=model.single, pair=model.pair, special_tokens=[("<s>", BEGIN), ("</s>", END)]
    )
    torch.manual_seed(0)
    sharpen(model.make(tokenizer.get_vocab_size())).save_pretrained(folder)
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_input_names=list(model.inputs), **NAMES).save_pretrained(
        folder
    )
    return folder
