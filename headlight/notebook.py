"""Checkpoints and translations for a notebook: they translate, show themselves, and become tables and figures.

    from headlight import open_checkpoint
    t = open_checkpoint("everyday-en-de").translate("Where is the station?")
    t                                   # in Jupyter: the maps, to be clicked
    t.frame()                           # every weight as a row
    t.plot("cross", layer=2, head=0)    # one map

The pictures are those of the app; what draws them is imported once one is asked for.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import date
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from model.checkpoints.checkpoint import Checkpoint, ClassifierCheckpoint
from model.cli.resolve import folder_at
from model.config.kinds import KINDS
from model.config.search import SearchConfig
from model.inference.export import maps_frame
from model.inference.opening import open_checkpoint as open_folder
from model.inference.searching import GREEDY
from model.inference.translate import translate
from model.inference.translation import Translation
from model.trace import Edit

if TYPE_CHECKING:
    import plotly.graph_objects as go

__all__ = ["OpenCheckpoint", "ShownTranslation", "open_checkpoint"]

HEIGHT = 620  # pixels of a translation in a notebook; it scrolls


@dataclass(frozen=True, kw_only=True)
class ShownTranslation(Translation):
    """A translation that shows itself in a notebook."""

    typed: str
    name: str  # of the checkpoint
    note: str = ""  # what was not its own choice

    def __repr__(self) -> str:
        return f"<{self.typed!r} → {self.text!r}, {self.name}>"

    def frame(self) -> pd.DataFrame:
        """One row a weight; positions, layers and heads counted from 1."""
        return maps_frame(self)

    def plot(self, kind: str = "cross", layer: int = -1, head: int = 0) -> "go.Figure":
        """One map as a Plotly figure.

        Args:
            kind: One of `KINDS` that the model has.
            layer: Counted from 0; from the last one with negative numbers.
            head: The same.

        Raises:
            KeyError: the model has no such attention.
            IndexError: it has no such layer or head.
        """
        from viz_app.components.attention_view import view
        from viz_app.figures.attention import head_map

        if kind not in self.maps:
            raise KeyError(f"There is no attention {kind!r} here; there is {', '.join(self.maps)}.")
        shown = view(self, kind, merge=False, hide_special=False)
        layers, heads = shown.maps.shape[:2]
        title = f"{KINDS[kind].title}, layer {layer % layers + 1}, head {head % heads + 1}"
        picture = head_map(shown.maps[layer, head], shown.axes, shown.allowed[layer], height=400)
        return picture.figure.update_layout(title={"text": title}, margin={"t": 48})

    def html(self) -> str:
        """All of it as one HTML page, see `viz_app/export/report.py`.

        Raises:
            TooLongError: the text has too many tokens.
        """
        from viz_app.export.report import report

        return report(self, text=self.typed, name=self.name, made=date.today(), note=self.note)

    def _repr_html_(self) -> str:
        try:
            page = self.html()
        except ValueError as error:
            return f"<p>{escape(self.text)}</p><p>{escape(str(error))}</p>"
        # In a frame of its own, so that neither page changes the other.
        return f'<iframe srcdoc="{escape(page, quote=True)}" width="100%" height="{HEIGHT}" frameborder="0"></iframe>'


@dataclass(frozen=True, kw_only=True)
class OpenCheckpoint(Checkpoint):
    """A checkpoint that translates."""

    def translate(
        self,
        text: str,
        *,
        search: SearchConfig = GREEDY,
        forced: Mapping[int, int] | None = None,
        edits: Mapping[str, Edit] | None = None,
    ) -> ShownTranslation:
        """See `headlight.translate`."""
        found = translate(self, text, search=search, forced=forced or {}, edits=edits)
        own = {field.name: getattr(found, field.name) for field in fields(found)}
        changed = ["words of it were forced"] * bool(forced) + ["parts of the model were changed"] * bool(edits)
        note = f"Not the model's own: {' and '.join(changed)}." if changed else ""
        return ShownTranslation(**own, typed=text, name=self.name, note=note)


def open_checkpoint(name: str | Path, *, device: str = "cpu") -> OpenCheckpoint | ClassifierCheckpoint:
    """Load a checkpoint of any make.

    Args:
        name: Of a bundled one, or a folder.
        device: Where the model is to be.

    Raises:
        CheckpointError: there is none, or a file of it is missing, damaged, or does not fit the others.
    """
    opened = open_folder(folder_at(str(name)), device=device)
    if isinstance(opened, ClassifierCheckpoint):
        return opened
    return OpenCheckpoint(**{field.name: getattr(opened, field.name) for field in fields(opened)})
