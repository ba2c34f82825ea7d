"""The numbers of each head in one layer of a padded batch, from its weights. `docs/atlas.md` defines them.

All functions take weights (B, H, T, S) that are 0 at padding, and a `Layout`. They sum over the rows of each text: the
sums of several texts can be added, a mean cannot.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from model.atlas.layout import LINEAR, SYNTAX, Layout
from model.atlas.token_classes import CLASSES, CONTENT

__all__ = ["NUMBERS", "PAIRS", "alignment_sums", "counts", "layer_sums", "numbers_of", "profile", "real_weights"]

# Of `layer_sums`. The others come from several layers (alignment), or from the loss (importance).
OF_ROWS = ("entropy", "confidence", "distance", *LINEAR, "content")
NUMBERS = (*OF_ROWS, "alignment", "alignment_without_sinks", "importance")
PAIRS = tuple((row, column) for row in CLASSES for column in CLASSES)


def numbers_of(*, syntax: bool) -> tuple[str, ...]:
    """The names of the numbers in their order, with or without those of `SYNTAX`."""
    after = OF_ROWS.index("content")
    return (*NUMBERS[:after], *SYNTAX, *NUMBERS[after:]) if syntax else NUMBERS


def real_weights(weights: Tensor, layout: Layout) -> Tensor:
    """Weights as single-precision numbers with 0 at padding, (B, H, T, S)."""
    real = layout.rows[:, None, :, None] & layout.columns[:, None, None]
    return weights.detach().float().where(real, 0.0)


def layer_sums(weights: Tensor, layout: Layout) -> Tensor:
    """The sum over rows of each number `OF_ROWS`, and of the weight of each of the `PAIRS`.

    With syntax, its numbers stand before the last of `OF_ROWS`, see `numbers_of`.

    Returns:
        (B, H, N) in double precision. A number without a meaning is 0, and `counts` has no row for it.
    """
    total = weights.sum(dim=-1, keepdim=True)  # 1, or less with an attention sink
    shares = weights / total.where(total > 0, 1.0)
    strongest = weights.max(dim=-1)
    content = layout.content[:, None].expand(-1, weights.size(1), -1).gather(2, strongest.indices.flatten(2))
    on_content = content.view_as(strongest.indices) & layout.rows[:, None]
    by_row = [
        torch.special.entr(shares).sum(dim=-1),
        strongest.values,
        (shares * layout.distance).sum(dim=-1) * layout.aligned,
    ]  # (B, H, T) each
    linear = weights.flatten(2) @ layout.cells  # (B, H, N)
    by_class = layout.row_classes.mT[:, None] @ (weights @ layout.column_classes[:, None])  # (B, H, C, C)
    sums = torch.stack([one.double().sum(dim=-1) for one in by_row], dim=-1)
    return torch.cat(
        [sums, linear.double(), on_content.double().sum(dim=-1, keepdim=True), by_class.flatten(2).double()], dim=-1
    )


def counts(layout: Layout) -> Tensor:
    """The rows behind each number of `layer_sums`, (B, N)."""
    rows = layout.rows.sum(dim=1)  # (B,)
    linear = layout.counted.sum(dim=1)  # (B, N)
    by_class = layout.row_classes.sum(dim=1).long().repeat_interleave(len(CLASSES), dim=1)  # (B, C·C)
    return torch.cat([torch.stack([rows, rows, rows * layout.aligned], 1), linear, rows[:, None], by_class], dim=1)


def profile(weights: Tensor, layout: Layout) -> Tensor:
    """The weight by distance and class of the key, summed over rows, (B, H, O·C)."""
    found = weights.new_zeros(*weights.shape[:2], layout.bins * len(CLASSES), dtype=torch.double)
    bins = layout.profile[:, None].expand(-1, weights.size(1), -1)
    return found.scatter_add_(2, bins, weights.flatten(2).double())


def alignment_sums(total: Tensor, strongest: Sequence[tuple[Tensor, Tensor]], layout: Layout) -> tuple[Tensor, Tensor]:
    """In how many rows each head points at the source word that all heads together point at, without the sinks.

    Args:
        total: The cross-attention of all heads of all layers, (B, T, S).
        strongest: For each layer, the strongest key of all, and of those with content, (B, H, T) each.
        layout: Of the batch.

    Returns:
        (B, L, H, 2), with all keys and without the sinks; and the rows that count, (B,): written tokens with content.
    """
    words = layout.words

    def word_at(keys: Tensor) -> Tensor:  # (B, …, T) → the word there
        spread = words.view(len(words), *[1] * (keys.dim() - 2), -1).expand(*keys.shape[:-1], -1)
        return spread.gather(-1, keys)

    reference = word_at(total.masked_fill(~layout.content[:, None], -1.0).argmax(dim=-1))  # (B, T)
    has_content = layout.row_classes[..., list(CONTENT)].sum(dim=-1) > 0  # (B, T)
    rows = has_content & layout.content.any(dim=1, keepdim=True)
    layers = [
        torch.stack([((word_at(keys) == reference[:, None]) & rows[:, None]).double().sum(-1) for keys in both], dim=-1)
        for both in strongest
    ]
    return torch.stack(layers, dim=1), rows.sum(dim=1)
