"""How large a model of Hugging Face's `transformers` is, as far as the rest of the program asks."""

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from transformers import PreTrainedConfig, PreTrainedModel

from model.config.foreign import ForeignSizes
from model.config.section import ConfigError

__all__ = ["classes_of", "few_tokens", "labels_of", "learned_positions", "sizes_of"]

TABLES = ("position_embeddings", "embed_positions", "wpe")  # ends of the names of a table of positions
MOST_TOKENS, MOST_BYTES = 1024, 256 << 20  # of a text; of all its maps
UNLIMITED = 512  # tokens, of a model whose positions never end


def readable(layers: int, heads: int) -> int:
    """Tokens of the longest text whose maps can be kept."""
    return min(MOST_TOKENS, math.isqrt(MOST_BYTES // (4 * layers * heads)))


def learned_positions(model: PreTrainedModel) -> Tensor | None:
    """The vectors that a model learned for its positions, (N, D), of its first stack; None where there is no table."""
    for name, module in model.named_modules():
        fixed = "Sinusoidal" in type(module).__name__  # of Marian, whose waves are kept as a table
        if name.endswith(TABLES) and isinstance(module, nn.Embedding) and not fixed:
            # RoBERTa and its kin count positions from the row after that of padding, BART from its third.
            padding = -1 if module.padding_idx is None else module.padding_idx
            start = int(getattr(module, "offset", padding + 1))
            return module.weight.detach()[start:]
    return None


def few_tokens(model: PreTrainedModel) -> Tensor:
    """Two tokens from the middle of the vocabulary, (1, 2): the embedding of a special one may be zero."""
    table = model.get_input_embeddings()
    assert isinstance(table, nn.Embedding)
    rows = table.num_embeddings
    return torch.tensor([[rows // 3, rows // 2]], device=model.device)


def labels_of(config: PreTrainedConfig) -> tuple[str, ...]:
    """What a classifier calls its classes."""
    return tuple(str(label) for _, label in sorted((config.id2label or {}).items()))


def classes_of(config: PreTrainedConfig) -> dict[str, Any]:
    """The fields of `ForeignSizes` that describe what a classifier decides, and from which vectors."""
    return {
        "labels": labels_of(config),
        "several_labels": config.problem_type == "multi_label_classification",
        # Where families can be asked for a mean (ModernBERT, EuroBERT), the others read the first token.
        "pooling": "mean" if getattr(config, "classifier_pooling", "") in ("mean", "late") else "first",
    }


def positions_of(model: PreTrainedModel) -> int:
    """How many tokens the model can tell apart by their place."""
    table = learned_positions(model)
    return int(getattr(model.config, "max_position_embeddings", None) or UNLIMITED) if table is None else len(table)


def why_missing(family: str, missing: Sequence[str], seen: Sequence[str]) -> str:
    """Why kinds of attention that a model of this task needs were not found."""
    if list(missing) == ["encoder"] and set(seen) == {"decoder"}:
        return (
            f"models of the family {family} look at earlier tokens alone. Classifiers and readers can be shown where "
            "every token looks at all others."
        )
    kinds = ", ".join(missing)
    return (
        f"models of the family {family} compute attention ({kinds}) in code of their own, not in the function that "
        "most models of the library share. So it cannot be shown."
    )


def sizes_of(model: PreTrainedModel, kinds: Sequence[str], *, needed: Sequence[str]) -> ForeignSizes:
    """The sizes of a model whose attention has been found.

    Args:
        model: Of the library.
        kinds: That of each attention that was found.
        needed: The kinds that a model of this task has.

    Raises:
        ConfigError: one of them is not seen, or stacks have different numbers of heads.
    """
    config = model.config
    if missing := set(needed) - set(kinds):
        raise ConfigError(why_missing(config.model_type, sorted(missing), kinds))
    heads = {getattr(config, f"{side}_attention_heads", config.num_attention_heads) for side in ("encoder", "decoder")}
    if len(heads) > 1:
        raise ConfigError(
            f"Encoder and decoder have {' and '.join(map(str, sorted(heads)))} heads; we show one number."
        )
    source, target = model.get_input_embeddings(), model.get_output_embeddings()
    assert isinstance(source, nn.Embedding)
    return ForeignSizes(
        d_model=int(config.hidden_size),
        num_heads=int(heads.pop()),
        layers=Counter(kinds),
        max_length=min(positions_of(model), readable(len(kinds), int(config.num_attention_heads))),
        source_vocab_size=source.num_embeddings,
        positional="its own" if learned_positions(model) is None else "learned",
        **classes_of(config),
        target_vocab_size=target.out_features if isinstance(target, nn.Linear) else source.num_embeddings,
    )
