"""Which rows and cells of a padded batch each number counts. It follows from the tokens; all layers share it."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from model.atlas.syntax import PARTS
from model.atlas.texts import Side, TextTokens, sides_of
from model.atlas.token_classes import CLASSES, CONTENT, PUNCTUATION, SPECIAL
from model.config.kinds import KINDS

__all__ = ["DISTANCES", "LINEAR", "SYNTAX", "Layout", "layout_of"]

# The weight of a row on a set of keys, summed over its keys. `docs/atlas.md` defines the sets.
LINEAR = (
    "previous",
    "same",
    "next",
    "start",
    "end",
    "special",
    "punctuation",
    "sinks",
    "induction",
    "duplicate",
    "word",
)
SYNTAX = ("governor", "dependents", *PARTS)  # such sets too, where a pipeline of spaCy reads the texts
DISTANCES = (-16, -8, -4, -3, -2, -1, 0, 1, 2, 3, 4, 8, 16)  # the smallest offset of each bin: negative is backwards
NOT_ALIGNED = ("previous", "same", "next", "induction", "duplicate", "word", "governor", "dependents")


@dataclass(frozen=True, kw_only=True, eq=False)
class Layout:
    """The tokens of a batch of B texts for one kind of attention, with T rows and S columns."""

    aligned: bool
    rows: Tensor  # (B, T): False at padding
    columns: Tensor  # (B, S)
    row_classes: Tensor  # (B, T, C), 1 at the class of a row; 0 at padding
    column_classes: Tensor  # (B, S, C)
    words: Tensor  # (B, S), the word of each column; −1 for special tokens and padding
    content: Tensor  # (B, S): tokens with content, no signs and no special tokens
    cells: Tensor  # (B, T·S, N), 1 in the cells that each of the `LINEAR` numbers sums, and then of `SYNTAX`
    counted: Tensor  # (B, T, N): rows where these numbers have a meaning
    distance: Tensor  # (T, S), in tokens
    profile: Tensor  # (B, T·S), the bin of distance and class of each cell, O·C in all; O = 1 if not aligned

    @property
    def bins(self) -> int:
        return len(DISTANCES) if self.aligned else 1


def layout_of(texts: Sequence[TextTokens], kind: str, device: torch.device, *, syntax: bool = False) -> Layout:
    """Args:
    texts: B texts.
    kind: One of `KINDS`.
    device: Of the model.
    syntax: With the sets of `SYNTAX`.
    """
    queries, keys = zip(*(sides_of(text, kind) for text in texts), strict=True)

    def padded(sides: Sequence[Side], name: str) -> Tensor:
        # A side without a pipeline has no syntax.
        rows = [torch.tensor(getattr(side, name) or (-1,) * len(side), dtype=torch.long) for side in sides]
        return torch.nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=-1).to(device)

    row_class, column_class = padded(queries, "classes"), padded(keys, "classes")
    ids, words = padded(keys, "ids"), padded(keys, "words")
    rows, columns = row_class >= 0, column_class >= 0
    aligned = KINDS[kind].aligned
    offset = torch.arange(columns.size(1), device=device)[None] - torch.arange(rows.size(1), device=device)[:, None]
    sets = cell_sets(column_class, ids, words, rows, columns, offset, ends_last=kind != "decoder", aligned=aligned)
    if syntax:
        governors, parts = padded(keys, "governors"), padded(keys, "parts")
        sets |= syntax_sets(words, governors, parts, offset, causal=kind == "decoder", aligned=aligned)
    sets = {name: cells & rows[:, :, None] & columns[:, None] for name, cells in sets.items()}
    counted = {name: counted_rows(name, cells, rows, aligned) for name, cells in sets.items()}
    if syntax:  # a text without such words has no part of speech
        with_parts = (parts >= 0).any(dim=1, keepdim=True)
        counted |= {name: counted[name] & with_parts for name in PARTS}
    edges = torch.tensor(DISTANCES, device=device)
    bins = (torch.bucketize(offset, edges, right=True) - 1).clamp(min=0) if aligned else torch.zeros_like(offset)
    names = (*LINEAR, *SYNTAX) if syntax else LINEAR
    profile = bins[None] * len(CLASSES) + column_class.clamp(min=0)[:, None]  # (B, T, S)
    return Layout(
        aligned=aligned,
        rows=rows,
        columns=columns,
        row_classes=one_hot(row_class),
        column_classes=one_hot(column_class),
        words=words,
        content=torch.isin(column_class, torch.tensor(CONTENT, device=device)),
        cells=torch.stack([(sets[n] & counted[n][:, :, None]).flatten(1) for n in names], dim=-1).float(),
        counted=torch.stack([counted[name] for name in names], dim=-1),
        distance=offset.abs().float(),
        profile=profile.flatten(1),
    )


def one_hot(classes: Tensor) -> Tensor:
    """(…) → (…, C), all 0 at −1."""
    return (classes[..., None] == torch.arange(len(CLASSES), device=classes.device)).float()


def cell_sets(
    classes: Tensor, ids: Tensor, words: Tensor, rows: Tensor, columns: Tensor, offset: Tensor, *,
    ends_last: bool, aligned: bool,
) -> dict[str, Tensor]:  # fmt: skip
    """The cells of each of the `LINEAR` numbers, (B, T, S)."""
    size = (len(ids), rows.size(1), columns.size(1))
    place = torch.arange(columns.size(1), device=ids.device)
    last = columns.sum(dim=1, keepdim=True) - 1
    sign, special, start = classes == PUNCTUATION, classes == SPECIAL, (place == 0).expand_as(ids)
    by_key = {
        "start": start,
        "end": place == last if ends_last else start,
        "special": special,
        "punctuation": sign,
        "sinks": special | sign | start,
    }
    found = {name: keys[:, None].expand(size) for name, keys in by_key.items()}
    found |= {name: (offset == at).expand(size) for name, at in (("previous", -1), ("same", 0), ("next", 1))}
    nothing = torch.zeros(size, dtype=torch.bool, device=ids.device)
    found |= {"induction": nothing, "duplicate": nothing, "word": nothing}
    if aligned:
        before, text = offset < 0, (words >= 0)[:, :, None]
        equal = (ids[:, :, None] == ids[:, None]) & text
        found["duplicate"] = equal & before
        # The key after an earlier occurrence: cell (t, s) where (t, s − 1) is a duplicate.
        found["induction"] = torch.nn.functional.pad(found["duplicate"], (1, 0))[:, :, :-1]
        found["word"] = (words[:, :, None] == words[:, None]) & text & (offset != 0)
    return found


def syntax_sets(
    words: Tensor, governors: Tensor, parts: Tensor, offset: Tensor, *, causal: bool, aligned: bool
) -> dict[str, Tensor]:
    """The cells of each of the `SYNTAX` numbers, (B, T, S)."""
    size = (len(words), *offset.shape)
    nothing = torch.zeros(size, dtype=torch.bool, device=words.device)
    found = {"governor": nothing, "dependents": nothing}
    if aligned:
        # (B, T, S): the word of the key governs that of the row. A decoder sees only what it has read.
        visible = offset <= 0 if causal else torch.ones_like(offset, dtype=torch.bool)
        governor = (governors[:, :, None] == words[:, None]) & (governors >= 0)[:, :, None]
        found = {"governor": governor & visible, "dependents": governor.mT & visible}
    return found | {name: (parts == i)[:, None].expand(size) for i, name in enumerate(PARTS)}


def counted_rows(name: str, cells: Tensor, rows: Tensor, aligned: bool) -> Tensor:
    """The rows where a number has a meaning, (B, T): all, or those that have such a key, between equal positions."""
    if name in NOT_ALIGNED:
        return rows & cells.any(dim=-1) & aligned
    return rows
