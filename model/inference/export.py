"""The maps of a translation as files: NPZ for programs, CSV for spreadsheets."""

import io
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from model.inference.tokens import Token
from model.inference.translation import Translation

__all__ = ["count_weights", "maps_csv", "maps_frame", "maps_npz"]

COLUMNS = ("attention", "layer", "head", "query_position", "query", "key_position", "key", "weight")


def maps_npz(translation: Translation) -> bytes:
    """Arrays `encoder` (L, H, S, S), `decoder` (L, H, T, T), `cross` (L, H, T, S), as far as the model has them, and
    the tokens of their axes.
    """
    file = io.BytesIO()
    tokens = {"source": translation.source, "read": translation.read, "written": translation.written}
    arrays: dict[str, Any] = dict(translation.maps) | {f"{name}_tokens": _texts(row) for name, row in tokens.items()}
    np.savez_compressed(file, **arrays)
    return file.getvalue()


def maps_csv(translation: Translation) -> bytes:
    """One row a weight; positions, layers and heads counted from 1. Queries and keys are the tokens of `Kind`."""
    # A layer at a time: a table takes ten times as much memory as the text that it becomes.
    parts = [table.to_csv(index=False, header=False) for table in _tables(translation)]
    return "".join([",".join(COLUMNS) + "\n", *parts]).encode("utf-8-sig")


def maps_frame(translation: Translation) -> pd.DataFrame:
    """As `maps_csv`, as a table in memory."""
    return pd.concat(_tables(translation), ignore_index=True)


def _tables(translation: Translation) -> Iterator[pd.DataFrame]:
    for name, maps in translation.maps.items():
        for layer, weights in enumerate(maps, start=1):
            yield _table(name, layer, weights, *map(_texts, translation.tokens_of(name)))


def count_weights(translation: Translation) -> int:
    """Rows of `maps_csv`, its heading not counted."""
    return sum(maps.size for maps in translation.maps.values())


def _texts(tokens: tuple[Token, ...]) -> NDArray[np.str_]:
    return np.array([token.text for token in tokens], dtype=np.str_)


def _table(
    kind: str, layer: int, weights: NDArray[np.float32], queries: NDArray[np.str_], keys: NDArray[np.str_]
) -> pd.DataFrame:
    head, query, key = (index.ravel() for index in np.indices(weights.shape))
    values = (kind, layer, head + 1, query + 1, queries[query], key + 1, keys[key], weights.ravel())
    return pd.DataFrame(dict(zip(COLUMNS, values, strict=True)))
