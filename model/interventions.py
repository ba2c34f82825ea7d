"""The changes that a visitor can make inside a model, as plain values, and the edits that apply them.

An `Intervention` can be compared, hashed and stored in a link. Every run needs new edits, because some of them count
the steps of their run.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from model.config.kinds import KINDS
from model.config.section import ConfigError, require
from model.messages import Message
from model.trace import Edit, IfPresent, ablate_heads, hook_name

__all__ = ["Head", "Intervention", "PaintedCell", "uniform_heads", "without_positions"]

ROUNDING = 16  # a row of weights lacks less than so many units of rounding to 1, if it has no sink
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

    @property
    def code(self) -> str:
        """Its name in a file or a link, such as `cross.2.5`. Numbers count from 1."""
        return f"{self.kind}.{self.layer + 1}.{self.head + 1}"


@dataclass(frozen=True)
class PaintedCell:
    """An attention weight with a chosen value. The rest of its row is shared in the old proportions, also by a sink."""

    head: Head
    query: int  # in decoder self-attention and cross-attention, the step that writes
    key: int
    weight: float  # 0 to 1

    def weight_in(self, maps: NDArray[np.float32]) -> float | None:
        """The weight that the cell has after a run. `paint` cannot always give it the chosen value.

        Args:
            maps: Of the cell's kind of attention, (L, H, T, S).

        Returns:
            The weight; None where the sentence has no such row or column.
        """
        cell = self.head.layer, self.head.head, self.query, self.key
        inside = all(index < size for index, size in zip(cell, maps.shape, strict=True))
        return float(maps[cell]) if inside else None


@dataclass(frozen=True, kw_only=True)
class Intervention:
    """All changes of one run. Without arguments, nothing changes."""

    ablated: frozenset[Head] = frozenset()  # silenced heads
    uniform: frozenset[Head] = frozenset()  # heads with the same weight for every key that is not masked
    painted: frozenset[PaintedCell] = frozenset()  # at most one per row
    positions: bool = True  # False leaves the positional encoding out

    def __post_init__(self) -> None:
        rows = [(cell.head, cell.query) for cell in self.painted]
        for head, query in rows:
            require(
                rows.count((head, query)) == 1,
                "Two weights are painted in row {row} of layer {layer}, head {head} ({kind}). Paint at most one weight "
                "per row.",
                row=query + 1,
                layer=head.layer + 1,
                head=head.head + 1,
                kind=Message(KINDS[head.kind].title),
            )

    def __bool__(self) -> bool:
        return self != Intervention()

    def within(self, heads: Collection[Head]) -> "Intervention":
        """The changes that apply to a model with these heads."""
        known = frozenset(heads)
        return replace(
            self,
            ablated=self.ablated & known,
            uniform=self.uniform & known,
            painted=frozenset(cell for cell in self.painted if cell.head in known),
        )

    def edits(self) -> dict[str, Edit]:
        """New edits for `tracing`, for one run over one sentence."""
        edits: dict[str, list[Edit]] = {}
        for (kind, layer), heads in by_layer(self.uniform).items():
            edits.setdefault(hook_name(kind, layer, "masked_scores"), []).append(uniform_heads(heads))
        for cell in sorted(self.painted, key=lambda cell: (cell.head, cell.query, cell.key)):
            for stage, edit in paint(cell).items():
                edits.setdefault(hook_name(cell.head.kind, cell.head.layer, stage), []).append(edit)
        for (kind, layer), heads in by_layer(self.ablated).items():
            for stage in ("weights", "head_outputs"):  # 0 times a value that is not a number is not 0
                edits.setdefault(hook_name(kind, layer, stage), []).append(ablate_heads(heads))
        changed = {name: one_after_the_other(parts) for name, parts in edits.items()}
        return changed if self.positions else changed | without_positions()

    def code(self) -> str:
        """The changes as text for a link, such as `off.cross.3.1-2~paint.encoder.1.4.2.3.0.75`.

        A part is `off` or `uniform` with the kind of attention, the layer and the heads; `paint` with the kind, layer,
        head, query, key and weight; or `nopositions`. All numbers count from 1.
        """
        parts = [
            f"{word}.{kind}.{layer + 1}.{'-'.join(str(head + 1) for head in numbers)}"
            for word, heads in (("off", self.ablated), ("uniform", self.uniform))
            for (kind, layer), numbers in by_layer(heads).items()
        ]
        parts += [
            f"paint.{cell.head.code}.{cell.query + 1}.{cell.key + 1}.{decimal(cell.weight)}"
            for cell in sorted(self.painted, key=lambda cell: (cell.head, cell.query, cell.key))
        ]
        return "~".join(parts if self.positions else [*parts, "nopositions"])

    @classmethod
    def from_code(cls, code: str) -> "Intervention":
        """Read the text of `code`.

        Raises:
            ConfigError: the text has a part that `code` does not write.
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
                raise ConfigError("The link has an unknown change: {part}", part=repr(part))
        return cls(
            ablated=frozenset(heads["off"]),
            uniform=frozenset(heads["uniform"]),
            painted=frozenset(painted),
            positions=positions,
        )


