"""The atlases of checkpoints, opened once for all visitors."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from model.atlas.atlas import Atlas, open_atlas
from model.atlas.store import ATLAS_FOLDER, FACTS_FILE
from model.atlas.texts import sides_of
from model.atlas.token_classes import CLASSES, classes_of
from model.config.kinds import KINDS
from model.inference.run import Result
from model.interventions import Head
from viz_app.server.atlas_jobs import latest_atlas
from viz_app.server.presence import visitor
from viz_app.server.server_state import remembered
from viz_app.services.listing import CheckpointKey, Listed
from viz_app.services.models import loaded

__all__ = [
    "AtlasKey",
    "atlas_of",
    "like_cell",
    "numbers_of",
    "opened",
    "opened_alone",
    "places_of",
    "shown_atlas",
    "with_atlas",
]


@dataclass(frozen=True)
class AtlasKey:
    """Names one state of one atlas."""

    checkpoint: CheckpointKey
    folder: str
    changed: int  # when `atlas.json` was written, in nanoseconds


def atlas_of(key: CheckpointKey) -> AtlasKey | None:
    """The atlas that comes with a checkpoint; None without one."""
    return atlas_in(Path(key.path) / ATLAS_FOLDER, key)


def atlas_in(folder: Path, key: CheckpointKey) -> AtlasKey | None:
    """The atlas of a checkpoint in a folder; None where there is none."""
    try:
        changed = (folder / FACTS_FILE).stat().st_mtime_ns
    except OSError:
        return None
    return AtlasKey(key.model, str(folder), changed)


def shown_atlas(key: CheckpointKey) -> AtlasKey | None:
    """The atlas that this visitor sees: the own one, or the one that comes with the checkpoint."""
    own = latest_atlas(visitor(), Path(key.path), key.version)
    return atlas_in(own.folder, key) if own else atlas_of(key)


def like_cell(result: Result, kind: str, query: int, key: int) -> str:
    """What a cell of a map is like, as the choice `atlas_like` names it: two classes, and perhaps the distance."""
    queries, keys = result.tokens_of(kind)
    row, column = (
        CLASSES[classes_of([token.text for token in tokens], [token.word for token in tokens])[at]]
        for tokens, at in ((queries, query), (keys, key))
    )
    return f"{row}>{column}@{key - query}" if KINDS[kind].aligned else f"{row}>{column}"


def with_atlas(listed: Sequence[Listed], without: CheckpointKey, kind: str) -> dict[str, AtlasKey]:
    """The atlases that come with other checkpoints that have this kind of attention."""
    return {
        one.key.name: atlas
        for one in listed
        if one.config is not None and one.key.path != without.path and kind in one.config.model.kinds
        if (atlas := atlas_of(one.key))
    }


@remembered("Opening the atlas …")
def opened(key: AtlasKey) -> Atlas:
    """The open atlas.

    Raises:
        ConfigError: it is damaged, of another version, or of other weights.
    """
    return open_atlas(Path(key.folder), loaded(key.checkpoint))


@remembered()
def opened_alone(key: AtlasKey) -> Atlas:
    """The open atlas of another checkpoint, whose model is not needed to compare heads.

    Raises:
        ConfigError: it is damaged, or of another version.
    """
    return open_atlas(Path(key.folder))


@remembered()
def numbers_of(key: AtlasKey) -> pd.DataFrame:
    """The table of all heads, with layers and heads counted from 1."""
    table: pd.DataFrame = opened(key).table().to_pandas()
    return table.assign(layer=table["layer"] + 1, head=table["head"] + 1)


def places_of(key: AtlasKey, head: Head) -> pd.DataFrame:
    """The kept rows of a head: one line for each of their keys."""
    atlas = opened(key)
    places = atlas.places(head)
    texts = atlas.texts([place.line for place in places])
    rows = []
    for place in places:
        queries, keys = sides_of(texts[place.line], head.kind)
        rows += [
            {
                "group": place.group,
                "line": place.line,
                "row": place.row + 1,
                "query": queries.tokens[place.row],
                "key": key_at + 1,
                "key_token": keys.tokens[key_at],
                "weight": weight,
                "forced": place.forced,
                "special": place.special,
            }
            for key_at, weight in zip(place.keys, place.weights, strict=True)
        ]
    return pd.DataFrame(rows)
