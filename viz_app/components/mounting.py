"""How one of our components comes onto a page of Streamlit, and how its arrays travel to the browser.

Streamlit sends the JavaScript of a component with every change of its data. So one component, which never changes,
holds the JavaScript and the styles of all (`bundle.library`), and a browser gets it once. The JavaScript of each other
component is a short text, which waits for this library and takes its own function from it.
"""

import base64
import math
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, cast

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from model.files import finite
from viz_app.components.bundle import library, library_name, words_of
from viz_app.content.shared import MAX_TILE
from viz_app.figures.style import Axes, FloatArray, weight_scale

__all__ = [
    *("LIBRARY", "MASKED", "Data", "OpenHead", "component", "labels_of", "levels", "library_component", "masked_out"),
    *("opening", "packed", "pooled", "tiles"),
]

LIBRARY = "page_keys"
ROOT = '<div class="root"></div>'
# Not `Promise.withResolvers`: browsers have it only since 2024, and a student's phone may be older.
WAIT = """const waiting = (globalThis["{library}"] ??= {{}});
waiting.promise ??= new Promise((resolve) => {{ waiting.resolve = resolve; }});
export default (await waiting.promise).{name};
"""


def component(
    name: str, module: str, *, data: Mapping[str, object], key: str | None = None, **reports: Callable[[Any], object]
) -> None:
    """Mount the component of this name in `live/streamlit/app.js`. Its words travel with its data.

    Args:
        name: Of the component.
        module: The module with its words, such as "ui/stepper".
        data: What it draws.
        key: Of the component on the page; one that reports has a key.
        reports: Event → called with its value when the component reports it.
    """

    def callback(event: str) -> Callable[[], object]:
        return lambda: reports[event](st.session_state[str(key)][event])

    sent = cast(dict[str, object], finite({**data, "words": words_of(module)}))
    # Streamlit examines each list for a table, but no tuple.
    sent = {part: tuple(value) if isinstance(value, list) else value for part, value in sent.items()}
    registered(name)(
        key=key,
        data=sent,
        **{f"on_{event}_change": callback(event) for event in reports},
    )


@cache
def registered(name: str) -> Callable[..., object]:
    return st.components.v2.component(f"headlight_{name}", html=ROOT, js=WAIT.format(library=library_name(), name=name))


@cache
def library_component() -> Callable[..., object]:
    """The component that holds all others, and itself reacts to the keys of a page."""
    return st.components.v2.component(f"headlight_{LIBRARY}", html=ROOT, js=library())


MASKED = np.float32("-inf")  # how a masked cell travels; NaN is not a number
MASKED_LEVEL, BROKEN_LEVEL = 255, 254  # the levels of a masked cell, and of one that is not a number
Data = Mapping[str, object]
OpenHead = Callable[[int, int], None]  # called with the layer and the head that were chosen, counted from 0


def opening(on_open: OpenHead) -> Callable[[Mapping[str, Any]], None]:
    """What to do with the head that a component reports."""
    return lambda head: on_open(int(head["layer"]), int(head["head"]))


def packed(array: FloatArray) -> str:
    """Little-endian float32 as base64, row by row."""
    return base64.b64encode(np.ascontiguousarray(array, dtype="<f4").tobytes()).decode("ascii")


def levels(values: FloatArray, *, low: float, high: float, masked: NDArray[np.bool_]) -> str:
    """A byte for each number, as base64, row by row (`live/ui/numbers.js`).

    0 to 253 is a place on a colour scale, 254 is not a number, and 255 is masked.

    Args:
        values: Any shape; ignored where masked. NaN and infinity are not numbers.
        low: Lower end of the colour scale.
        high: Upper end of the colour scale.
        masked: The shape of `values`.
    """
    known = np.isfinite(values) & ~masked
    shares = np.clip((np.where(known, values, low) - low) / (high - low), 0, 1)
    special = np.where(masked, MASKED_LEVEL, BROKEN_LEVEL)
    found = np.where(known, (shares * (BROKEN_LEVEL - 1)).round(), special).astype(np.uint8)
    return base64.b64encode(np.ascontiguousarray(found).tobytes()).decode("ascii")


def pooled(maps: FloatArray, limit: int = MAX_TILE) -> FloatArray:
    """Shrink maps (L, H, T, S) to at most `limit` cells on a side. A new cell is the maximum of the cells it covers."""
    layers, heads, rows, columns = maps.shape
    row_step, column_step = math.ceil(rows / limit), math.ceil(columns / limit)
    if row_step == column_step == 1:
        return np.asarray(maps, dtype=np.float32)
    padding = [(0, 0), (0, 0), (0, -rows % row_step), (0, -columns % column_step)]
    padded = np.pad(maps, padding, constant_values=0.0)
    blocks = padded.reshape(layers, heads, -1, row_step, padded.shape[3] // column_step, column_step)
    return np.asarray(blocks.max(axis=(3, 5)), dtype=np.float32)


def tiles(
    maps: FloatArray,
    allowed: NDArray[np.bool_],
    *,
    limit: int = MAX_TILE,
    largest: float = 1.0,
    logarithmic: bool = False,
) -> Data:
    """All heads as small maps, as `live/ui/maps.js` paints them.

    Args:
        maps: (L, H, T, S).
        allowed: (L, T, S), False where masked.
        limit: The most cells on a side of a small map.
        largest: Upper end of the colour scale.
        logarithmic: The colour scale is logarithmic.
    """
    small = pooled(maps, limit)  # (L, H, t, s)
    masked = np.broadcast_to(pooled(allowed[:, None].astype(np.float32), limit) == 0, small.shape)
    scale = weight_scale(small, largest=largest, logarithmic=logarithmic)
    return {
        **dict(zip(("layers", "heads", "rows", "columns"), small.shape, strict=True)),
        "levels": levels(scale["z"], low=scale["zmin"], high=scale["zmax"], masked=masked),
        "broken": bool((~np.isfinite(small) & ~masked).any()),
    }


def masked_out(maps: FloatArray, allowed: NDArray[np.bool_]) -> FloatArray:
    """Maps (…, T, S) with −∞ where the mask (…, T, S) forbids, and NaN where they are not finite."""
    return np.where(allowed, np.where(np.isfinite(maps), maps, np.float32("nan")), MASKED)


def labels_of(axes: Axes) -> Data:
    """The labels of a map and their languages."""
    return {
        "queries": list(axes.queries),
        "keys": list(axes.keys),
        "query_title": axes.query_title,
        "key_title": axes.key_title,
        "languages": {"query": axes.query_lang, "key": axes.key_lang},
    }
