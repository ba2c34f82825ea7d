"""How much each head matters: what silencing it costs, and what the gradient expects."""

from collections.abc import Mapping

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from model.analysis.statistics import rank_agreement
from model.config.kinds import KINDS
from viz_app.figures.heads import head_grids
from viz_app.services import long_analyses, results
from viz_app.services.listing import CheckpointKey
from viz_app.services.sentence_batches import Pairs, in_batches
from viz_app.widgets.charts import draw
from viz_app.widgets.headings import section
from viz_app.widgets.long_work import asked_for, wait_for
from viz_app.widgets.progress import with_progress

__all__ = ["head_importance"]

FloatArray = NDArray[np.float32]
ENOUGH = 10  # sentences; with fewer, another draw of them gives another order of the heads


def head_importance(key: CheckpointKey, pairs: Pairs) -> None:
    """Draw the gradient estimate at once, and the measured changes when a person asks for them."""
    given = sum(bool(translation) for _, translation in pairs)
    st.markdown(
        f"The loss is measured on {'the given translations' if given == len(pairs) else 'translations'} of "
        f"{len(pairs)} sentences, in nats per token."
        + (
            ""
            if given == len(pairs)
            else " A sentence without a given translation uses the model's own translation. The change then shows how "
            "much the model needs a head for what it writes."
        )
    )
    section(
        "Gradient estimate",
        "Michel et al. 2019: |∂loss/∂ξ|, where ξ multiplies a head's output. It takes one pass and changes no head.",
    )
    few_at_a_time = with_progress(in_batches(pairs), "Batch", at_least=3)
    parts = [results.gradient_importance_of(key, few) for few in few_at_a_time]
    gradients = {kind: np.concatenate([part[kind] for part in parts]) for kind in parts[0]}
    draw(
        head_grids(named(gradients), unit="nats", height=280),
        key="gradient",
        wide=True,
        alt="Gradient estimate of the importance of every head",
    )
    section("Measured", "Silence one head after another: how much does the loss rise?")
    changes = long_analyses.importance_of(key, pairs)
    if changes is None:
        subject, work = long_analyses.importance_work(key, pairs)
        if not asked_for(subject) and not st.button("Measure every head", icon=":material/play_arrow:", key="measure"):
            return
        changes = wait_for(subject, work, lane="importance", step="Head")
        if changes is None:
            return
        st.rerun()
    draw(
        head_grids(named(changes), unit="nats", signed=True, height=280),
        key="measured",
        wide=True,
        alt="Change in loss when each head is silenced",
    )
    st.caption(
        "Red: the model needs this head; blue: it does better without, in the mean over the sentences. "
        + compared(gradients, changes, len(pairs))
    )


def compared(gradients: Mapping[str, FloatArray], changes: Mapping[str, FloatArray], sentences: int) -> str:
    """What the gradients say of the measured changes, both kind → (N, L, H), and how sure that is."""
    if sentences < ENOUGH:
        return f"To compare the two pictures takes {ENOUGH} sentences or more."
    estimated, sizes = (
        np.concatenate([grids[kind].reshape(sentences, -1) for kind in gradients], axis=1)
        for grids in (gradients, {kind: np.abs(grid) for kind, grid in changes.items()})
    )
    found, low, high = rank_agreement(estimated, sizes)
    return (
        "A gradient without its sign estimates how far the loss of a sentence moves, up or down: it ranks the heads "
        f"as the mean size of the measured changes does with a correlation of {found:.2f} (Spearman; 1 = the same "
        f"order; 95 % of the time between {low:.2f} and {high:.2f} when the {sentences} sentences are drawn again)."
    )


def named(grids: Mapping[str, FloatArray]) -> dict[str, FloatArray]:
    """The mean over sentences, by the name of the kind."""
    return {KINDS[kind].title: grid.mean(axis=0) for kind, grid in grids.items()}
