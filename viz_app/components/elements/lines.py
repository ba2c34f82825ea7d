"""Attention as lines: from queries to keys in a picture of their own, and between the token chips of a page."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from viz_app.components.mounting import Data, component, labels_of, packed
from viz_app.components.page_parts import give
from viz_app.content.translation import t
from viz_app.figures.style import Axes

__all__ = ["AttentionLines", "attention_lines", "draw_word_lines"]


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
        """The data of `live/ui/lines.js`."""
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


def attention_lines(lines: AttentionLines, *, key: str) -> None:
    """Draw maps as lines from queries (left) to keys (right)."""
    component("attention_lines", "ui/lines", key=key, data=lines.data())


def draw_word_lines(weights: NDArray[np.float32], kind: str, *, title: str, given: int, in_map: bool) -> None:
    """Draw lines between the chips of `rows_of_chips`, and highlight what the visitor points at.

    Args:
        weights: (T, S), of one head, or the mean of several.
        kind: One of `KINDS`.
        title: Of a saved picture of the chips and lines.
        given: Tokens of a prompt, whose chips are among those that are read.
        in_map: The large map on the page has exactly these rows and columns.
    """
    # The position that writes a token is the query of its row. As a key, a position is the token that it has read.
    reads, writes, written_before = ("reads", 0), ("writes", -given), ("writes", -given - 1)
    rows = {"cross": (writes, reads), "encoder": (reads, reads), "decoder": (writes, written_before)}
    (query_row, query_from), (key_row, key_from) = rows[kind]
    data = {
        "title": title,
        "weights": packed(weights),
        "queries": weights.shape[0],
        "keys": weights.shape[1],
        "query_row": query_row,
        "query_from": query_from,
        "key_row": key_row,
        "key_from": key_from,
        "in_map": in_map,
    }
    give("word_lines", data)
