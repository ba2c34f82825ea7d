"""Checkpoints and translations for a notebook: they display themselves and become tables and figures.

    from headlight import open_checkpoint
    t = open_checkpoint("everyday-en-de").translate("Where is the station?")
    t                                   # in Jupyter: interactive maps
    t.frame()                           # every weight as a row
    t.plot("cross", layer=2, head=0)    # one map

The figures are those of the app. Plotly is imported only when the first figure is needed.
"""

import warnings
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, fields
from datetime import date
from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from model.checkpoints.checkpoint import Checkpoint, ClassifierCheckpoint
from model.cli.resolve import folder_at
from model.config.foreign import ForeignConfig
from model.config.kinds import KINDS, Sizes
from model.config.search import GREEDY, SearchConfig
from model.inference.export import maps_frame
from model.inference.findings import finding_in_run
from model.inference.opening import open_checkpoint as open_folder
from model.inference.run import Result
from model.inference.translate import translate
from model.text.cleaning import cleaning_note
from model.trace import Edit

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from headlight.widget import TranslationWidget

__all__ = ["OpenCheckpoint", "ShownTranslation", "open_checkpoint"]

HEIGHT = 620  # pixels of a translation in a notebook; longer ones scroll
NOTES = {  # (words were forced, the model was edited) → a sentence for the page
    (False, False): "",
    (True, False): "This is not the model's own translation: words were forced.",
    (False, True): "This is not the model's own translation: parts of the model were changed.",
    (True, True): "This is not the model's own translation: words were forced and parts of the model were changed.",
}


@dataclass(frozen=True, kw_only=True)
class ShownTranslation(Result):
    """A translation that displays itself in a notebook."""

    typed: str
    second: str = ""  # the second text of a pair
    name: str  # of the checkpoint
    note: str = ""  # how the text or the translation was changed
    sizes: Sizes | None = None  # of the model

    def __repr__(self) -> str:
        return f"<{self.typed!r} → {self.text!r}, {self.name}>"

    def frame(self) -> pd.DataFrame:
        """One row per weight. Positions, layers and heads count from 1."""
        return maps_frame(self)

    def plot(self, kind: str = "cross", layer: int = -1, head: int = 0) -> "go.Figure":
        """One map as a Plotly figure.

        Args:
            kind: A kind of attention of the model, see `KINDS`.
            layer: Counted from 0; negative numbers count from the last layer.
            head: Counted from 0; negative numbers count from the last head.

        Raises:
            KeyError: the model does not have this kind of attention.
            IndexError: the model does not have this layer or head.
        """
        from viz_app.figures.heat_maps import head_map
        from viz_app.services.attention_view import view

        if kind not in self.maps:
            raise KeyError(f"This model has no attention {kind!r}. It has {', '.join(self.maps)}.")
        shown = view(self, kind, merge=False, hide_special=False)
        layers, heads = shown.maps.shape[:2]
        title = f"{KINDS[kind].title}, layer {layer % layers + 1}, head {head % heads + 1}"
        picture = head_map(shown.maps[layer, head], shown.axes, shown.allowed[layer], height=400)
        return picture.figure.update_layout(title={"text": title}, margin={"t": 48})

    def html(self) -> str:
        """The page of all maps and steps as one HTML file, see `viz_app/export/report.py`.

        Raises:
            TooLongError: the text has too many tokens.
        """
        from viz_app.export.report import report

        return report(
            self,
            text=self.typed,
            second=self.second,
            name=self.name,
            made=date.today(),
            note=self.note,
            sizes=self.sizes,
        )

    @cached_property
    def widget(self) -> "TranslationWidget":
        """The page as a widget: `widget.chosen` is the head that is chosen on it.

        Raises:
            ImportError: the package `anywidget` is missing. Install headlight-attention[notebook].
            TooLongError: the text has too many tokens.
        """
        from headlight.widget import TranslationWidget

        kind = next(iter(self.maps), "")  # a model without attention has no head to choose
        chosen = {"kind": kind, "layer": len(self.maps[kind]) - 1, "head": 0} if kind else {}
        return TranslationWidget(page=self.html(), height=HEIGHT, chosen=chosen)

    def _repr_mimebundle_(self, **_: object) -> dict[str, object]:
        """The widget where widgets run, else the same page as HTML."""
        bundle: dict[str, object] = {"text/plain": repr(self), "text/html": self._repr_html_()}
        with suppress(ImportError, ValueError):  # without the package, or for a text that is too long
            bundle |= (self.widget._repr_mimebundle_() or ({}, {}))[0]
        return bundle

    def _repr_html_(self) -> str:
        try:
            page = self.html()
        except ValueError as error:
            return f"<p>{escape(self.text)}</p><p>{escape(str(error))}</p>"
        # In a frame, so that neither page changes the other.
        return f'<iframe srcdoc="{escape(page, quote=True)}" width="100%" height="{HEIGHT}" frameborder="0"></iframe>'


@dataclass(frozen=True, kw_only=True)
class OpenCheckpoint(Checkpoint):
    """A checkpoint that translates."""

    def translate(
        self,
        text: str,
        *,
        second: str = "",
        search: SearchConfig = GREEDY,
        forced: Mapping[int, int] | None = None,
        edits: Mapping[str, Edit] | None = None,
    ) -> ShownTranslation:
        """See `headlight.translate`."""
        translation = translate(self, text, second=second, search=search, forced=forced or {}, edits=edits)
        values = {field.name: getattr(translation, field.name) for field in fields(translation)}
        cleaned = "" if isinstance(self.config, ForeignConfig) else cleaning_note(text)
        unknown = ", ".join(map(repr, self.tokenizers.source.encode(text).left_out))
        left_out = unknown and f"The vocabulary of this model does not have {unknown}. This was left out."
        notes = NOTES[bool(forced), bool(edits)], cleaned, left_out, finding_in_run(translation)
        note = " ".join(filter(None, notes))
        second = second if second.strip() else ""
        return ShownTranslation(**values, typed=text, second=second, name=self.name, note=note, sizes=self.config.model)


def open_checkpoint(name: str | Path, *, device: str = "cpu") -> OpenCheckpoint | ClassifierCheckpoint:
    """Load any checkpoint that Headlight can open.

    Args:
        name: Name of a bundled checkpoint, or path of a folder.
        device: Where the model runs.

    Warns:
        RuntimeWarning: its weights, or what it computes, are not finite.

    Raises:
        CheckpointError: there is no such checkpoint, or a file is missing, damaged, or does not fit the others.
    """
    opened = open_folder(folder_at(str(name)), device=device)
    if opened.finding:
        warnings.warn(f"{opened.name}: {opened.finding}", RuntimeWarning, stacklevel=2)
    if isinstance(opened, ClassifierCheckpoint):
        return opened
    return OpenCheckpoint(**{field.name: getattr(opened, field.name) for field in fields(opened)})
