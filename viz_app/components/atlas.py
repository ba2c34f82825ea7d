"""The atlas of a checkpoint as our components read it: one table of all heads, and the rows of one head.

A published page has the same data in files, so both show the same (`live/ui/atlas.js`, `live/ui/atlas_head.js`).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict

import numpy as np

from model.atlas.atlas import Atlas
from model.atlas.store import ENDS
from model.atlas.texts import Side, TextTokens, sides_of
from model.config.kinds import KINDS
from model.interventions import Head
from viz_app.components.mounting import Data, packed

__all__ = ["TextOf", "head_data", "table_data"]

SIMILAR = 8  # heads that are named as similar
TextOf = Callable[[Sequence[int]], str]


def table_data(atlas: Atlas) -> Data:
    """All heads with all numbers: `values` are float32 (heads, numbers, 3), the mean and the ends of its interval."""
    numbers = atlas.settings.numbers
    found = atlas.numbers(*(name + end for name in numbers for end in ENDS))
    return {
        "checkpoint": atlas.settings.checkpoint,
        "texts": atlas.settings.texts,
        "kinds": [
            {"kind": kind, "layers": layers, "heads": heads} for kind, (layers, heads) in atlas.settings.kinds.items()
        ],
        "numbers": list(numbers),
        "classes": list(atlas.settings.classes),
        "distances": list(atlas.facts["distances"]),
        "values": packed(np.stack(list(found.values()), axis=1)),
    }


def head_data(atlas: Atlas, head: Head, *, text_of: TextOf, others: Mapping[str, Atlas]) -> Data:
    """One head: its rows with their texts, its profile, its classes, and the heads that are like it.

    Args:
        atlas: Of the head.
        head: One of its heads.
        text_of: Ids → the text, which a visitor can open on another page.
        others: Name → the atlas of another checkpoint.
    """
    places = atlas.places(head)
    texts = atlas.texts([place.line for place in places])
    written = atlas.array("writes", head.kind).shape[-1] > 0
    return {
        "kind": head.kind,
        "layer": head.layer,
        "head": head.head,
        "places": [asdict(one) | {"weights": [round(weight, 4) for weight in one.weights]} for one in places],
        "texts": {str(line): text_data(text, head.kind, text_of) for line, text in texts.items()},
        "pairs": packed(atlas.array("pairs", head.kind)[head.layer, head.head]),  # (C, C, 3)
        "profile": packed(atlas.array("profile", head.kind)[head.layer, head.head]),  # (O, C)
        "like": [
            {"by": by, "checkpoint": name, "heads": similar(atlas, head, other, by)}
            for by, name, other in (
                ("profile", "", None),
                *([("writes", "", None)] if written else []),
                *(("profile", name, other) for name, other in others.items() if head.kind in other.settings.kinds),
            )
        ],
    }


def text_data(text: TextTokens, kind: str, text_of: TextOf) -> Data:
    """The tokens of the rows and of the keys, None where both are the same; and the text that the model reads."""
    rows, keys = sides_of(text, kind)
    read = text.source if len(text.source) else text.read
    own = [token for token, word in zip(read.ids, read.words, strict=True) if word >= 0]
    return {
        "rows": side_data(rows) if not KINDS[kind].aligned else None,
        "keys": side_data(keys),
        "text": text_of(own),
    }


def side_data(side: Side) -> Data:
    return {"tokens": list(side.tokens), "words": list(side.words), "classes": list(side.classes)}


def similar(atlas: Atlas, head: Head, other: Atlas | None, by: str) -> list[Data]:
    found = atlas.most_similar(head, other, by=by)[:SIMILAR]
    return [{"layer": one.layer, "head": one.head, "value": round(value, 4)} for one, value in found]
