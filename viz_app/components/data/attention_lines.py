"""Attention as lines from queries to keys."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from viz_app.components.data.encoding import Data, labels_of, packed
from viz_app.content.translation import t
from viz_app.figures.style import Axes

__all__ = ["AttentionLines"]


@dataclass(frozen=True, kw_only=True)
class AttentionLines:
    """Maps that are drawn as lines, any of them at the same time."""

    maps: NDArray[np.float32]  # (R, C, T, S): R rows of C switches, such as layers and their heads
    axes: Axes
    kind: str  # one of `KINDS`
    rows: Sequence[str]  # names of the rows
    chosen: Sequence[int]  # the maps that are on at first, counted row by row
    largest: float  # the weight of the thickest line
    alt: str

    def name(self, row: int, column: int) -> str:
        """The name of a map."""
        if self.maps.shape[1] == 1:
            return self.rows[row]
        return t("{layer}, head {head}", layer=self.rows[row], head=column + 1)

    def data(self) -> Data:
        """The data of `attention_lines.js`."""
        count, columns = self.maps.shape[0] * self.maps.shape[1], self.maps.shape[1]
        many = columns > 1
        places = [divmod(i, columns) for i in range(count)]
        return {
            **labels_of(self.axes),
            "weights": packed(self.maps),
            "names": [self.name(row, column) for row, column in places],
            "labels": [str(column + 1) if many else self.rows[row] for row, column in places],
            "rows": list(self.rows) if many else [""] * len(self.rows),
            "columns": columns,
            "chosen": list(self.chosen),
            # If this changes, the browser forgets which maps the visitor has turned on.
            "selection": f"{self.kind}|{count}|{','.join(map(str, self.chosen))}",
            "largest": self.largest,
            "alt": self.alt,
        }
