"""The sizes of a model of Hugging Face's `transformers` that the rest of the program needs."""

from collections.abc import Mapping
from typing import Any, Literal, TypedDict

import torch
from torch import Tensor, nn
from transformers import PreTrainedConfig, PreTrainedModel

from model.config.foreign import ForeignSizes, longest_text
from model.config.section import ConfigError

__all__ = [
    "TABLES",
    "claimed_positions",
    "classes_of",
    "few_texts",
    "few_tokens",
    "labels_of",
    "learned_positions",
    "run_on",
    "sizes_of",
    "tolerance_of",
    "vocabulary_of",
]

TABLES = ("position_embeddings", "embed_positions", "wpe")  # ends of the names of position embeddings
TEXT_TOKENS = 5  # of the texts on which a model is checked
UNLIMITED = 512  # tokens in a model that has no largest position


def learned_positions(model: PreTrainedModel) -> Tensor | None:
    """The learned position embeddings (N, D) of a model's first stack, or None if it has none."""
    for name, module in model.named_modules():
        fixed = "Sinusoidal" in type(module).__name__  # Marian stores its sine waves in an embedding
        if name.endswith(TABLES) and isinstance(module, nn.Embedding) and not fixed:
            # RoBERTa and similar models count positions from the row after padding, BART from the third row.
            padding = -1 if module.padding_idx is None else module.padding_idx
            start = int(getattr(module, "offset", padding + 1))
            return module.weight.detach()[start:]
    return None


def vocabulary_of(model: PreTrainedModel) -> int:
    """How many tokens the embeddings of a model have."""
    weight = model.get_input_embeddings().weight  # not always of an nn.Embedding (I-BERT)
    assert isinstance(weight, Tensor)
    return len(weight)


def few_tokens(model: PreTrainedModel) -> Tensor:
    """One of `few_texts`, (1, T)."""
    return few_texts(model)[:1]


def few_texts(model: PreTrainedModel) -> Tensor:
    """Two texts with the same tokens in opposite orders, (2, T)."""
    rows = vocabulary_of(model)
    step = max(1, rows // (TEXT_TOKENS + 2))  # not the first rows: the embedding of a special token could be zero
    row = (torch.arange(1, TEXT_TOKENS + 1) * step) % rows
    return torch.stack([row, row.flip(0)]).to(model.device)


def run_on(model: PreTrainedModel, ids: Tensor, target: Tensor | None = None, **settings: Any) -> Any:
    """The output of a model for token ids (B, T). A decoder beside an encoder reads the same ids, or `target`."""
    if model.config.is_encoder_decoder:
        settings["decoder_input_ids"] = ids if target is None else target
    return model(input_ids=ids, **settings)


def tolerance_of(model: PreTrainedModel) -> float:
    """How far two computations may differ, relative to the largest number. Several roundings follow each other."""
    return {torch.float64: 1e-6, torch.float32: 1e-4}.get(model.dtype, 5e-2)  # half precision has three digits


def labels_of(config: PreTrainedConfig) -> tuple[str, ...]:
    """The names of a classifier's classes."""
    return tuple(str(label) for _, label in sorted((config.id2label or {}).items()))


class ClassifierFields(TypedDict, total=False):
    """The fields of `ForeignSizes` that describe a classifier: its classes, and the vectors that decide."""

    labels: tuple[str, ...]
    several_labels: bool
    pooling: Literal["first", "mean"]


def classes_of(config: PreTrainedConfig) -> ClassifierFields:
    """What a configuration says about a classifier."""
    return {
        "labels": labels_of(config),
        "several_labels": config.problem_type == "multi_label_classification",
        # ModernBERT and EuroBERT can be set to use a mean. All others use the first token.
        "pooling": "mean" if getattr(config, "classifier_pooling", "") in ("mean", "late") else "first",
    }


def claimed_positions(config: PreTrainedConfig) -> int:
    """The number of positions in a configuration. XLNet, which has no largest position, says −1."""
    claimed = int(getattr(config, "max_position_embeddings", None) or 0)
    return claimed if claimed > 0 else UNLIMITED


def positions_of(model: PreTrainedModel) -> int:
    """The number of positions that the model can distinguish."""
    table, config = learned_positions(model), model.config
    known = claimed_positions(config) if table is None else len(table)
    if getattr(config, "attention_type", "") == "block_sparse":  # BigBird attends to all tokens of shorter texts only
        return min(known, (5 + 2 * int(config.num_random_blocks)) * int(config.block_size))
    return known


def sizes_of(model: PreTrainedModel, layers: Mapping[str, int], *, heads: int = 0) -> ForeignSizes:
    """The sizes of a model, after its attention modules were found.

    Args:
        model: A model of the library.
        layers: Kind of attention → how many layers have it.
        heads: The number of heads, if it is not the one in the configuration.

    Raises:
        ConfigError: encoder and decoder have different numbers of heads.
    """
    config = model.config
    found = {getattr(config, f"{side}_attention_heads", config.num_attention_heads) for side in ("encoder", "decoder")}
    if len(found) > 1:
        raise ConfigError(
            "encoder and decoder have different numbers of heads ({counts}). Headlight cannot show this.",
            counts=" and ".join(map(str, sorted(found))),
        )
    heads = heads or int(found.pop())
    source, target = vocabulary_of(model), model.get_output_embeddings()
    return ForeignSizes(
        d_model=int(config.hidden_size),
        num_heads=heads,
        layers=dict(layers),
        max_length=min(positions_of(model), longest_text(sum(layers.values()), heads)),
        source_vocab_size=source,
        positional="its own" if learned_positions(model) is None else "learned",
        **classes_of(config),
        target_vocab_size=target.out_features if isinstance(target, nn.Linear) else source,
    )
