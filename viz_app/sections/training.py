"""Parts of the page Train one here: the plan, the buttons and the progress."""

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import chain, count
from pathlib import Path

import streamlit as st

from model.analysis.learning import list_snapshots
from model.checkpoints.checkpoint import WEIGHTS, CheckpointError
from model.config.kinds import KINDS
from model.corpora.corpora import CorpusError
from model.corpora.toys import LONGEST, TOYS
from model.inference.run import Result
from viz_app.content.numbers import decimal, percent, sentences
from viz_app.content.plain import plain
from viz_app.content.translation import N_, t, tn, worded
from viz_app.figures.lines import curves
from viz_app.server.jobs import QuotaError
from viz_app.server.presence import visitor
from viz_app.server.server_state import GATE
from viz_app.server.training_jobs import EPOCHS, TRAININGS, Plan, Training
from viz_app.services import listing, models
from viz_app.services.attention_view import view
from viz_app.session.choices import settle
from viz_app.session.own_checkpoints import add_copy
from viz_app.session.page_end import boundary
from viz_app.widgets.charts import draw, draw_heads, draw_map
from viz_app.widgets.choosing import choose
from viz_app.widgets.head_picker import clicked_head, open_head
from viz_app.widgets.headings import section
from viz_app.widgets.long_work import duration_text, queue_text
from viz_app.widgets.navigation import page_link

__all__ = ["ask_for_plan", "draw_buttons", "draw_progress", "training_of_visitor"]

SHORTEST = 4  # letters
WIDTHS = (32, 64, 128)
HEADS = (1, 2, 4, 8)
LAYERS = (1, 2, 3)
CURVE_HEIGHT, MAP_HEIGHT = 215, 320  # pixels


def ask_for_plan(*, disabled: bool) -> str:
    """Ask for the task and the size of the model, unless a training run is going on; return the task, one of `TOYS`."""
    settle("toy_longest", 8, range(SHORTEST, LONGEST + 1))
    task, longest, *columns = st.columns([2.6, 1.4, 1, 1, 1], vertical_alignment="bottom")
    ask = partial(choose, disabled=disabled, listed=True)
    toy = ask(t("Task"), {name: t(one.task) for name, one in TOYS.items()}, key="toy", default="reverse", place=task)
    longest.slider(
        t("Longest word, letters"),
        SHORTEST,
        LONGEST,
        key="toy_longest",
        disabled=disabled or toy == "dates",
        help=t("Not used for dates."),
    )
    sizes = (
        ("toy_width", t("Width d_model"), WIDTHS, 64, t("How many numbers the vector of a token has.")),
        ("toy_layers", t("Layers"), LAYERS, 1, t("Of the encoder. The decoder has the same number.")),
        ("toy_heads", t("Heads"), HEADS, 4, t("Heads per layer; each works on an equal slice.")),
    )
    for place, (key, label, values, usual, hint) in zip(columns, sizes, strict=True):
        ask(label, {value: str(value) for value in values}, key=key, default=usual, place=place, hint=hint)
    return toy


def chosen_plan() -> Plan:
    """In a callback: the plan that the controls of `ask_for_plan` show."""
    state = st.session_state
    return Plan(
        toy=state["toy"],
        longest=state["toy_longest"],
        d_model=state["toy_width"],
        layers=state["toy_layers"],
        heads=state["toy_heads"],
    )


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
        st.dialog(t("Start over?"))(ask_to_start_over)()
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

    Another tab may have started a training run since the button was drawn. The visitor agreed to delete the training
    run in the folder `agreed`.
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


def ask_to_start_over() -> None:
    """The contents of the window that asks before the model of the earlier training run is deleted."""
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
    best = t("Correct pairs: {share} at best", share=percent(max(correct) / 100)) if correct else t("Correct pairs")
    draw(
        curves(steps, {t("correct"): correct}, title=t("correct, %"), height=CURVE_HEIGHT, span=(0, 100)),
        heading=best,
        about=t("Share of 200 pairs that the model does not train on, after each pass."),
        key="training_right",
        alt=t("Share of unseen pairs that are correct, over the training steps"),
    )
    losses = {
        t("training pairs"): list(history.get("train_loss", [])),
        t("other pairs"): list(history.get("valid_loss", [])),
    }
    draw(
        curves(steps, losses, title=t("loss, nats per token"), height=CURVE_HEIGHT),
        heading=t("Loss"),
        about=t("How unlikely the model finds the correct token: for training pairs and for other pairs."),
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
        own, reading = models.attempt_of(key, text, answer, step)
    except CheckpointError:  # nothing is saved yet
        st.info(t("The first map appears in a few seconds."))
        return
    draw_maps(reading)
    written = t("The model translates “{text}” as **{own}**.", text=plain(text), own=plain(own) or t("(nothing)"))
    right = own == answer
    verdict = t("This is correct.") if right else t("The correct answer is {answer}.", answer=plain(answer))
    st.markdown(sentences([written, verdict]))


def draw_maps(reading: Result) -> None:
    """Draw the cross-attention of all heads, and of the chosen head."""
    shown = view(reading, "cross", merge=False, hide_special=False)
    layers, heads = shown.maps.shape[:2]
    layer, head = clicked_head(layers, heads, prefix="trained_")
    kind = t(KINDS["cross"].full_name)
    alt = t(
        "{layers} × {heads} small heatmaps, one for each layer and head of the {name}",
        layers=layers,
        heads=heads,
        name=kind,
    )
    draw_heads(
        shown.maps,
        shown.allowed,
        chosen=(layer, head),
        key="training_board",
        alt=alt,
        on_open=partial(open_head, prefix="trained_"),
    )
    draw_map(
        shown.maps[layer, head],
        shown.axes,
        shown.allowed[layer],
        key="training_map",
        least=MAP_HEIGHT,
        alt=t("Heatmap of layer {layer}, head {head} of the {kind}", layer=layer + 1, head=head + 1, kind=kind),
    )
