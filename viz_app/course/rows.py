"""The row of an attention map that a page takes apart, and how sharp all rows of a sentence are."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from model.analysis.anatomy import Anatomy, Derivation, derive
from model.analysis.statistics import entropy
from model.inference.run import Run
from viz_app.course.page_choices import whole_number
from viz_app.course.situation import Situation
from viz_app.services.head_analyses import anatomy_of
from viz_app.services.loading import config_of

__all__ = ["Row", "mean_entropies", "row_of"]


@dataclass(frozen=True, kw_only=True)
class Row:
    """One query of one head: the row of the map that the page takes apart."""

    kind: str
    layer: int  # layer, head and query count from 0
    head: int
    query: int
    parts: Anatomy
    query_token: str
    keys: tuple[str, ...]  # S

    def derived(self, *, scale: bool = True, temperature: float = 1.0) -> Derivation:
        return derive(self.parts, self.head, self.query, scale=scale, temperature=temperature)

    @property
    def allowed(self) -> NDArray[np.bool_]:
        """The keys that are not masked, (S,)."""
        return np.asarray(self.parts.allowed[self.query])

    @property
    def place(self) -> dict[str, str | int | float]:
        return {"layer": self.layer + 1, "head": self.head + 1, "query": self.query_token}


def row_of(situation: Situation) -> Row:
    """The row that the page shows, with the page's own defaults."""
    kind = situation.choices.get("kind", "cross")
    layer = whole_number(situation, "layer", config_of(situation.key).model.num_layers(kind)) - 1
    translation, parts = anatomy_of(situation.key, Run(text=situation.text, forced=situation.forced), kind, layer)
    queries, keys = translation.tokens_of(kind)
    query = min(int(situation.choices.get("query", "2")), len(queries) - 1)
    return Row(
        kind=kind,
        layer=layer,
        head=whole_number(situation, "head", 1) - 1,
        query=query,
        parts=parts,
        query_token=queries[query].text,
        keys=tuple(token.text for token in keys),
    )


def mean_entropies(situation: Situation) -> tuple[float, float]:
    """The mean entropy of all rows of all heads, in nats: as the model computes them, and without the division."""
    found: tuple[list[float], list[float]] = ([], [])
    model = config_of(situation.key).model
    for kind in model.kinds:
        for layer in range(model.num_layers(kind)):
            _, parts = anatomy_of(situation.key, Run(text=situation.text, forced=situation.forced), kind, layer)
            heads, queries = parts.queries.shape[:2]
            for scale, rows in zip((True, False), found, strict=True):
                weights = [derive(parts, h, q, scale=scale).weights for h in range(heads) for q in range(queries)]
                rows += entropy(np.stack(weights)).tolist()
    return float(np.mean(found[0])), float(np.mean(found[1]))
