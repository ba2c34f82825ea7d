"""A visitor's own training: its buttons, its curves, and what the model looks at while it learns."""

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import chain, count
from pathlib import Path

import streamlit as st

from model.analysis.learning import list_snapshots
from model.checkpoints.checkpoint import WEIGHTS, CheckpointError
from model.config.kinds import KINDS
from model.corpora.corpora import CorpusError
from model.corpora.toys import TOYS
from viz_app.components.attention_view import view
from viz_app.content.plain import percent, plain
from viz_app.figures.attention import head_map
from viz_app.figures.overview import overview
from viz_app.figures.training import curves
from viz_app.server.jobs import QuotaError
from viz_app.server.presence import visitor
from viz_app.server.server_state import GATE
from viz_app.server.training_jobs import EPOCHS, TRAININGS, Plan, Training
from viz_app.services import analyses, listing
from viz_app.session.boundary import boundary
from viz_app.session.own_checkpoints import add_copy
from viz_app.widgets.charts import draw
from viz_app.widgets.head_picker import clicked_head, open_tile
from viz_app.widgets.headings import section
from viz_app.widgets.long_work import duration_text, queue_text
from viz_app.widgets.navigation import page_link

__all__ = ["WIDTHS", "buttons", "follow", "training_of_visitor"]

WIDTHS = (32, 64, 128)
HEIGHT, MAP = 215, 320  # pixels: of each curve, and of the large map
ROW, BELOW = 70, 62  # of the picture of all heads: a layer, and what is below the last


def training_of_visitor() -> Training | None:
    return TRAININGS.of(visitor())


def loses(training: Training) -> bool:
    """Whether a new training would delete what this one has learned, or learns just now."""
    return not training.kept and (training.has_weights or training.active or training.saving)


def begin(*, agreed: Path | None = None) -> None:
    """Callback: train what the controls say, in the place of what was trained before.

    Another tab may have begun a training since the button was drawn.

    Args:
        agreed: The folder of a training that the visitor agreed to delete.
    """
    state, before = st.session_state, training_of_visitor()
    if before is not None and loses(before) and before.data != agreed:
        state["training_question"] = True
        return
    plan = Plan(
        toy=state["toy"],
        longest=state["toy_longest"],
        d_model=state["toy_width"],
        layers=state["toy_layers"],
        heads=state["toy_heads"],
    )
    try:
        TRAININGS.begin(visitor(), plan)
    except (CheckpointError, CorpusError, QuotaError) as error:
        state["training_problem"] = str(error)


def stop() -> None:
    """Callback: stop what this visitor trains now."""
    if (training := training_of_visitor()) is not None:
        training.stop()


def resume() -> None:
    """Callback: go on with what this visitor trained last."""
    try:
        TRAININGS.resume(visitor())
    except QuotaError as error:
        st.session_state["training_problem"] = str(error)


@st.dialog("Start over?")
def ask_before() -> None:
    """Somebody is about to lose what was learned."""
    st.markdown(
        "The model that you trained here is not kept yet. If you start over, it is deleted. "
        "To keep it, close this window and press **Keep as a checkpoint** first."
    )
    training = training_of_visitor()
    agreed = partial(begin, agreed=training.data if training else None)
    if st.button("Delete it and start over", type="primary", on_click=agreed):
        st.rerun()


def keep() -> None:
    """Callback: a copy of what was trained becomes a checkpoint of this visitor."""
    training = training_of_visitor()
    if training is None or training.active or training.saving or not training.has_weights:
        return  # another tab has begun it
    taken = {one.key.name for one in listing.listed_checkpoints()}
    name = f"{training.plan.toy}-trained-here"
    name = next(one for one in chain([name], (f"{name}-{number}" for number in count(2))) if one not in taken)
    try:
        add_copy(name, training.folder, without="training", taken=taken)
    except CheckpointError as error:
        st.session_state["training_problem"] = str(error)
        return
    training.kept = True
    st.session_state["training_kept"] = name


def buttons(training: Training | None) -> None:
    """What can be done just now."""
    going = training is not None and training.active
    saving = training is not None and training.saving
    left, middle, right = st.columns([1, 1, 1.6])
    if training is not None and (going or saving):
        left.button("Stop", icon=":material/stop:", on_click=stop, disabled=saving, width="stretch")
    else:
        words = "Train" if training is None else "Start over"
        left.button(words, icon=":material/play_arrow:", type="primary", on_click=begin, width="stretch")
    if training is not None:
        can = not (going or saving or training.finished) and training.has_state
        middle.button("Resume", icon=":material/resume:", on_click=resume, disabled=not can, width="stretch")
        right.button(
            "Keep as a checkpoint",
            icon=":material/save:",
            on_click=keep,
            disabled=going or saving or not training.has_weights,
            width="stretch",
        )
    if st.session_state.pop("training_question", False):
        ask_before()
    if problem := st.session_state.pop("training_problem", ""):
        st.error(plain(problem))
    if kept := st.session_state.pop("training_kept", ""):
        st.success(
            f"{plain(kept)} is chosen on the left, and all pages look into it now. Only you see it, until you leave.",
            icon=":material/check:",
        )
        if training is not None and len(list_snapshots(training.folder)) > 1:
            page_link("learning", "Play its training again on the page Watch it learn")


