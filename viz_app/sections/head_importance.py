"""How much each head matters: what silencing it costs, and what the gradient expects."""

from collections.abc import Mapping

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from model.analysis.importance import all_heads, loss_changes, make_examples
from model.analysis.statistics import rank_agreement
from model.kinds import KINDS
from viz_app import controls, services
from viz_app.charts import draw
from viz_app.figures.heads import head_grids
from viz_app.sections.sentence_set import Pairs
from viz_app.services import CheckpointKey

__all__ = ["head_importance"]

FloatArray = NDArray[np.float32]
BATCH = 16  # sentences in one pass
ENOUGH = 10  # sentences; with fewer, another draw of them gives another order of the heads


def head_importance(key: CheckpointKey, pairs: Pairs) -> None:
    """Draw the gradient estimate at once, and the measured changes when a person asks for them."""
    given = sum(bool(translation) for _, translation in pairs)
    st.markdown(
        f"The loss is that of {'the given translations' if given == len(pairs) else 'the translations'} of "
        f"{len(pairs)} sentences, in nats a token"
        + (
            ""
            if given == len(pairs)
            else "; where none was given, that of the model's own: then a change says how far a head moves the model "
            "away from what it would have written"
        )
        + "."
    )
    st.markdown(
        "**Gradient estimate** (Michel et al. 2019): |∂loss/∂ξ|, where ξ multiplies a head's output. One pass; no head "
        "is touched."
    )
    parts = [
        services.gradient_importance_of(key, few) for few in controls.with_progress(batches(pairs), "Batch", at_least=3)
    ]
    gradients = {kind: np.concatenate([part[kind] for part in parts]) for kind in parts[0]}
    draw(
        head_grids(named(gradients), unit="nats", height=280),
        key="gradient",
        alt="Gradient estimate of the importance of every head",
    )
    st.markdown("**Measured.** Silence one head after the other; by how much does the loss rise?")
    subject = (key, pairs)
    measured = st.session_state.get("measured_importance")
    if measured is None or measured[0] != subject:
        if not st.button("Measure every head", icon=":material/play_arrow:", key="measure"):
            return
        measured = (subject, measure(key, pairs))
        st.session_state["measured_importance"] = measured
        st.rerun()
    changes: Mapping[str, FloatArray] = measured[1]
    draw(
        head_grids(named(changes), unit="nats", signed=True, height=280),
        key="measured",
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
        f"order; 95 % of the time between {low:.2f} and {high:.2f} when the {sentences} sentences are drawn anew)."
    )


def batches(pairs: Pairs) -> list[Pairs]:
    return [pairs[start : start + BATCH] for start in range(0, len(pairs), BATCH)]


def measure(key: CheckpointKey, pairs: Pairs) -> dict[str, FloatArray]:
    """Silence each head in turn: kind → by how much the loss of each sentence rises, (N, L, H).

    There is a progress bar; a click on Cancel ends the run of the page and so the loop.
    """
    checkpoint = services.translator(key)
    model = checkpoint.model
    heads = all_heads(model)
    bar, cancel = st.columns([5, 1], vertical_alignment="center")
    progress = bar.progress(0.0, "Silencing one head after the other …")
    cancel.button("Cancel", icon=":material/close:", key="cancel_measure", width="stretch")
    kinds = dict.fromkeys(head.kind for head in heads)
    found = {
        kind: np.zeros((len(pairs), model.config.layers_of(kind), model.config.num_heads), dtype=np.float32)
        for kind in kinds
    }
    examples = [make_examples(checkpoint, few) for few in batches(pairs)]
    for done, (head, changes) in enumerate(loss_changes(model, examples), start=1):
        found[head.kind][:, head.layer, head.head] = changes
        progress.progress(done / len(heads), f"Head {done} of {len(heads)}")
    return found


def named(grids: Mapping[str, FloatArray]) -> dict[str, FloatArray]:
    """The mean over sentences, by the name of the kind."""
    return {KINDS[kind].title: grid.mean(axis=0) for kind, grid in grids.items()}
