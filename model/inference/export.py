"""The maps of a translation as files: NPZ for programs, CSV for spreadsheets."""

import io

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from model.inference.translate import Token, Translation
from model.kinds import KINDS

__all__ = ["maps_csv", "maps_npz"]


def maps_npz(translation: Translation) -> bytes:
    """Arrays `encoder` (L, H, S, S), `decoder` (L, H, T, T), `cross` (L, H, T, S) and the tokens of their axes."""
    maps = translation.maps
    file = io.BytesIO()
    np.savez_compressed(
        file,
        encoder=maps.encoder,
        decoder=maps.decoder,
        cross=maps.cross,
        source_tokens=_texts(translation.source),
        read_tokens=_texts(translation.read),
        written_tokens=_texts(translation.written),
    )
    return file.getvalue()


def maps_csv(translation: Translation) -> bytes:
    """One row a weight; positions, layers and heads counted from 1. Queries and keys are the tokens of `Kind`."""
    tables = [
        _table(kind.title, getattr(translation.maps, name), *map(_texts, translation.tokens_of(name)))
        for name, kind in KINDS.items()
    ]
    return pd.concat(tables, ignore_index=True).to_csv(index=False).encode("utf-8-sig")


def _texts(tokens: tuple[Token, ...]) -> NDArray[np.str_]:
    return np.array([token.text for token in tokens], dtype=np.str_)


def _table(kind: str, maps: NDArray[np.float32], queries: NDArray[np.str_], keys: NDArray[np.str_]) -> pd.DataFrame:
    layer, head, query, key = (index.ravel() for index in np.indices(maps.shape))
    return pd.DataFrame(
        {
            "attention": kind,
            "layer": layer + 1,
            "head": head + 1,
            "query_position": query + 1,
            "query": queries[query],
            "key_position": key + 1,
            "key": keys[key],
            "weight": maps.ravel(),
        }
    )
