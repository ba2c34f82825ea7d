"""The snapshots of a training run, one after the other."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from model.config.kinds import KINDS
from viz_app.components.elements.maps import OpenHead, opening
from viz_app.components.mounting import Data, component, labels_of, masked_out, packed
from viz_app.content.translation import t
from viz_app.figures.overview import heads_image
from viz_app.figures.style import Axes

__all__ = ["Snapshot", "TrainingFilm", "training_player"]


@dataclass(frozen=True, kw_only=True)
class Snapshot:
    """One sentence at one time of a training run."""

    name: str
    text: str  # what the model writes
    loss: str
    maps: NDArray[np.float32]  # (L, H, T, S)


@dataclass(frozen=True, kw_only=True)
class TrainingFilm:
    """Snapshots of one kind of attention: all heads small, and one head large."""

    snapshots: Sequence[Snapshot]  # from the first to the last
    axes: Axes  # of the large map
    allowed: NDArray[np.bool_]  # (L, T, S): False where the mask forbids
    kind: str  # one of `KINDS`
    written: str  # the language that the model writes
    chosen: tuple[int, int]  # layer and head of the large map, counted from 0
    shown: int  # the snapshot that is shown at first, counted from 0

    def data(self) -> Data:
        """The data of `live/ui/training_player.js`."""
        (layer, head), maps = self.chosen, self.snapshots[-1].maps
        large = [masked_out(one.maps[layer, head], self.allowed[layer]) for one in self.snapshots]
        return {
            **labels_of(self.axes),
            "layers": maps.shape[0],
            "heads": maps.shape[1],
            "chosen": layer * maps.shape[1] + head,
            "alt": t(KINDS[self.kind].full_name),
            "languages": {"query": self.axes.query_lang, "key": self.axes.key_lang, "written": self.written},
            "weights": packed(np.stack(large)),
            "snapshot": self.shown,
            "snapshots": [
                {
                    "name": one.name,
                    "text": one.text,
                    "loss": one.loss,
                    "picture": heads_image(one.maps, self.allowed),
                }
                for one in self.snapshots
            ],
        }


def training_player(film: TrainingFilm, *, key: str, on_open: OpenHead, on_snapshot: Callable[[int], None]) -> None:
    """Go through the snapshots of a training run: a play button and a slider, all heads small and one large.

    The browser plays by itself. The page runs again when the visitor stays at a snapshot or chooses another head.

    Args:
        film: The snapshots.
        key: Of the component.
        on_open: Called with the layer and the head that were chosen.
        on_snapshot: Called with the number of the snapshot at which the visitor stays, counted from 0.
    """
    component(
        "training_player",
        "ui/training_player",
        key=key,
        open=opening(on_open),
        snapshot=lambda number: on_snapshot(int(number)),
        data=film.data(),
    )
