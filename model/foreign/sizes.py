"""The sizes of a model of Hugging Face's `transformers` that the rest of the program needs."""

import math
from collections import Counter
from collections.abc import Sequence
from typing import Literal, TypedDict

import torch
from torch import Tensor, nn
from transformers import PreTrainedConfig, PreTrainedModel

from model.config.foreign import ForeignSizes
from model.config.section import ConfigError

__all__ = ["TABLES", "classes_of", "few_tokens", "labels_of", "learned_positions", "sizes_of"]

TABLES = ("position_embeddings", "embed_positions", "wpe")  # ends of the names of position embeddings
MAX_TOKENS, MAX_BYTES = 1024, 400 << 20  # of a text; of all its maps: 522 tokens with 24 × 16 heads
UNLIMITED = 512  # tokens in a model that has no largest position


def longest_text(layers: int, heads: int) -> int:
    """Tokens of the longest text whose maps fit into `MAX_BYTES`."""
    return min(MAX_TOKENS, math.isqrt(MAX_BYTES // (4 * layers * heads)))


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


def few_tokens(model: PreTrainedModel) -> Tensor:
    """Two token ids (1, 2) from the middle of the vocabulary. The embedding of a special token could be zero."""
    table = model.get_input_embeddings()
    assert isinstance(table, nn.Embedding)
    rows = table.num_embeddings
    return torch.tensor([[rows // 3, rows // 2]], device=model.device)


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


def positions_of(model: PreTrainedModel) -> int:
    """The number of positions that the model can distinguish."""
    table = learned_positions(model)
    return int(getattr(model.config, "max_position_embeddings", None) or UNLIMITED) if table is None else len(table)


def why_missing(family: str, missing: Sequence[str], seen: Sequence[str]) -> str:
    """The message for a model in which a needed kind of attention was not found."""
    if list(missing) == ["encoder"] and set(seen) == {"decoder"}:
        return (
            f"in models of the family {family} a token attends only to earlier tokens. Headlight shows classifiers and "
            "readers in which every token attends to all others."
        )
    kinds = ", ".join(missing)
    return (
        f"models of the family {family} compute attention ({kinds}) with their own code and not with the function that "
        "most models of the library share. So it cannot be shown."
    )


def sizes_of(model: PreTrainedModel, kinds: Sequence[str], *, needed: Sequence[str]) -> ForeignSizes:
    """The sizes of a model, after its attention modules were found.

    Args:
        model: A model of the library.
        kinds: The kind of each attention module.
        needed: The kinds that a model of this task must have.

    Raises:
        ConfigError: a needed kind was not found, or encoder and decoder have different numbers of heads.
    """
    config = model.config
    if missing := set(needed) - set(kinds):
        raise ConfigError(why_missing(config.model_type, sorted(missing), kinds))
    heads = {getattr(config, f"{side}_attention_heads", config.num_attention_heads) for side in ("encoder", "decoder")}
    if len(heads) > 1:
        raise ConfigError(
            f"encoder and decoder have different numbers of heads ({' and '.join(map(str, sorted(heads)))}). Headlight "
            "cannot show this."
        )
    source, target = model.get_input_embeddings(), model.get_output_embeddings()
    assert isinstance(source, nn.Embedding)
    return ForeignSizes(
        d_model=int(config.hidden_size),
        num_heads=int(heads.pop()),
        layers=Counter(kinds),
        max_length=min(positions_of(model), longest_text(len(kinds), int(config.num_attention_heads))),
        source_vocab_size=source.num_embeddings,
        positional="its own" if learned_positions(model) is None else "learned",
        **classes_of(config),
        target_vocab_size=target.out_features if isinstance(target, nn.Linear) else source.num_embeddings,
    )
