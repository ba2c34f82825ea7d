"""Vectors as rows of coloured cells: queries, keys, values, and their sums."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from viz_app.content.translation import t
from viz_app.figures.colours import ACCENT
from viz_app.figures.labels import LINE, unique_labels
from viz_app.figures.picture import Picture, map_picture, numbered_axes
from viz_app.figures.scales import bound_of, colour_bar, marked, signed_scale
from viz_app.figures.style import TEXT, Axes, axis, figure, hover, map_figure

__all__ = ["concatenation", "query_and_keys", "rows", "sum_of_rows"]

FloatArray = NDArray[np.float32]


def rows(values: FloatArray, axes: Axes, *, unit: str, height: int) -> Picture:
    """Draw vectors (N, K) as rows: red above 0, blue below. A row of NaN is a gap; infinity is not a number."""
    trace = {
        "type": "heatmap",
        **signed_scale(values, bound=bound_of(values)),
        "x": list(axes.keys),
        "y": unique_labels(axes.queries),
        "colorbar": colour_bar(unit),
        "ygap": 1,
        "hoverongaps": False,
        "hovertemplate": hover("%{y}", *vector_lines(unit)),
    }
    # On a linear axis Plotly leaves out labels that would overlap.
    drawn = map_figure([trace], axes, height=height, columns={"type": "linear", "tickangle": 0})
    return map_picture(drawn, values, axes, unit=unit, signed=True)


def query_and_keys(query: FloatArray, keys: FloatArray, axes: Axes, *, height: int) -> Picture:
    """Draw the query (K,) above the keys (S, K), with a gap between them and one colour scale."""
    stacked = np.concatenate([marked(query)[None], np.full_like(query[None], np.nan), marked(keys)])
    named = Axes(
        queries=[t("query"), " ", *axes.queries],
        keys=axes.keys,
        query_title=t("query and keys"),
        key_title=axes.key_title,
    )
    return rows(stacked, named, unit=t("value"), height=height)


def sum_of_rows(parts: FloatArray, total: FloatArray, axes: Axes, *, height: int) -> Picture:
    """Draw vectors (S, K) above their sum (K,), with a gap between them and one colour scale."""
    stacked = np.concatenate([marked(parts), np.full_like(total[None], np.nan), marked(total)[None]])
    unit, queries = t("α · value"), [*axes.queries, " ", t("sum")]
    named = Axes(queries=queries, keys=axes.keys, query_title=unit, key_title=axes.key_title)
    return rows(stacked, named, unit=unit, height=height)


def concatenation(
    head_outputs: FloatArray, layer_output: FloatArray, *, heads: int, chosen: int, height: int
) -> Picture:
    """Draw the concatenated head outputs above the output of the layer.

    Args:
        head_outputs: (H · K,), one head after the other.
        layer_output: (D,).
        heads: H.
        chosen: The framed head, counted from 0.
        height: Pixels.
    """
    stacked = np.full((3, max(len(head_outputs), len(layer_output))), np.nan, dtype=np.float32)
    stacked[0, : len(head_outputs)] = marked(head_outputs)
    stacked[2, : len(layer_output)] = marked(layer_output)
    width = len(head_outputs) // heads
    labels, unit, dimension = [t("heads"), " ", t("output")], t("value"), t("dimension")
    trace = {
        "type": "heatmap",
        **signed_scale(stacked, bound=bound_of(stacked)),
        "y": labels,
        "colorbar": colour_bar(unit),
        "hoverongaps": False,
        "hovertemplate": hover("%{y}", *vector_lines(unit)),
    }
    frame = {
        "type": "rect",
        "x0": chosen * width - 0.5,
        "x1": (chosen + 1) * width - 0.5,
        "y0": -0.5,
        "y1": 0.5,
        "line": {"color": ACCENT, "width": 3},
    }
    name = {
        "text": t("head {head}", head=chosen + 1),
        "font": TEXT,
        "showarrow": False,
        "x": (chosen + 0.5) * width - 0.5,
        "y": -0.5,
        "yanchor": "bottom",
    }
    drawn = figure(
        [trace],
        axis(dimension, tickvals=[head * width for head in range(heads)]),
        axis("", type="category", autorange="reversed"),
        height=height,
        margin={"t": 2 * LINE},
        shapes=[frame],
        annotations=[name],
    )
    axes = replace(numbered_axes(stacked, t("vector"), dimension), queries=labels)
    return map_picture(drawn, stacked, axes, unit=unit, signed=True)


def vector_lines(unit: str) -> list[str]:
    """The lines beside the pointer: the dimension, and its number."""
    return [t("dimension {dimension}", dimension="%{x}"), t("{name}: {value}", name=unit, value="%{z:.5f}")]
