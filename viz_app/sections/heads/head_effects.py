"""The effect of silencing each head alone: the colours of the ablation board, its sentence and its table."""

from collections.abc import Sequence
from math import isfinite

import numpy as np
import pandas as pd

from model.analysis.silencing import SilencingEffects
from model.config.kinds import KINDS
from model.interventions import Head
from viz_app.components.elements.switches import HeadFace
from viz_app.content.numbers import decimal, sentences
from viz_app.content.translation import N_, t
from viz_app.figures.colours import LEVELS, NOT_A_NUMBER, ink, palette

__all__ = ["MEASURES", "decisive_head", "effects_sentence", "effects_table", "faces"]


MEANINGS = {  # what changes → the colours, the sign
    "text": (
        N_("**Blue: without this head, the text of the model is less likely. Red: it is more likely.**"),
        N_("The sign ≠ marks heads that change the text when they alone are silenced: {n} of {all}."),
    ),
    "class": (
        N_("**Blue: without this head, the class of the model is less likely. Red: it is more likely.**"),
        N_("The sign ≠ marks heads that change the class when they alone are silenced: {n} of {all}."),
    ),
}
LOG_PROBABILITY = (
    N_("The log-probability changes by up to {change} nats."),
    N_("{head}. Of all heads with the sign ≠, this head lowers the log-probability most."),
)
MEASURES = {  # task → how much the measure changes, the head that lowers it most
    "translation": LOG_PROBABILITY,
    "continuation": LOG_PROBABILITY,
    "reading": (
        N_("The log-probability of the guessed words changes by up to {change} nats."),
        N_("{head}. Of all heads with the sign ≠, this head lowers the log-probability of the guessed words most."),
    ),
    "classification": (
        N_("The log-odds change by up to {change} nats."),
        N_("{head}. Of all heads with the sign ≠, this head lowers the log-odds of the class most."),
    ),
}


def largest_change(effects: SilencingEffects) -> float:
    """Over all heads, up or down, in nats; the ends of the colour scale."""
    return max(float(np.abs(grid[np.isfinite(grid)]).max(initial=0.0)) for grid in effects.changes.values())


def faces(effects: SilencingEffects) -> dict[str, list[list[HeadFace]]]:
    """Kind → (L, H): the colours of a head's button, and the effect of silencing it in words."""
    bound = max(largest_change(effects), 1e-6)
    colours = ["#" + bytes(row[:3]).hex() for row in palette(signed=True)]

    def face(change: float, position: int) -> HeadFace:
        if not isfinite(change):
            return HeadFace(colour=NOT_A_NUMBER, ink=ink(NOT_A_NUMBER), note=t("not a number"), decides=position >= 0)
        colour = colours[round((change / bound + 1) / 2 * (LEVELS - 1))]
        note = (
            t("{change} nats when silenced; token {n} changes", change=f"{change:+.3f}", n=position + 1)
            if position >= 0
            else t("{change} nats when silenced", change=f"{change:+.3f}")
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
    colours, sign = MEANINGS["class" if task == "classification" else "text"]
    positions = np.concatenate([grid.ravel() for grid in effects.positions.values()])
    return sentences(
        [
            t(colours),
            t(MEASURES[task][0], change=decimal(largest_change(effects), digits=2)),
            t(sign, n=int((positions >= 0).sum()), all=len(positions)),
        ]
    )


def decisive_head(effects: SilencingEffects) -> Head | None:
    """Of the heads that change the text alone, the one that lowers its log-probability most; None without any."""
    candidates = [
        (float(grid[layer, head]), Head(kind, layer, head))
        for kind, grid in effects.changes.items()
        for layer, head in np.argwhere((effects.positions[kind] >= 0) & np.isfinite(grid)).tolist()
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
                    t("attention"): t(KINDS[kind].title),
                    t("layer"): layer + 1,
                    t("head"): head + 1,
                    t("change (nats)"): float(grid[layer, head]),
                    t("first token that changes"): written[position] if position >= 0 else "",
                }
            )
    return pd.DataFrame(rows).sort_values(t("change (nats)"), ignore_index=True)
