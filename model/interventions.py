"""What a visitor may change inside the model, as plain values, and the edits that carry it out.

An `Intervention` can be compared, hashed and put into a link; its edits are made anew for every run, because some of
them count the steps of the decode that they take part in.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

from torch import Tensor

from model.trace import Edit, ablate_heads, hook_name

__all__ = ["Head", "Intervention", "PaintedCell", "scale_scores", "uniform_heads", "without_positions"]


@dataclass(frozen=True, order=True)
class Head:
    """One head; layer and head are counted from 0."""

    kind: str  # one of `STACKS`
    layer: int
    head: int


@dataclass(frozen=True)
class PaintedCell:
    """A weight that is set by hand; the other weights of its row share what is left, in their old proportions."""

    head: Head
    query: int  # for decoder self- and cross-attention, the step of the decode
    key: int
    weight: float  # 0 to 1


@dataclass(frozen=True, kw_only=True)
class Intervention:
    """Everything that is changed in one run; with no arguments, nothing."""

    ablated: frozenset[Head] = frozenset()
    uniform: frozenset[Head] = frozenset()
    painted: frozenset[PaintedCell] = frozenset()
    positions: bool = True

    def __bool__(self) -> bool:
        return self != Intervention()

    def edits(self) -> dict[str, Edit]:
        """Fresh edits for `tracing`, good for one run over one sentence."""
        edits: dict[str, list[Edit]] = {}
        for (kind, layer), heads in by_layer(self.uniform).items():
            edits.setdefault(hook_name(kind, layer, "masked_scores"), []).append(uniform_heads(heads))
        for cell in sorted(self.painted, key=lambda cell: (cell.head, cell.query, cell.key)):
            name = hook_name(cell.head.kind, cell.head.layer, "weights")
            edits.setdefault(name, []).append(paint(cell))
        for (kind, layer), heads in by_layer(self.ablated).items():
            edits.setdefault(hook_name(kind, layer, "weights"), []).append(ablate_heads(heads))
        if not self.positions:
            edits |= {name: [edit] for name, edit in without_positions().items()}
        return {name: in_turn(parts) for name, parts in edits.items()}


def by_layer(heads: frozenset[Head]) -> Mapping[tuple[str, int], list[int]]:
    found: dict[tuple[str, int], list[int]] = {}
    for head in sorted(heads):
        found.setdefault((head.kind, head.layer), []).append(head.head)
    return found


def in_turn(edits: Sequence[Edit]) -> Edit:
    return lambda tensor: reduce(lambda t, edit: edit(t), edits, tensor)


def uniform_heads(heads: Sequence[int]) -> Edit:
    """An edit for `*.masked_scores`: these heads look at every key that they may look at, equally."""
    index = list(heads)

    def edit(masked_scores: Tensor) -> Tensor:  # (B, H, T, S)
        flat = masked_scores.clone()
        flat[:, index] = flat[:, index].masked_fill(flat[:, index].isfinite(), 0.0)
        return flat

    return edit


def scale_scores(factor: float) -> Edit:
    """An edit for `*.scores`: above 1 sharpens what follows, below 1 flattens it; √d_k undoes the scaling."""
    return lambda scores: scores * factor


def paint(cell: PaintedCell) -> Edit:
    """An edit for `*.weights` that sets one weight, whether all queries come in one pass or one in each."""
    position = 0

    def edit(weights: Tensor) -> Tensor:  # (B, H, T, S)
        nonlocal position
        row, position = cell.query - position, position + weights.size(2)
        if not 0 <= row < weights.size(2) or cell.key >= weights.size(3):
            return weights
        painted = weights.clone()
        target = painted[:, cell.head.head, row]  # (B, S)
        rest = target.sum(dim=-1) - target[:, cell.key]
        share = (1 - cell.weight) / rest.clamp_min(1e-30)
        target *= share[:, None]
        target[:, cell.key] = cell.weight
        return painted

    return edit


def without_positions() -> dict[str, Edit]:
    """Edits that leave the positional encoding out of the input of encoder and decoder."""

    def pair(stack: str) -> dict[str, Edit]:
        latest: list[Tensor] = []

        def keep(vectors: Tensor) -> Tensor:
            latest[:] = [vectors]
            return vectors

        return {f"{stack}.embedding.token_vectors": keep, f"{stack}.embedding.sum": lambda _sum: latest[0]}

    return pair("encoder") | pair("decoder")
