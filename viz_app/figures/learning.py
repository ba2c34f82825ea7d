"""Maps over the course of a training: one frame a snapshot, which the browser plays by itself."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from viz_app.figures.attention import map_traces, numbered, pooled, tile_frame, tile_squares, tiled
from viz_app.figures.colours import COVER, SEQUENTIAL, weight_scale
from viz_app.figures.style import LINE, Axes, Settings, axis, figure, shown, text_width

__all__ = ["over_training"]

FloatArray = NDArray[np.float32]
PACE = 1000  # milliseconds that a snapshot is shown
SMALL = 24  # cells a side of a small map: there are as many boards as snapshots
BOARD, MAP = (0.0, 0.40), (0.56, 1.0)  # shares of the width
AT_ONCE: Settings = {"mode": "immediate", "transition": {"duration": 0}, "frame": {"duration": 0, "redraw": True}}


def over_training(
    stages: Sequence[FloatArray],
    names: Sequence[str],
    axes: Axes,
    allowed: NDArray[np.bool_],
    *,
    chosen: tuple[int, int],
    height: int,
    ink: str = "#31333f",
) -> go.Figure:
    """Draw every head small and one large, with a slider and a play button over the snapshots; at first the last one.

    Args:
        stages: The maps (L, H, T, S) of each snapshot.
        names: Of the snapshots.
        axes: Labels of the large map.
        allowed: (T, S), False where the mask forbids.
        chosen: Layer and head of the large map, counted from 0.
        height: Pixels of the maps.
        ink: Colour of the words of the controls.
    """
    layer, head = chosen
    *_, rows, columns = pooled(stages[-1], SMALL).shape
    gaps = max(1, round(rows * 0.08)), max(1, round(columns * 0.08))
    layers, heads = stages[-1].shape[:2]

    def small(maps: FloatArray) -> FloatArray:
        return np.asarray(weight_scale(tiled(pooled(maps, SMALL), *gaps), largest=1.0, logarithmic=False)["z"])

    def large(maps: FloatArray) -> FloatArray:
        return np.where(allowed, maps[layer, head], np.float32("nan")).astype(np.float32)

    board: Settings = {
        "type": "heatmap",
        "z": small(stages[-1]),
        "zmin": 0.0,
        "zmax": 1.0,
        "colorscale": SEQUENTIAL,
        "showscale": False,
        "hoverinfo": "skip",
        "meta": COVER,
    }
    one = map_traces(stages[-1][layer, head], axes, allowed, unit="attention weight")
    centres_x = [i * (columns + gaps[1]) + (columns - 1) / 2 for i in range(heads)]
    centres_y = [i * (rows + gaps[0]) + (rows - 1) / 2 for i in range(layers)]
    squares = tile_squares(centres_x, centres_y, axes, height=height)
    frame = tile_frame(layer, head, head, size=(rows, columns), gaps=gaps)
    named: Settings = {"type": "category", "automargin": False}
    below = 56 + text_width([shown(key) for key in axes.keys])  # of the labels of the keys and their title
    return figure(
        [board, *({**trace, "xaxis": "x2", "yaxis": "y2"} for trace in one), squares],
        numbered("head", centres_x, domain=BOARD),
        numbered("layer", centres_y, autorange="reversed"),
        height=int(max(height, LINE * len(axes.queries)) + below + 110),
        margin={"l": 52, "r": 88, "b": below + 94},
        xaxis2=axis(axes.key_title, domain=MAP, anchor="y2", tickangle=-90, **named),
        yaxis2=axis(axes.query_title, anchor="x2", autorange="reversed", dtick=1, **named),
        shapes=[frame],
        hovermode="closest",
        sliders=[slider(names, below, ink)],
        updatemenus=[player(below, ink)],
        frames=[
            {"name": name, "traces": [0, 1], "data": [heatmap(small(maps)), heatmap(large(maps))]}
            for name, maps in zip(names, stages, strict=True)
        ],
    )


def heatmap(z: FloatArray) -> Settings:
    return {"type": "heatmap", "z": z}


def slider(names: Sequence[str], below: float, ink: str) -> Settings:
    return {
        "active": len(names) - 1,
        "steps": [{"label": name, "method": "animate", "args": [[name], AT_ONCE]} for name in names],
        "currentvalue": {"prefix": "shown: ", "font": {"color": ink, "size": 16}},
        "font": {"color": ink, "size": 14},
        "x": 0.24,
        "len": 0.76,
        "tickcolor": ink,
        "pad": {"t": below - 12},
    }


def player(below: float, ink: str) -> Settings:
    playing = {**AT_ONCE, "frame": {"duration": PACE, "redraw": True}}
    return {
        "type": "buttons",
        "direction": "left",
        "showactive": False,
        "x": 0.0,
        "y": 0.0,
        "xanchor": "left",
        "yanchor": "top",
        "pad": {"t": below + 12},
        "font": {"color": ink, "size": 14},
        "buttons": [
            {"label": "▶ Play", "method": "animate", "args": [None, playing]},
            {"label": "Go on", "method": "animate", "args": [None, {**playing, "fromcurrent": True}]},
            {"label": "❚❚", "method": "animate", "args": [[None], AT_ONCE]},
        ],
    }
