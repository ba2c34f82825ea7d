"""The importance of each head: how much the loss rises without it, and how much the gradient predicts."""

from collections.abc import Mapping

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from model.analysis.statistics import rank_agreement
from model.config.kinds import KINDS
from viz_app.content.numbers import percent, sentences
from viz_app.content.translation import N_, t
from viz_app.figures.heads import head_grids
from viz_app.figures.scales import marked
from viz_app.services import head_analyses, long_analyses
from viz_app.services.listing import CheckpointKey
from viz_app.services.sentence_batches import Pairs, in_batches
from viz_app.widgets.charts import draw
from viz_app.widgets.headings import section
from viz_app.widgets.long_work import requested, wait_for
from viz_app.widgets.progress import with_progress

__all__ = ["head_importance"]

FloatArray = NDArray[np.float32]
Grids = Mapping[str, FloatArray]  # kind → (N, L, H), for N sentences
MIN_SENTENCES = 10  # with fewer, other sentences give another order of the heads


LOSSES = {
    "translation": N_("The loss is measured on translations, in nats per token."),
    "continuation": N_("The loss is that of the sentences themselves, in nats per token."),
    "classification": N_("The loss is minus the log-odds of the model's own class, in nats."),
}


def head_importance(key: CheckpointKey, task: str, pairs: Pairs) -> None:
    """Draw the gradient estimate at once, and the measured importance when the visitor asks for it."""
    st.markdown(sentences([t(LOSSES[task]), t("Sentences: {n}.", n=len(pairs))]))
    if task == "translation" and not all(translation for _, translation in pairs):
        st.markdown(
            t(
                "If a sentence has no given translation, the model's own translation is used. Then the change shows "
                "how much the model needs the head to write this translation."
            )
        )
    gradients = gradient_estimate(key, pairs)
    changes = measured_changes(key, pairs)
    if changes is None:
        return
    draw(
        head_grids(mean_by_title(changes), unit=t("nats"), signed=True, height=280),
        key="measured",
        wide=True,
        alt=t("Change in loss when each head is silenced"),
    )
    st.caption(t("Red: the loss rises without this head. Blue: it falls. Mean over the sentences."))
    st.caption(comparison(gradients, changes, len(pairs)))


def gradient_estimate(key: CheckpointKey, pairs: Pairs) -> Grids:
    section(
        t("Gradient estimate"),
        t("Michel et al. 2019: |∂loss/∂ξ|, where ξ multiplies a head's output. It takes one pass and changes no head."),
    )
    few_at_a_time = with_progress(in_batches(pairs), N_("Batch {done} of {total}."), at_least=3)
    parts = [head_analyses.gradient_importance_of(key, few) for few in few_at_a_time]
    gradients = {kind: np.concatenate([part[kind] for part in parts]) for kind in parts[0]}
    draw(
        head_grids(mean_by_title(gradients), unit=t("nats"), height=280),
        key="gradient",
        wide=True,
        alt=t("Gradient estimate of the importance of every head"),
    )
    return gradients


def measured_changes(key: CheckpointKey, pairs: Pairs) -> Grids | None:
    """The change of the loss without each head; None until it is measured."""
    section(t("Measured"), t("Silence one head after another: how much does the loss rise?"))
    changes = long_analyses.importance_of(key, pairs)
    if changes is not None:
        return changes
    subject, work = long_analyses.importance_work(key, pairs)
    if not requested(subject) and not st.button(t("Measure every head"), icon=":material/play_arrow:", key="measure"):
        return None
    if wait_for(subject, work, lane="importance", step=N_("Head {done} of {total}.")) is not None:
        st.rerun()
    return None


def comparison(gradients: Grids, changes: Grids, count: int) -> str:
    """How well the gradients rank the measured changes of a number of sentences, and how certain this is."""
    if count < MIN_SENTENCES:
        return t("The comparison of the two pictures needs at least {n} sentences.", n=MIN_SENTENCES)
    estimated, sizes = (
        np.concatenate([grids[kind].reshape(count, -1) for kind in gradients], axis=1)
        for grids in (gradients, {kind: np.abs(grid) for kind, grid in changes.items()})
    )
    correlation, low, high = rank_agreement(estimated, sizes)
    return t(
        "The gradient has no sign here, so it estimates the size of a change and not its direction. Both methods put "
        "the heads in an order. The measured order uses the mean size of the changes. The rank correlation of the two "
        "orders over {n} sentences is {correlation} (Spearman; 1 means the same order; {level} bootstrap interval: "
        "{low} to {high}).",
        n=count,
        correlation=f"{correlation:.2f}",
        level=percent(0.95, digits=0),
        low=f"{low:.2f}",
        high=f"{high:.2f}",
    )


def mean_by_title(grids: Grids) -> dict[str, FloatArray]:
    """The mean over the sentences, by the title of the kind of attention."""
    return {t(KINDS[kind].title): marked(grid.mean(axis=0)) for kind, grid in grids.items()}