def decimal(weight: float) -> str:
    """A number with at most six decimals. The format `g` would write 5e-05, which links do not accept."""
    return f"{weight:.6f}".rstrip("0").rstrip(".")


def by_layer(heads: frozenset[Head]) -> Mapping[tuple[str, int], list[int]]:
    """(kind, layer) → the numbers of its heads, in order."""
    numbers: dict[tuple[str, int], list[int]] = {}
    for head in sorted(heads):
        numbers.setdefault((head.kind, head.layer), []).append(head.head)
    return numbers


def one_after_the_other(edits: Sequence[Edit]) -> Edit:
    """One edit that applies several edits in their order."""
    return lambda tensor: reduce(lambda t, edit: edit(t), edits, tensor)


def uniform_heads(heads: Sequence[int]) -> Edit:
    """An edit for `*.masked_scores` that gives every key that is not masked the same weight, in these heads.

    A sink keeps its share, because the exponentials of a row keep their sum.
    """
    index = list(heads)

    def edit(masked_scores: Tensor) -> Tensor:  # (B, H, T, S)
        uniform = masked_scores.clone()
        scores = uniform[:, index]
        masked = scores.isneginf()
        mean = scores.logsumexp(dim=-1, keepdim=True) - (~masked).sum(dim=-1, keepdim=True).log()  # (B, H, T, 1)
        mean = mean.nan_to_num(
            nan=0.0, posinf=0.0, neginf=0.0
        )  # of a row without keys, or with a score that is no number
        uniform[:, index] = mean.expand_as(scores).masked_fill(masked, float("-inf"))
        return uniform

    return edit


def paint(cell: PaintedCell) -> dict[str, Edit]:
    """Edits that set one weight, by stage. The queries may come in one pass or one in each.

    The row still sums to 1, with the share of a sink (see `attention_weights`). If nothing else has any weight, for
    example because all other keys are masked, the cell keeps the whole weight; see `PaintedCell.weight_in`. A masked
    cell stays masked.
    """
    next_query = 0
    is_masked = False

    def check_mask(masked_scores: Tensor) -> Tensor:  # (B, H, T, S)
        nonlocal is_masked
        row = cell.query - next_query
        inside = 0 <= row < masked_scores.size(2) and cell.key < masked_scores.size(3)
        is_masked = inside and bool(masked_scores[:, cell.head.head, row, cell.key].isneginf().all())
        return masked_scores

    def set_weight(weights: Tensor) -> Tensor:  # (B, H, T, S)
        nonlocal next_query
        row, next_query = cell.query - next_query, next_query + weights.size(2)
        if is_masked or not 0 <= row < weights.size(2) or cell.key >= weights.size(3):
            return weights
        painted = weights.clone()
        target = painted[:, cell.head.head, row]  # (B, S), a view
        sink = 1 - target.double().sum(dim=-1, keepdim=True)  # (B, 1)
        sink = sink.masked_fill(sink < ROUNDING * torch.finfo(target.dtype).eps, 0.0).to(target.dtype)
        # Set to 0 and summed: 1 minus the weight would be mostly rounding error for a weight near 1.
        target[:, cell.key] = 0.0
        others = target.sum(dim=-1, keepdim=True) + sink  # (B, 1)
        no_others = others == 0
        target.div_(others.masked_fill(no_others, 1.0)).mul_(1 - cell.weight)
        target[:, cell.key] = no_others[:, 0].to(target.dtype).clamp_min(cell.weight)
        return painted

    return {"masked_scores": check_mask, "weights": set_weight}


def without_positions() -> dict[str, Edit]:
    """Edits that remove the positional encoding: from the input of the encoder and the decoder, and from the scores.

    Where the vectors of the positions pass a hook point, they become zero. So BERT keeps its token types. Elsewhere the
    sum becomes the token vectors.
    """

    def edits_of(stack: str) -> dict[str, Edit]:
        latest: list[Tensor] = []
        removed = False

        def keep(vectors: Tensor) -> Tensor:
            latest[:] = [vectors]
            return vectors

        def remove(vectors: Tensor) -> Tensor:
            nonlocal removed
            removed = True
            return torch.zeros_like(vectors)

        def total(sums: Tensor) -> Tensor:
            nonlocal removed
            found, removed = sums if removed else latest[0], False
            return found

        places = {"token_vectors": keep, "positions": remove, "sum": total}
        return {IfPresent(f"{stack}.embedding.{place}"): edit for place, edit in places.items()}

    biases = [IfPresent(hook_name(kind, "*", "bias")) for kind in ("encoder", "decoder")]
    numbers_for_distances = dict.fromkeys(biases, torch.zeros_like)
    return edits_of("encoder") | edits_of("decoder") | numbers_for_distances