@boundary("The progress of the training could not be shown.")
def follow(training: Training, drawn: tuple[bool, bool]) -> None:
    """Draw how far it is; as a fragment this runs by itself.

    Args:
        training: Of this visitor.
        drawn: Whether it was active, and whether it was saving, when the buttons of the page were drawn.
    """
    if drawn != (training.active, training.saving):
        st.rerun()
    with GATE.inside():
        key = listing.list_one(training.folder).key
        history = listing.training_history(key, "valid_exact")
        epochs = 0 if history is None else len(history)
        st.progress(*progress(training, epochs))
        numbers, picture = st.columns([1, 1.35])
        with numbers:
            improved({} if history is None else {str(name): list(row) for name, row in history.items()})
        with picture:
            looks(training, key)


def improved(history: Mapping[str, Sequence[float]]) -> None:
    """Draw the share that is right and the loss, pass by pass."""
    steps, exact = list(history.get("step", [])), list(history.get("valid_exact", []))
    right = percent(max(exact) / 100) if exact else "nothing"
    best = f": {right} at best" if exact else ""
    section(f"Pairs that it gets right{best}", "Of 200 that it never learned from, after each pass.")
    draw(
        curves(steps, {"right": exact}, title="right, %", height=HEIGHT, span=(0, 100)),
        key="training_right",
        alt=f"Share of unseen pairs that are right, over the training steps; at best {right}",
    )
    section("Loss", "How unlikely the right token was to it: on pairs it learns, and on others.")
    losses = {"training": list(history.get("train_loss", [])), "others": list(history.get("valid_loss", []))}
    draw(
        curves(steps, losses, title="loss, nats a token", height=HEIGHT),
        key="training_loss",
        alt="Loss on the pairs that it learns from and on others, over the training steps",
    )


def progress(training: Training, epochs: int) -> tuple[float, str]:
    """How far it is, as a share and in words."""
    share, job = min(epochs / EPOCHS, 1.0), training.job
    if training.saving:
        return share, "Saving what it has learned …"
    if training.finished:
        return share, f"Finished after {epochs} passes over the pairs."
    if job is None or not training.active:
        return share, f"Stopped after {epochs} of {EPOCHS} passes."
    if waiting := queue_text(job):
        return share, f"{waiting} You may look at other pages meanwhile."
    if not job.steps:
        return share, "Starting takes a moment …"
    share, left = min(job.done / job.steps, 1.0), job.seconds_left()
    return share, (
        f"Pass {min(epochs + 1, EPOCHS)} of {EPOCHS} over the pairs, step {job.done:,} of {job.steps:,}"
        + ("" if left is None else f"; {duration_text(left)} left")
    )


def looks(training: Training, key: listing.CheckpointKey) -> None:
    """Draw the attention to the source while the right answer is written: after the best pass so far, and before the
    first one ends, at the latest snapshot.
    """
    toy = TOYS[training.plan.toy]
    text, answer = toy.example(training.plan.longest)
    section(
        "What it looks at",
        f"While it writes the right answer; expect {toy.expect}. All heads; choose one to enlarge it.",
    )
    try:
        step = None if (training.folder / WEIGHTS).exists() else max(list_snapshots(training.folder), default=None)
        own, reading = analyses.attempt_of(key, text, answer, step)
    except CheckpointError:  # none is written yet
        st.info("The first map appears in a few seconds.")
        return
    shown = view(reading, "cross", merge=False, hide_special=False)
    layers, heads = shown.maps.shape[:2]
    layer, head = clicked_head(layers, heads, prefix="trained_")
    draw(
        overview(shown.maps, shown.axes, shown.allowed, chosen=(layer, head), height=ROW * layers + BELOW),
        key="training_board",
        on_select=partial(open_tile, "training_board", prefix="trained_"),
        alt=f"{layers} × {heads} small heatmaps, one for each layer and head of the cross-attention",
    )
    draw(
        head_map(shown.maps[layer, head], shown.axes, shown.allowed[layer], height=MAP),
        key="training_map",
        alt=f"Heatmap of layer {layer + 1}, head {head + 1} of the {KINDS['cross'].full_name}",
    )
    sign = "right" if own == answer else f"it should be {plain(answer)}"
    st.markdown(f"By itself it makes of “{plain(text)}”: **{plain(own) or '(nothing)'}** ({sign}).")
