"""The buttons of a visitor's own training run: start, stop, resume, keep."""

from functools import partial
from itertools import chain, count
from pathlib import Path

import streamlit as st

from model.analysis.learning import list_snapshots
from model.checkpoints.checkpoint import CheckpointError
from model.corpora.corpora import CorpusError
from viz_app.content.plain import plain
from viz_app.content.translation import t, worded
from viz_app.sections.training.training_plan import chosen_plan
from viz_app.server.jobs import QuotaError
from viz_app.server.presence import visitor
from viz_app.server.training_jobs import TRAININGS, Training
from viz_app.services import listing
from viz_app.session.own_checkpoints import add_copy
from viz_app.widgets.navigation import page_link

__all__ = ["draw_buttons", "training_of_visitor"]


def training_of_visitor() -> Training | None:
    return TRAININGS.of(visitor())


def draw_buttons(training: Training | None) -> None:
    """Draw the buttons that fit the state of the training run, and the message of the last one that was pressed."""
    active = training is not None and training.active
    saving = training is not None and training.saving
    left, middle, right = st.columns([1, 1, 1.6])
    if active or saving:
        left.button(t("Stop"), icon=":material/stop:", on_click=stop, disabled=saving, width="stretch")
    else:
        label = t("Train") if training is None else t("Start over")
        left.button(label, icon=":material/play_arrow:", type="primary", on_click=start, width="stretch")
    if training is not None:
        can_resume = not (active or saving or training.finished) and training.has_state
        middle.button(t("Resume"), icon=":material/resume:", on_click=resume, disabled=not can_resume, width="stretch")
        right.button(
            t("Keep as a checkpoint"),
            icon=":material/save:",
            on_click=keep,
            disabled=active or saving or not training.has_weights,
            width="stretch",
        )
    show_messages(training)


def show_messages(training: Training | None) -> None:
    """Show once what the callback of the last button has to say."""
    if st.session_state.pop("training_question", False):
        confirm_start_over()
    if problem := st.session_state.pop("training_problem", ""):
        st.error(plain(problem))
    if kept := st.session_state.pop("training_kept", ""):
        st.success(
            t(
                "All pages now show {name}. It is chosen on the left. Only you can see it, until you leave.",
                name=plain(kept),
            ),
            icon=":material/check:",
        )
        if training is not None and len(list_snapshots(training.folder)) > 1:
            page_link("learning", t("Play its training run on the page Watch it learn"))


def start(*, agreed: Path | None = None) -> None:
    """Callback: train what the controls show, and delete the visitor's earlier training run.

    Another tab may have started a training run since the button was drawn.

    Args:
        agreed: The folder of a training run that the visitor agreed to delete.
    """
    earlier = training_of_visitor()
    if earlier is not None and loses_work(earlier) and earlier.data != agreed:
        st.session_state["training_question"] = True
        return
    try:
        TRAININGS.begin(visitor(), chosen_plan())
    except (CheckpointError, CorpusError, QuotaError) as error:
        st.session_state["training_problem"] = worded(error)


def loses_work(training: Training) -> bool:
    """Whether a new training run would delete what this one has learned or is learning."""
    return not training.kept and (training.has_weights or training.active or training.saving)


def confirm_start_over() -> None:
    """Ask before the model of the earlier training run is deleted."""
    st.dialog(t("Start over?"))(ask_to_start_over)()


def ask_to_start_over() -> None:
    """The contents of the window that asks."""
    st.markdown(
        t(
            "The model that you trained here is not kept yet. If you start over, it is deleted. To keep it, close this "
            "window and press **{keep}** first.",
            keep=t("Keep as a checkpoint"),
        )
    )
    training = training_of_visitor()
    agreed = partial(start, agreed=training.data if training else None)
    if st.button(t("Delete it and start over"), type="primary", on_click=agreed):
        st.rerun()


def stop() -> None:
    """Callback: stop the visitor's training run."""
    if (training := training_of_visitor()) is not None:
        training.stop()


def resume() -> None:
    """Callback: continue the visitor's training run."""
    try:
        TRAININGS.resume(visitor())
    except QuotaError as error:
        st.session_state["training_problem"] = worded(error)


def keep() -> None:
    """Callback: copy the trained model into a checkpoint of this visitor."""
    training = training_of_visitor()
    if training is None or training.active or training.saving or not training.has_weights:
        return  # another tab has started it again
    taken = {listed.key.name for listed in listing.listed_checkpoints()}
    name = f"{training.plan.toy}-trained-here"
    numbered = (f"{name}-{number}" for number in count(2))
    name = next(candidate for candidate in chain([name], numbered) if candidate not in taken)
    try:
        add_copy(name, training.folder, without="training", taken=taken)
    except CheckpointError as error:
        st.session_state["training_problem"] = worded(error)
        return
    training.kept = True
    st.session_state["training_kept"] = name
