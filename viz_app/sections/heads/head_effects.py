"""What every head does for one translation, before any click: the colours of the board, its sentence and its table."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from model.analysis.silencing import Effects
from model.config.kinds import KINDS
from model.interventions import Head
from viz_app.figures.colours import LEVELS, ink, palette

__all__ = ["decisive_head", "effects_sentence", "effects_table", "faces"]

Face = Mapping[str, object]


def largest_change(effects: Effects) -> float:
    """Of all heads, up or down, in nats; the ends of the colours."""
    return max(float(np.abs(grid).max()) for grid in effects.changes.values())


def faces(effects: Effects) -> dict[str, list[list[Face]]]:
    """Kind → (L, H) of how the button of a head looks, and what it says besides its state."""
    bound = max(largest_change(effects), 1e-6)
    colours = ["#" + bytes(row[:3]).hex() for row in palette(signed=True)]

    def face(change: float, place: int) -> Face:
        colour = colours[round((change / bound + 1) / 2 * (LEVELS - 1))]
        says = f"without it {change:+.3f} nats" + (f", and another word at place {place + 1}" if place >= 0 else "")
        return {"colour": colour, "ink": ink(colour), "says": says, "decides": place >= 0}

    return {
        kind: [
            [face(float(change), int(place)) for change, place in zip(changes, places, strict=True)]
            for changes, places in zip(grid, effects.places[kind], strict=True)
        ]
        for kind, grid in effects.changes.items()
    }


def effects_sentence(effects: Effects, *, what: str) -> str:
    """What the colours of the board mean, and how many heads change the text by themselves.

    Args:
        effects: Of all heads.
        what: "translation" or "text".
    """
    places = np.concatenate([grid.ravel() for grid in effects.places.values()])
    alone = int((places >= 0).sum())
    changes = "changes" if alone == 1 else "change"
    return (
        f"**Blue: without this head the {what} is less likely. Red: more likely** (change in log-probability, up to "
        f"{largest_change(effects):.2f} nats). {alone or 'None'} of {len(places)} heads (≠) {changes} the {what} alone."
    )


def decisive_head(effects: Effects) -> Head | None:
    """Of the heads that change the text alone, the one that it needs most; None where no head does."""
    found = [
        (float(grid[layer, head]), Head(kind, layer, head))
        for kind, grid in effects.changes.items()
        for layer, head in np.argwhere(effects.places[kind] >= 0).tolist()
    ]
    return min(found)[1] if found else None


def effects_table(effects: Effects, written: Sequence[str]) -> pd.DataFrame:
    """One row a head, the one that the translation needs most first.

    Args:
        effects: Of all heads.
        written: The tokens of the translation.
    """
    rows = []
    for kind, grid in effects.changes.items():
        for layer, head in np.ndindex(*grid.shape):
            place = int(effects.places[kind][layer, head])
            rows.append(
                {
                    "attention": KINDS[kind].title,
                    "layer": layer + 1,
                    "head": head + 1,
                    "change (nats)": float(grid[layer, head]),
                    "writes another word instead of": written[place] if place >= 0 else "",
                }
            )
    return pd.DataFrame(rows).sort_values("change (nats)", ignore_index=True)
