"""A figure with larger text, for presenter mode."""

from collections.abc import Mapping
from typing import Any

import plotly.graph_objects as go

from viz_app.figures.labels import LETTERS, LINE, broken
from viz_app.figures.style import MAX_LABELS

__all__ = ["enlarged"]

LONG_TITLE = 160  # pixels before the enlargement; a longer vertical title is broken into two lines


def enlarged(figure: go.Figure, scale: float) -> go.Figure:
    """Copy a figure with its text and margins times `scale`, and with enough height for its row labels."""
    larger = scaled(figure.to_plotly_json(), scale)
    layout = larger["layout"]
    layout["font"] = {"size": LETTERS * scale}
    for name, side in layout.items():
        if name.startswith("yaxis") and (title := side.get("title", {}).get("text", "")):
            side["title"]["text"] = broken(title, LONG_TITLE)
            layout["margin"]["l"] += LINE * scale * (side["title"]["text"] != title)
    rows = max((len(trace["y"]) for trace in larger["data"] if trace["type"] == "heatmap" and "y" in trace), default=0)
    needed = LINE * scale * min(rows, MAX_LABELS) + layout["margin"]["t"] + layout["margin"]["b"]
    layout["height"] = max(layout["height"], round(needed))
    return go.Figure(larger, _validate=False)


def scaled(part: Any, scale: float, *, sizes: bool = False) -> Any:
    """Multiply font sizes and margins by `scale` in a part of Plotly's JSON.

    Args:
        part: The part; lists of plain values, such as labels and numbers, are returned unchanged.
        scale: The factor.
        sizes: Every number in this part is a size.
    """
    if isinstance(part, Mapping):
        return {
            name: value * scale
            if (sizes and isinstance(value, int | float)) or name in ("standoff", "minsize")
            else scaled(value, scale, sizes=name == "margin" or name.endswith("font"))
            for name, value in part.items()
        }
    if isinstance(part, list) and part and isinstance(part[0], dict):
        return [scaled(item, scale) for item in part]
    return part
