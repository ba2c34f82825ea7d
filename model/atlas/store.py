"""The folder of an atlas: written once, completely or not at all, and opened by reading only what is shown.

atlas.json           version, settings, counts, and the size of every other file
heads.parquet        one row per head: each number with the ends of its 95 % interval
pairs-KIND.npy       (L, H, C, C, 3): mean weight from a class to a class, with the ends of the interval
profile-KIND.npy     (L, H, O, C): mean weight by distance and class of the key
writes-KIND.npy      (L, H, C, D): mean vector that a head adds at the rows of a class; D = 0 where not known
places.npy           rows of the reservoirs, ordered by head, see `PLACE`
sentences.parquet    the texts of these rows
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from model.atlas.layout import DISTANCES
from model.atlas.measures import PAIRS
from model.atlas.settings import FORMAT, Settings
from model.atlas.tally import FACTS, ROW_FACTS, UNIT, KindTally, Tally
from model.atlas.texts import TextTokens
from model.config.section import ConfigError
from model.files import whole_folder

__all__ = [
    "ATLAS_FOLDER",
    "ENDS",
    "FACTS_FILE",
    "HEADS",
    "PLACES",
    "SENTENCES",
    "SIDES",
    "estimates",
    "require_free",
    "write_atlas",
]

ATLAS_FOLDER = "atlas"  # inside the folder of a checkpoint
FACTS_FILE, HEADS, PLACES, SENTENCES = "atlas.json", "heads.parquet", "places.npy", "sentences.parquet"
LEVEL = (0.025, 0.975)
ENDS = ("", "_low", "_high")  # of the column of a number: its mean, and the ends of its interval
SIDES = ("source", "read", "written")
FloatArray = NDArray[np.float32]


def estimates(tally: KindTally) -> FloatArray:
    """The mean of each number with the ends of its 95 % percentile interval, (L, H, N, 3).

    NaN where a number has no row, and at the ends where fewer than two texts have one. Source: Efron and Tibshirani
    (1993), section 13.3; each replicate is a ratio of two sums.
    """
    sums, counts = tally.sums, tally.counts
    found = np.full((*sums.shape[1:], 3), np.nan)
    for n in range(sums.shape[-1]):
        if counts[0, n]:
            found[:, :, n, 0] = sums[0, :, :, n] * UNIT / counts[0, n]
        drawn = np.flatnonzero(counts[1:, n]) + 1  # a replicate may have no such row
        if tally.texts[n] > 1 and drawn.size:
            means = sums[drawn, :, :, n] * UNIT / counts[drawn, n][:, None, None]
            found[:, :, n, 1:] = np.moveaxis(np.quantile(means, LEVEL, axis=0), 0, -1)
    return found.astype(np.float32)


def write_atlas(tally: Tally, settings: Settings, out: Path) -> None:
    """Write the folder of an atlas.

    Args:
        tally: Of the whole corpus.
        settings: Of the atlas.
        out: A new folder.

    Raises:
        ConfigError: `out` exists.
        CheckpointError: a file cannot be written; there is no folder then.
    """
    require_free(out)
    with whole_folder(out) as folder:
        tables = []
        numbers = len(settings.numbers)
        for kind in settings.kinds:
            one = tally.kinds[kind]
            found = estimates(one)  # (L, H, N, 3)
            layers, heads = found.shape[:2]
            tables.append(head_table(kind, found[:, :, :numbers], settings.numbers))
            classes = len(settings.classes)
            np.save(folder / f"pairs-{kind}.npy", found[:, :, numbers:].reshape(layers, heads, classes, classes, 3))
            rows = max(int(one.rows[0]), 1)
            profile = (one.profile * UNIT / rows).reshape(layers, heads, -1, classes)
            np.save(folder / f"profile-{kind}.npy", profile.astype(np.float32))
            of_class = one.counts[0, numbers::classes][:, None]  # rows of each class
            np.save(folder / f"writes-{kind}.npy", (one.writes * UNIT / np.maximum(of_class, 1)).astype(np.float32))
        pq.write_table(pa.concat_tables(tables), folder / HEADS, compression="zstd")
        np.save(folder / PLACES, tally.places)
        pq.write_table(
            sentence_table(tally.texts, syntax=bool(settings.syntax)),
            folder / SENTENCES,
            compression="zstd",
            row_group_size=512,
        )
        sizes = {path.name: path.stat().st_size for path in sorted(folder.iterdir())}
        facts = facts_of(tally, settings) | {"files": sizes}
        (folder / FACTS_FILE).write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")


def facts_of(tally: Tally, settings: Settings) -> dict[str, Any]:
    """What `atlas.json` says: nothing that differs between two runs with the same settings."""
    names = (*settings.numbers, *(f"{row} > {column}" for row, column in PAIRS))
    return {
        "format": FORMAT,
        "settings": settings.to_dict(),
        "left_out_lines": settings.lines - settings.texts,
        "facts": dict(zip(FACTS, tally.facts.tolist(), strict=True)),
        "intervals": bool(tally.facts[0] > 1),
        "distances": list(DISTANCES),
        "kinds": {
            kind: {
                **dict(zip(ROW_FACTS, one.rows.tolist(), strict=True)),
                "rows_of": dict(zip(names, one.counts[0].tolist(), strict=True)),
                "texts_of": dict(zip(names, one.texts.tolist(), strict=True)),
            }
            for kind, one in ((kind, tally.kinds[kind]) for kind in settings.kinds)
        },
    }


def head_table(kind: str, found: FloatArray, numbers: tuple[str, ...]) -> pa.Table:
    """The heads of one kind: a number has three columns, such as `previous`, `previous_low` and `previous_high`."""
    layers, heads = found.shape[:2]
    layer, head = np.indices((layers, heads)).reshape(2, -1).astype(np.int16)
    columns: dict[str, Any] = {"kind": pa.array([kind] * len(layer)), "layer": layer, "head": head}
    for n, name in enumerate(numbers):
        for end, suffix in enumerate(ENDS):
            columns[name + suffix] = found[:, :, n, end].ravel()
    return pa.table(columns)


def sentence_table(texts: Mapping[int, TextTokens], *, syntax: bool) -> pa.Table:
    """The texts with places: tokens, words and classes of each side, and parts of speech and governors."""
    ordered = [texts[line] for line in sorted(texts)]
    columns: dict[str, Any] = {
        "line": pa.array([text.line for text in ordered], pa.int64()),
        "forced": pa.array([text.forced for text in ordered], pa.int32()),
        "cut": pa.array([text.cut for text in ordered], pa.int32()),
    }
    kinds = {"ids": pa.int32(), "tokens": pa.string(), "words": pa.int32(), "classes": pa.int8()}
    if syntax:
        kinds |= {"parts": pa.int8(), "governors": pa.int32()}
    for side in SIDES:
        for name, kind in kinds.items():
            values = [getattr(getattr(text, side), name) for text in ordered]
            columns[f"{side}_{name}"] = pa.array(values, pa.list_(kind))
    return pa.table(columns)


def require_free(out: Path) -> None:
    """Raises ConfigError if something is there, or the folder around it is missing."""
    if out.exists():
        raise ConfigError("{out} exists. Choose another folder for the atlas, or delete this one.", out=out)
    if not out.parent.is_dir():
        raise ConfigError("There is no folder {folder} for the atlas. Create it.", folder=out.parent)
