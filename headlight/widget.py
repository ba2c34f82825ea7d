"""A translation as a widget of a notebook, where the package `anywidget` is installed (the extra `notebook`)."""

import anywidget
import traitlets

from viz_app.components.bundle import asset

__all__ = ["TranslationWidget"]


class TranslationWidget(anywidget.AnyWidget):
    """The page of a translation. A head that is chosen on the page is the value `chosen` here.

    Args:
        page: The report as HTML.
        height: In pixels.
        chosen: "kind", "layer" and "head", both counted from 0; the head may be "mean" or "max".
    """

    _esm = asset("app/widget.js")
    page = traitlets.Unicode().tag(sync=True)
    height = traitlets.Int().tag(sync=True)
    chosen = traitlets.Dict().tag(sync=True)
