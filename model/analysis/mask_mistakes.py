"""Mistakes with masks that real programs contained, as edits at the hook points around the softmax.

The model itself never changes. Each mistake works for all kinds of attention that a model has.
"""

from collections.abc import Callable, Mapping

import torch
from torch import Tensor

from model.inference.padded_pass import Side
from model.network.protocols import Reads, ReadsBatches
from model.trace import Edit, IfPresent

__all__ = ["BUGS", "Edits", "bugs_of"]

LARGE_NEGATIVE = -1e9  # many programs use it instead of minus infinity, to avoid NaN


Edits = dict[str, Edit]


def replace_mask(attention: str, change: Callable[[Tensor, Tensor], Tensor]) -> Edits:
    """Edits that mask the scores in another way.

    Args:
        attention: A pattern for the names of attention modules, such as `decoder.*.cross_attention`.
        change: From the scores and the correct mask, both (B, H, T, S), to the masked scores. The mask is True where a
            query may not attend.
    """
    latest: list[Tensor] = []

    def keep(scores: Tensor) -> Tensor:
        latest[:] = [scores]
        return scores

    def mask(masked_scores: Tensor) -> Tensor:
        # The mask of an attention module comes right after its scores, so the latest scores belong to it.
        return change(latest[0], masked_scores == float("-inf"))

    return {IfPresent(f"{attention}.scores"): keep, IfPresent(f"{attention}.masked_scores"): mask}


def structure(masked: Tensor) -> Tensor:
    """The part of a mask that comes from positions, (1, H, T, S): a causal mask, or a window.

    The longest sentence of a batch has no padding. So a cell that is masked in all sentences is not masked for padding.
    """
    return masked.all(dim=0, keepdim=True)


def padded_keys(masked: Tensor) -> Tensor:
    """True where the key is padding, (B, H, 1, S): no query may attend to it."""
    return masked.all(dim=-2, keepdim=True)


def tiny_fill() -> Edits:
    """Masked scores become 1e-12 instead of minus infinity."""
    return replace_mask("*", lambda scores, masked: scores.masked_fill(masked, 1e-12))


def inverted_causal() -> Edits:
    """The decoder attends to later tokens instead of earlier ones."""

    def change(scores: Tensor, masked: Tensor) -> Tensor:
        past = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).tril(-1)
        return scores.masked_fill(past | padded_keys(masked), LARGE_NEGATIVE)

    return replace_mask("decoder.*.self_attention", change)


def after_softmax() -> Edits:
    """The mask is applied to the weights, after the softmax."""
    latest: list[Tensor] = []

    def change(scores: Tensor, masked: Tensor) -> Tensor:
        latest[:] = [masked]
        return scores

    return replace_mask("*", change) | {"*.weights": lambda weights: weights.masked_fill(latest[0], 0.0)}


def no_padding() -> Edits:
    """Only the causal mask or the window is applied; padding is not masked."""
    return replace_mask("*", lambda scores, masked: scores.masked_fill(structure(masked), float("-inf")))


def on_queries() -> Edits:
    """The padding mask covers rows instead of columns."""
    padded_queries: list[Tensor] = []  # of the target, (B, H, T, 1); the mask of cross-attention does not contain them

    def own(scores: Tensor, masked: Tensor) -> Tensor:
        padded_queries[:] = [padded_keys(masked).transpose(-2, -1)]
        return scores.masked_fill(padded_queries[0] | structure(masked), LARGE_NEGATIVE)

    def cross(scores: Tensor, masked: Tensor) -> Tensor:
        return scores.masked_fill(padded_queries[0], LARGE_NEGATIVE)

    return (
        replace_mask("*.self_attention", own)
        | replace_mask("decoder.*.cross_attention", cross)
        | replace_mask("pooling.attention", lambda scores, masked: scores)  # its one query is no padding
    )


# Name → a function that makes the edits for one run.
BUGS: Mapping[str, Callable[[], Edits]] = {
    "fill": tiny_fill,
    "inverted": inverted_causal,
    "after": after_softmax,
    "padding": no_padding,
    "queries": on_queries,
}


def bugs_of(model: Reads, side: Side | None = None) -> tuple[str, ...]:
    """The mistakes of `BUGS` that a program with this model can contain and that change something.

    Without a decoder there is no causal mask. Where a language model has its padding on the right, the causal mask
    excludes it already.

    Args:
        model: A model with masks.
        side: Where a language model gets its padding; by default where its tokenizer pads.
    """
    without = set() if "decoder" in model.config.kinds else {"inverted"}
    if isinstance(model, ReadsBatches) and (side or model.padding.side) == "right":
        without |= {"padding", "queries"}
    return tuple(name for name in BUGS if name not in without)
