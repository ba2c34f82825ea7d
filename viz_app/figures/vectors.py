"""Vectors as strips of colour: queries, keys, values, and what becomes of them."""

import numpy as np
from numpy.typing import NDArray

from viz_app.figures.colours import ACCENT, colour_bar, signed_scale
from viz_app.figures.picture import Picture, map_picture
from viz_app.figures.style import Axes, axis, figure, map_figure, unique_labels

__all__ = ["concatenation", "query_and_keys", "rows", "sum_of_rows"]

FloatArray = NDArray[np.float32]


def rows(values: FloatArray, axes: Axes, *, unit: str, height: int) -> Picture:
    """Draw vectors (N, K), a row each, red positive and blue negative; a row of NaN is a gap."""
    trace = {
        "type": "heatmap",
        **signed_scale(values, bound=float(np.nanmax(np.abs(values))) or 1.0),
        "x": list(axes.keys),
        "y": unique_labels(axes.queries),
        "colorbar": colour_bar(unit),
        "ygap": 1,
        "hoverongaps": False,
        "hovertemplate": f"%{{y}}<br>dimension %{{x}}<br>{unit}: %{{z:.5f}}<extra></extra>",
    }
    # Numbers, so that Plotly leaves out those that would stand in each other's way.
    drawn = map_figure([trace], axes, height=height, columns={"type": "linear", "tickangle": 0})
    return map_picture(drawn, values, axes, unit=unit, signed=True)


def query_and_keys(query: FloatArray, keys: FloatArray, axes: Axes, *, height: int) -> Picture:
    """Draw the query (K,) above the keys (S, K), with a gap between them, on one scale."""
    stacked = np.concatenate([query[None], np.full_like(query[None], np.nan), keys])
    named = Axes(
        queries=["query", " ", *axes.queries], keys=axes.keys, query_title="query, and keys", key_title=axes.key_title
    )
    return rows(stacked, named, unit="value", height=height)


def sum_of_rows(parts: FloatArray, total: FloatArray, axes: Axes, *, height: int) -> Picture:
    """Draw vectors (S, K) above their sum (K,), with a gap between them, on one scale."""
    stacked = np.concatenate([parts, np.full_like(total[None], np.nan), total[None]])
    named = Axes(queries=[*axes.queries, " ", "sum"], keys=axes.keys, query_title="α · value", key_title=axes.key_title)
    return rows(stacked, named, unit="α · value", height=height)


def concatenation(
    heads_side_by_side: FloatArray, output: FloatArray, *, heads: int, chosen: int, height: int
) -> Picture:
    """Draw the outputs of all heads as one vector (H·K,), and the layer's output (D,) under it; one head is framed."""
    stacked = np.full((3, max(len(heads_side_by_side), len(output))), np.nan, dtype=np.float32)
    stacked[0, : len(heads_side_by_side)] = heads_side_by_side
    stacked[2, : len(output)] = output
    width = len(heads_side_by_side) // heads
    axes = Axes(
        queries=["heads", " ", "output"],
        keys=[str(i) for i in range(stacked.shape[1])],
        query_title="vector",
        key_title="dimension",
    )
    trace = {
        "type": "heatmap",
        **signed_scale(stacked, bound=float(np.nanmax(np.abs(stacked))) or 1.0),
        "y": list(axes.queries),
        "colorbar": colour_bar("value"),
        "hoverongaps": False,
        "hovertemplate": "%{y}<br>dimension %{x}<br>value: %{z:.5f}<extra></extra>",
    }
    frame = {
        **{"type": "rect", "x0": chosen * width - 0.5, "x1": (chosen + 1) * width - 0.5, "y0": -0.5, "y1": 0.5},
        "line": {"color": ACCENT, "width": 3},
    }
    drawn = figure(
        [trace],
        axis(
            "dimension",
            tickvals=[head * width for head in range(heads)],
            ticktext=[f"{head * width}<br>head {head + 1}" for head in range(heads)],
        ),
        axis("", type="category", autorange="reversed"),
        height=height,
        shapes=[frame],
    )
    return map_picture(drawn, stacked, axes, unit="value", signed=True)
