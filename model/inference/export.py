"""The maps of a translation as files, in chunks: NPZ and JSON for programs, CSV for spreadsheets.

Every file also holds facts about the maps, by name, such as the checkpoint and the sentence.
"""

import io
import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from model.inference.run import Result
from model.text.pair import Text, texts_of

__all__ = ["FORMATS", "count_weights", "facts_of", "maps_csv", "maps_frame", "maps_json", "maps_npz"]

COLUMNS = ("attention", "layer", "head", "query_position", "query", "key_position", "key", "weight")
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")  # a spreadsheet computes a cell that begins with one of these


def facts_of(text: Text) -> dict[str, str]:
    """The facts about what was read: one sentence, or two."""
    first, second = texts_of(text)
    return {"sentence": first, **({"second": second} if second else {})}


def maps_npz(translation: Result, facts: Mapping[str, str]) -> Iterator[bytes]:
    """Write a compressed NumPy archive.

    It holds the arrays `encoder` (L, H, S, S), `decoder` (L, H, T, T) and `cross` (L, H, T, S) that the model has, the
    tokens of their axes, and each fact as a text. For a pair of texts, `source_parts` says which token is in which.

    Args:
        translation: With its maps.
        facts: Name → text.
    """
    file = io.BytesIO()
    tokens = {name: np.array(row, dtype=np.str_) for name, row in _tokens(translation).items()}
    texts = {name: np.array(fact, dtype=np.str_) for name, fact in facts.items()}
    # Not typed as arrays, because `allow_pickle` is an argument of NumPy itself.
    arrays: dict[str, Any] = {**texts, **translation.maps, **tokens}
    np.savez_compressed(file, **arrays)
    yield file.getvalue()


def maps_json(translation: Result, facts: Mapping[str, str]) -> Iterator[bytes]:
    """Write JSON with the names of `maps_npz`.

    Arrays are nested lists. Each weight has the digits that identify it in single precision. A weight that is not a
    number is null, because JSON has no NaN.

    Args:
        translation: With its maps.
        facts: Name → text.
    """
    yield json.dumps({**facts, **_tokens(translation)}, ensure_ascii=False, allow_nan=False).removesuffix("}").encode()
    for name, maps in translation.maps.items():
        yield f', "{name}": ['.encode()
        for layer, heads in enumerate(maps):
            yield b", [" if layer else b"["
            yield b", ".join(map(_nested, heads)) + b"]"
        yield b"]"
    yield b"}\n"


def maps_csv(translation: Result, facts: Mapping[str, str]) -> Iterator[bytes]:
    """Write CSV with one row per weight. Positions, layers and heads count from 1. NaN is not a number.

    Queries and keys are tokens; those of a pair of texts begin with "A: " or "B: ". A token that a spreadsheet would
    compute as a formula starts with an apostrophe. The facts are the last columns and stand only in the first row: a
    long sentence in each of 300,000 rows would make the file ten times as large.

    Args:
        translation: With its maps.
        facts: Name → text.
    """
    yield (",".join((*COLUMNS, *facts)) + "\n").encode("utf-8-sig")
    # One layer at a time: a table takes ten times as much memory as its text.
    first_row = {name: _plain_cell(fact) for name, fact in facts.items()}
    for table in _tables(translation, write_token=_plain_cell):
        for name in facts:
            table[name] = [first_row.get(name, ""), *[""] * (len(table) - 1)]
        first_row = {}
        yield table.to_csv(index=False, header=False, na_rep="NaN").encode()


Writer = Callable[[Result, Mapping[str, str]], Iterator[bytes]]
FORMATS: Mapping[str, Writer] = {"npz": maps_npz, "csv": maps_csv, "json": maps_json}


def maps_frame(translation: Result) -> pd.DataFrame:
    """The table of `maps_csv` in memory, without facts and with unchanged tokens."""
    return pd.concat(_tables(translation), ignore_index=True)


def count_weights(translation: Result) -> int:
    """How many weights all maps have: the rows of `maps_csv` without its heading."""
    return sum(maps.size for maps in translation.maps.values())


def _tokens(translation: Result) -> dict[str, list[str]]:
    """The texts of the tokens on each axis, and their parts of a pair."""
    rows = {"source": translation.source, "read": translation.read, "written": translation.written}
    parts = [token.part for token in translation.source]
    texts = {f"{name}_tokens": [token.text for token in row] for name, row in rows.items()}
    return {**texts, **({"source_parts": parts} if any(parts) else {})}


def _nested(weights: NDArray[np.float32]) -> bytes:
    """One map (T, S) as JSON."""
    digits = np.where(np.isfinite(weights), weights.astype(np.str_), "null")
    return ("[" + ", ".join(f"[{', '.join(row)}]" for row in digits) + "]").encode()


def _plain_cell(text: str) -> str:
    """A text that no spreadsheet computes as a formula."""
    return f"'{text}" if text.startswith(FORMULA_STARTS) else text


def _tables(translation: Result, *, write_token: Callable[[str], str] = str) -> Iterator[pd.DataFrame]:
    for name, maps in translation.maps.items():
        queries, keys = (
            np.array([write_token(token.label) for token in tokens], dtype=np.str_)
            for tokens in translation.tokens_of(name)
        )
        for layer, weights in enumerate(maps, start=1):
            yield _table(name, layer, weights, queries, keys)


def _table(
    kind: str, layer: int, weights: NDArray[np.float32], queries: NDArray[np.str_], keys: NDArray[np.str_]
) -> pd.DataFrame:
    """The weights of one layer, (H, T, S), with one row each."""
    head, query, key = (index.ravel() for index in np.indices(weights.shape))
    values = (kind, layer, head + 1, query + 1, queries[query], key + 1, keys[key], weights.ravel())
    return pd.DataFrame(dict(zip(COLUMNS, values, strict=True)))
