"""The progress of a visitor's own training run: its curves, and the attention of the model while it learns."""

from collections.abc import Mapping, Sequence
from functools import partial

import streamlit as st

from model.analysis.learning import list_snapshots
from model.checkpoints.checkpoint import WEIGHTS, CheckpointError
from model.config.kinds import KINDS
from model.corpora.toys import TOYS
from model.inference.translation import Translation
from viz_app.components.attention_view import view
from viz_app.content.numbers import decimal, percent, sentences
from viz_app.content.plain import plain
from viz_app.content.translation import N_, t, tn
from viz_app.figures.attention import head_map
from viz_app.figures.overview import overview
from viz_app.figures.training import curves
from viz_app.server.server_state import GATE
from viz_app.server.training_jobs import EPOCHS, Training
from viz_app.services import listing, snapshots
from viz_app.session.boundary import boundary
from viz_app.widgets.charts import draw
from viz_app.widgets.head_picker import clicked_head, open_tile
from viz_app.widgets.headings import section
from viz_app.widgets.long_work import duration_text, queue_text

__all__ = ["draw_progress"]

CURVE_HEIGHT, MAP_HEIGHT = 215, 320  # pixels
LAYER_HEIGHT, AXIS_HEIGHT = 70, 62  # pixels of the picture of all heads: of one layer, and below the last layer


@boundary(N_("The progress of the training could not be shown."))
def draw_progress(training: Training, drawn: tuple[bool, bool]) -> None:
    """Draw the progress of a training run. As a fragment, this runs every second.

    Args:
        training: The training run of this visitor.
        drawn: Whether it was active, and whether it was saving, when the buttons of the page were drawn.
    """
    if drawn != (training.active, training.saving):
        st.rerun()
    with GATE.inside():
        key = listing.list_one(training.folder).key
        history = listing.training_history(key, "valid_exact")
        st.progress(*progress(training, epochs=0 if history is None else len(history)))
        curve_column, map_column = st.columns([1, 1.35])
        with curve_column:
            draw_curves({} if history is None else {str(name): list(row) for name, row in history.items()})
        with map_column:
            draw_attempt(training, key)


def progress(training: Training, *, epochs: int) -> tuple[float, str]:
    """Return how far the training run is, as a share and in words."""
    share, job = min(epochs / EPOCHS, 1.0), training.job
    if training.saving:
        return share, t("Saving the model …")
    if training.finished:
        return share, tn(
            "Finished after {n} pass over the pairs.", "Finished after {n} passes over the pairs.", n=epochs
        )
    if job is None or not training.active:
        return share, t("Stopped after {done} of {total} passes.", done=epochs, total=EPOCHS)
    if waiting := queue_text(job):
        return share, sentences([waiting, t("You can look at other pages while you wait.")])
    if not job.steps:
        return share, t("Starting takes a moment …")
    share, left = min(job.done / job.steps, 1.0), job.seconds_left()
    done = t(
        "Pass {number} of {total} over the pairs, training step {step} of {steps}.",
        number=min(epochs + 1, EPOCHS),
        total=EPOCHS,
        step=decimal(job.done),
        steps=decimal(job.steps),
    )
    if left is None:
        return share, done
    return share, sentences([done, t("Time left: {duration}.", duration=duration_text(left))])


def draw_curves(history: Mapping[str, Sequence[float]]) -> None:
    """Draw the share of correct pairs and the loss after each pass."""
    steps, correct = list(history.get("step", [])), list(history.get("valid_exact", []))
    section(
        t("Correct pairs: {share} at best", share=percent(max(correct) / 100)) if correct else t("Correct pairs"),
        t("Share of 200 pairs that the model does not train on, after each pass."),
    )
    draw(
        curves(steps, {t("correct"): correct}, title=t("correct, %"), height=CURVE_HEIGHT, span=(0, 100)),
        key="training_right",
        alt=t("Share of unseen pairs that are correct, over the training steps"),
    )
    section(t("Loss"), t("How unlikely the model finds the correct token: for training pairs and for other pairs."))
    losses = {
        t("training pairs"): list(history.get("train_loss", [])),
        t("other pairs"): list(history.get("valid_loss", [])),
    }
    draw(
        curves(steps, losses, title=t("loss, nats per token"), height=CURVE_HEIGHT),
        key="training_loss",
        alt=t("Loss on the training pairs and on other pairs, over the training steps"),
    )


def draw_attempt(training: Training, key: listing.CheckpointKey) -> None:
    """Draw the attention to the source while the model writes the correct answer, and show what it writes by itself.

    The model is the best one so far; before the end of the first pass, it is the latest snapshot.
    """
    toy = TOYS[training.plan.toy]
    text, answer = toy.example(training.plan.longest)
    section(
        t("What it attends to"),
        sentences(
            [
                t("The maps show the model while it writes the correct answer."),
                t(toy.expect),
                t("Choose a head to enlarge it."),
            ]
        ),
    )
    try:
        saved = (training.folder / WEIGHTS).exists()
        step = None if saved else max(list_snapshots(training.folder), default=None)
        own, reading = snapshots.attempt_of(key, text, answer, step)
    except CheckpointError:  # nothing is saved yet
        st.info(t("The first map appears in a few seconds."))
        return
    draw_maps(reading)
    written = t("The model translates “{text}” as **{own}**.", text=plain(text), own=plain(own) or t("(nothing)"))
    right = own == answer
    verdict = t("This is correct.") if right else t("The correct answer is {answer}.", answer=plain(answer))
    st.markdown(sentences([written, verdict]))


def draw_maps(reading: Translation) -> None:
    """Draw the cross-attention of all heads, and of the chosen head."""
    shown = view(reading, "cross", merge=False, hide_special=False)
    layers, heads = shown.maps.shape[:2]
    layer, head = clicked_head(layers, heads, prefix="trained_")
    draw(
        overview(
            shown.maps, shown.axes, shown.allowed, chosen=(layer, head), height=LAYER_HEIGHT * layers + AXIS_HEIGHT
        ),
        key="training_board",
        on_select=partial(open_tile, "training_board", prefix="trained_"),
        alt=t(
            "{layers} × {heads} small heatmaps, one for each layer and head of the {name}",
            layers=layers,
            heads=heads,
            name=t(KINDS["cross"].full_name),
        ),
    )
    draw(
        head_map(shown.maps[layer, head], shown.axes, shown.allowed[layer], height=MAP_HEIGHT),
        key="training_map",
        alt=t(
            "Heatmap of layer {layer}, head {head} of the {kind}",
            layer=layer + 1,
            head=head + 1,
            kind=t(KINDS["cross"].full_name),
        ),
    )
