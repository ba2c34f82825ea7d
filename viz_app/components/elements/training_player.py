"""The snapshots of a training run, one after the other."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from model.config.kinds import KINDS
from viz_app.components.mounting import OpenHead, component, labels_of, masked_out, opening, packed, tiles
from viz_app.content.translation import t
from viz_app.figures.overview import SMALL_TILE
from viz_app.figures.style import Axes

__all__ = ["Snapshot", "training_player"]


@dataclass(frozen=True, kw_only=True)
class Snapshot:
    """One sentence at one time of a training run."""

    name: str
    text: str  # what the model writes
    loss: str
    maps: NDArray[np.float32]  # (L, H, T, S)


def training_player(
    snapshots: Sequence[Snapshot],
    *,
    axes: Axes,
    allowed: NDArray[np.bool_],
    kind: str,
    written: str,
    chosen: tuple[int, int],
    shown: int,
    key: str,
    on_open: OpenHead,
    on_snapshot: Callable[[int], None],
) -> None:
    """Go through the snapshots of a training run: a play button and a slider, all heads small and one large.

    The browser plays by itself. The page runs again when the visitor stays at a snapshot or chooses another head.

    Args:
        snapshots: From the first to the last.
        axes: Of the large map.
        allowed: (L, T, S), False where the mask forbids.
        kind: One of `KINDS`.
        written: The language that the model writes.
        chosen: Layer and head of the large map, counted from 0.
        shown: The snapshot that is shown at first, counted from 0.
        key: Of the component.
        on_open: Called with the layer and the head that were chosen.
        on_snapshot: Called with the number of the snapshot at which the visitor stays, counted from 0.
    """
    (layer, head), (layers, heads) = chosen, snapshots[-1].maps.shape[:2]
    large = [masked_out(one.maps[layer, head], allowed[layer]) for one in snapshots]
    data = {
        **labels_of(axes),
        "layers": layers,
        "heads": heads,
        "chosen": layer * heads + head,
        "alt": t(KINDS[kind].full_name),
        "languages": {"query": axes.query_lang, "key": axes.key_lang, "written": written},
        "weights": packed(np.stack(large)),
        "snapshot": shown,
        "snapshots": [
            {"name": one.name, "text": one.text, "loss": one.loss, "tiles": tiles(one.maps, allowed, limit=SMALL_TILE)}
            for one in snapshots
        ],
    }
    component(
        "training_player",
        "ui/training_player",
        key=key,
        open=opening(on_open),
        snapshot=lambda number: on_snapshot(int(number)),
        data=data,
    )
