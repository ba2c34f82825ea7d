"""The effect of silencing each head alone: the colours of the ablation board, its sentence and its table."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from model.analysis.silencing import SilencingEffects
from model.config.kinds import KINDS
from model.interventions import Head
from viz_app.components.elements.switches import HeadFace
from viz_app.figures.colours import LEVELS, ink, palette

__all__ = ["MEASURES", "decisive_head", "effects_sentence", "effects_table", "faces"]


MEASURES = {
    "translation": "log-probability",
    "continuation": "log-probability",
    "reading": "log-probability of the guessed words",
    "classification": "log-odds of the class",
}


def largest_change(effects: SilencingEffects) -> float:
    """Over all heads, up or down, in nats; the ends of the colour scale."""
    return max(float(np.abs(grid).max()) for grid in effects.changes.values())


def faces(effects: SilencingEffects) -> dict[str, list[list[HeadFace]]]:
    """Kind → (L, H): the colours of a head's button, and the effect of silencing it in words."""
    bound = max(largest_change(effects), 1e-6)
    colours = ["#" + bytes(row[:3]).hex() for row in palette(signed=True)]

    def face(change: float, position: int) -> HeadFace:
        colour = colours[round((change / bound + 1) / 2 * (LEVELS - 1))]
        note = (
            f"{change:+.3f} nats when silenced; token {position + 1} changes"
            if position >= 0
            else f"{change:+.3f} nats when silenced"
        )
        return HeadFace(colour=colour, ink=ink(colour), note=note, decides=position >= 0)

    return {
        kind: [
            [face(float(change), int(position)) for change, position in zip(changes, positions, strict=True)]
            for changes, positions in zip(grid, effects.positions[kind], strict=True)
        ]
        for kind, grid in effects.changes.items()
    }


def effects_sentence(effects: SilencingEffects, task: str) -> str:
    """The meaning of the board's colours, and the number of heads that change the result when silenced alone."""
    what = "class" if task == "classification" else "text"
    measure = MEASURES[task].replace(" of the class", "")
    positions = np.concatenate([grid.ravel() for grid in effects.positions.values()])
    return (
        f"**Blue: without this head, the {what} of the model is less likely. Red: it is more likely.** The "
        f"{measure} changes by up to {largest_change(effects):.2f} nats. The sign ≠ marks heads that "
        f"change the {what} when they alone are silenced: {int((positions >= 0).sum())} of {len(positions)}."
    )


def decisive_head(effects: SilencingEffects) -> Head | None:
    """Of the heads that change the text alone, the one that lowers its log-probability most; None without any."""
    candidates = [
        (float(grid[layer, head]), Head(kind, layer, head))
        for kind, grid in effects.changes.items()
        for layer, head in np.argwhere(effects.positions[kind] >= 0).tolist()
    ]
    return min(candidates)[1] if candidates else None


def effects_table(effects: SilencingEffects, written: Sequence[str]) -> pd.DataFrame:
    """One row per head, the largest fall of the log-probability first.

    Args:
        effects: The effects of all heads.
        written: The tokens of the translation.
    """
    rows = []
    for kind, grid in effects.changes.items():
        for layer, head in np.ndindex(*grid.shape):
            position = int(effects.positions[kind][layer, head])
            rows.append(
                {
                    "attention": KINDS[kind].title,
                    "layer": layer + 1,
                    "head": head + 1,
                    "change (nats)": float(grid[layer, head]),
                    "first token that changes": written[position] if position >= 0 else "",
                }
            )
    return pd.DataFrame(rows).sort_values("change (nats)", ignore_index=True)
