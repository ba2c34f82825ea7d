"""What each head of a tiny model looks at, as a mean over stories that the model has not read."""

from collections.abc import Callable, Iterator, Mapping
from itertools import product

import torch
from torch import Tensor

from weights.tiny.figures import held_out_ids
from weights.tiny.opened import OpenedTiny, Pass
from weights.tiny.probes import PROBES, Probe, probes

__all__ = ["LOOKS", "head_scores", "head_table"]

SENTENCES = 200
Places = Iterator[tuple[int, int]]  # query, key


def previous(ids: list[int]) -> Places:
    return ((i, i - 1) for i in range(2, len(ids)))


def following(ids: list[int]) -> Places:
    return ((i, i + 1) for i in range(1, len(ids) - 2))


def start(ids: list[int]) -> Places:
    return ((i, 0) for i in range(1, len(ids)))


def same_token(ids: list[int]) -> Places:
    """The last earlier occurrence of the same token."""
    return ((i, earlier) for i, earlier in repeats(ids))


def after_same_token(ids: list[int]) -> Places:
    """The token after it, as an induction head does (Olsson et al. 2022, arXiv 2209.11895)."""
    return ((i, earlier + 1) for i, earlier in repeats(ids) if earlier + 1 < i)


def repeats(ids: list[int]) -> Places:
    seen: dict[int, int] = {}
    for i, token in enumerate(ids):
        if token in seen:
            yield i, seen[token]
        seen[token] = i


LOOKS: Mapping[str, Callable[[list[int]], Places]] = {
    "previous token": previous,
    "next token": following,
    "first token": start,
    "same token earlier": same_token,
    "after same token": after_same_token,
}


def mean_weights(found: Pass, places: list[tuple[int, int]]) -> Tensor:
    """(L, H): the mean weight of the given cells."""
    queries, keys = torch.tensor(places).T
    return found.weights[:, :, queries, keys].mean(dim=-1)


def head_scores(tiny: OpenedTiny) -> Mapping[str, Tensor]:
    """Where a head looks → its mean weight there, (L, H), from 0 to 1."""
    passes = [tiny.read(row) for row in held_out_ids(tiny, invented=0.35)[:SENTENCES]]
    scores = {}
    for name, places_of in LOOKS.items():
        read = [(one, list(places_of(one.ids.tolist()))) for one in passes]
        scores[name] = torch.stack([mean_weights(one, places) for one, places in read if places]).mean(dim=0)
    for kind in PROBES:
        found = [mean_weights(*seen) for probe in probes(kind, SENTENCES) if (seen := decisive(tiny, probe))]
        scores[f"answer to {kind}"] = torch.stack(found).mean(dim=0)
    return scores


def decisive(tiny: OpenedTiny, probe: Probe) -> tuple[Pass, list[tuple[int, int]]] | None:
    """A pass, and the cell from the place of the answer to the word that decides; None if that word has no token."""
    ids = tiny.ids(f"{probe.before} {tiny.tokenizer.mask_token}{probe.after}" if tiny.masked else probe.before)
    subject = tiny.first_id(probe.subject)
    if subject not in ids:
        return None
    query = ids.index(int(tiny.tokenizer.mask_token_id)) if tiny.masked else len(ids) - 1
    return tiny.read(ids), [(query, ids.index(subject))]


def head_table(tiny: OpenedTiny) -> str:
    """A line per head: the mean weight for each of `LOOKS`. Layers and heads count from 1."""
    scores = head_scores(tiny)
    layers, heads = next(iter(scores.values())).shape
    lines = ["\t".join(["head", *scores])]
    for layer, head in product(range(layers), range(heads)):
        cells = (f"{values[layer, head]:.2f}" for values in scores.values())
        lines.append("\t".join([f"{layer + 1}.{head + 1}", *cells]))
    return "\n".join(lines)
