"""What a visitor may change inside the model, as plain values, and the edits that carry it out.

An `Intervention` can be compared, hashed and put into a link; its edits are made freshly for every run, because some of
them count the steps of the decode that they take part in.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from model.config.kinds import KINDS
from model.trace import Edit, ablate_heads, hook_name

__all__ = ["Head", "Intervention", "PaintedCell", "scale_scores", "uniform_heads", "without_positions"]

KIND, NUMBER = f"({'|'.join(KINDS)})", r"[1-9]\d{0,4}"
HEADS_IN_LINK = re.compile(rf"(off|uniform)\.{KIND}\.({NUMBER})\.({NUMBER}(?:-{NUMBER})*)", re.ASCII)
CELL_IN_LINK = re.compile(
    rf"paint\.{KIND}\.({NUMBER})\.({NUMBER})\.({NUMBER})\.({NUMBER})\.(1|0(?:\.\d{{1,6}})?)", re.ASCII
)


@dataclass(frozen=True, order=True)
class Head:
    """One head; layer and head are counted from 0."""

    kind: str  # one of `KINDS`
    layer: int
    head: int


@dataclass(frozen=True)
class PaintedCell:
    """A weight that is set by hand; the other weights of its row share what is left, in their old proportions."""

    head: Head
    query: int  # for decoder self- and cross-attention, the step of the decode
    key: int
    weight: float  # 0 to 1

    def weight_in(self, maps: NDArray[np.float32]) -> float | None:
        """What the cell really has in the maps (L, H, T, S) of its kind: `paint` cannot always give what is asked.

        Returns:
            The weight, or None where this sentence has no such row or column.
        """
        cell = self.head.layer, self.head.head, self.query, self.key
        inside = all(index < size for index, size in zip(cell, maps.shape, strict=True))
        return float(maps[cell]) if inside else None


@dataclass(frozen=True, kw_only=True)
class Intervention:
    """Everything that is changed in one run; with no arguments, nothing."""

    ablated: frozenset[Head] = frozenset()
    uniform: frozenset[Head] = frozenset()
    painted: frozenset[PaintedCell] = frozenset()  # one in a row at most
    positions: bool = True

    def __post_init__(self) -> None:
        rows = [(cell.head, cell.query) for cell in self.painted]
        for head, query in rows:
            if rows.count((head, query)) > 1:
                raise ValueError(
                    f"Two weights are painted in row {query + 1} of layer {head.layer + 1}, head {head.head + 1} "
                    f"({head.kind}). Paint at most one weight per row."
                )

    def __bool__(self) -> bool:
        return self != Intervention()

    def within(self, heads: Collection[Head]) -> "Intervention":
        """As much of it as a model with these heads has."""
        known = frozenset(heads)
        return replace(
            self,
            ablated=self.ablated & known,
            uniform=self.uniform & known,
            painted=frozenset(cell for cell in self.painted if cell.head in known),
        )

    def edits(self) -> dict[str, Edit]:
        """Fresh edits for `tracing`, good for one run over one sentence."""
        edits: dict[str, list[Edit]] = {}
        for (kind, layer), heads in by_layer(self.uniform).items():
            edits.setdefault(hook_name(kind, layer, "masked_scores"), []).append(uniform_heads(heads))
        for cell in sorted(self.painted, key=lambda cell: (cell.head, cell.query, cell.key)):
            for stage, edit in paint(cell).items():
                edits.setdefault(hook_name(cell.head.kind, cell.head.layer, stage), []).append(edit)
        for (kind, layer), heads in by_layer(self.ablated).items():
            edits.setdefault(hook_name(kind, layer, "weights"), []).append(ablate_heads(heads))
        if not self.positions:
            edits |= {name: [edit] for name, edit in without_positions().items()}
        return {name: in_turn(parts) for name, parts in edits.items()}

    def code(self) -> str:
        """As text for a link, such as `off.cross.3.1-2~paint.encoder.1.4.2.3.0.75`; all counted from 1.

        A part is `off` or `uniform` with attention, layer and heads; `paint` with attention, layer, head, query, key
        and weight; or `nopositions`.
        """
        parts = [
            f"{word}.{kind}.{layer + 1}.{'-'.join(str(head + 1) for head in numbers)}"
            for word, heads in (("off", self.ablated), ("uniform", self.uniform))
            for (kind, layer), numbers in by_layer(heads).items()
        ]
        parts += [
            f"paint.{cell.head.kind}.{cell.head.layer + 1}.{cell.head.head + 1}.{cell.query + 1}.{cell.key + 1}."
            f"{decimal(cell.weight)}"
            for cell in sorted(self.painted, key=lambda cell: (cell.head, cell.query, cell.key))
        ]
        return "~".join(parts if self.positions else [*parts, "nopositions"])

    @classmethod
    def from_code(cls, code: str) -> "Intervention":
        """What `code` wrote.

        Raises:
            ValueError: it is none of ours.
        """
        heads: dict[str, set[Head]] = {"off": set(), "uniform": set()}
        painted, positions = set(), True
        for part in code.split("~") if code else []:
            if match := HEADS_IN_LINK.fullmatch(part):
                word, kind, layer, numbers = match.groups()
                heads[word] |= {Head(kind, int(layer) - 1, int(number) - 1) for number in numbers.split("-")}
            elif match := CELL_IN_LINK.fullmatch(part):
                kind, *counted, weight = match.groups()
                layer, head, query, key = (int(number) - 1 for number in counted)
                painted.add(PaintedCell(Head(kind, layer, head), query, key, float(weight)))
            elif part == "nopositions":
                positions = False
            else:
                raise ValueError(f"The link has an unknown change: {part!r}.")
        return cls(
            ablated=frozenset(heads["off"]),
            uniform=frozenset(heads["uniform"]),
            painted=frozenset(painted),
            positions=positions,
        )


def decimal(weight: float) -> str:
    """As plain digits, six after the point at most: `g` writes 5e-05."""
    return f"{weight:.6f}".rstrip("0").rstrip(".")


def by_layer(heads: frozenset[Head]) -> Mapping[tuple[str, int], list[int]]:
    numbers: dict[tuple[str, int], list[int]] = {}
    for head in sorted(heads):
        numbers.setdefault((head.kind, head.layer), []).append(head.head)
    return numbers


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


def paint(cell: PaintedCell) -> dict[str, Edit]:
    """Edits, stage → edit, that set one weight, whether all queries come in one pass or one in each.

    The row still sums to 1. So where no other key has any weight to share what is left, as where the mask allows this
    key alone, it keeps all of it; `PaintedCell.weight_in` tells. What the mask forbids stays forbidden.
    """
    position = 0
    forbidden = False

    def see_mask(masked_scores: Tensor) -> Tensor:  # (B, H, T, S)
        nonlocal forbidden
        row = cell.query - position
        inside = 0 <= row < masked_scores.size(2) and cell.key < masked_scores.size(3)
        forbidden = inside and bool(masked_scores[:, cell.head.head, row, cell.key].isneginf().all())
        return masked_scores

    def set_weight(weights: Tensor) -> Tensor:  # (B, H, T, S)
        nonlocal position
        row, position = cell.query - position, position + weights.size(2)
        if forbidden or not 0 <= row < weights.size(2) or cell.key >= weights.size(3):
            return weights
        painted = weights.clone()
        target = painted[:, cell.head.head, row]  # (B, S), a view
        # Set to nothing and summed; one minus the weight would be all rounding where the weight is nearly 1.
        target[:, cell.key] = 0.0
        others = target.sum(dim=-1, keepdim=True)  # (B, 1)
        alone = others == 0
        target.div_(others.masked_fill(alone, 1.0)).mul_(1 - cell.weight)
        target[:, cell.key] = alone[:, 0].to(target.dtype).clamp_min(cell.weight)
        return painted

    return {"masked_scores": see_mask, "weights": set_weight}


def without_positions() -> dict[str, Edit]:
    """Edits that leave the positional encoding out of the input of encoder and decoder."""

    def pair(stack: str) -> dict[str, Edit]:
        latest: list[Tensor] = []

        def keep(vectors: Tensor) -> Tensor:
            latest[:] = [vectors]
            return vectors

        return {f"{stack}.embedding.token_vectors": keep, f"{stack}.embedding.sum": lambda _sum: latest[0]}

    return pair("encoder") | pair("decoder")
