"""The snapshots of a training run, one after the other."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from viz_app.components.data.encoding import Data, masked_out, packed
from viz_app.components.data.maps import heads_data
from viz_app.figures.overview import heads_image
from viz_app.figures.style import Axes

__all__ = ["Snapshot", "TrainingFilm"]


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
        """The data of `training_player.js`."""
        (layer, head), maps = self.chosen, self.snapshots[-1].maps
        common = heads_data(maps, self.axes, kind=self.kind, chosen=layer * maps.shape[1] + head)
        large = [masked_out(one.maps[layer, head], self.allowed[layer]) for one in self.snapshots]
        return {
            **common,
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
