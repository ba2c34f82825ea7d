"""Greedy search as it happens: at each step the prefix, the candidates, and the attention weights of every head."""

from functools import partial

import streamlit as st

from model.inference.run import Run
from model.inference.translation import Translation
from viz_app.components.attention_view import step_weights
from viz_app.components.elements.stepper import stepper
from viz_app.components.page_parts import announce
from viz_app.content.translation import t
from viz_app.server.streamlit_bridge import DeltaGenerator
from viz_app.services import results
from viz_app.services.listing import CheckpointKey
from viz_app.session.choices import settle
from viz_app.widgets import forced_tokens
from viz_app.widgets.charts import numbers
from viz_app.widgets.head_picker import pick_kind
from viz_app.widgets.marked_text import sentence
from viz_app.widgets.presenter_mode import presenting

__all__ = ["greedy_steps"]

KINDS_OF_STEPS = ("cross", "decoder")  # their queries are the steps


def greedy_steps(key: CheckpointKey, run: Run, setting: DeltaGenerator) -> None:
    """Draw the steps; the visitor can play them, and choose another token at each.

    Args:
        key: The key of the checkpoint.
        run: The run by greedy search, possibly with forced tokens.
        setting: The column for the kind of attention.
    """
    translation = results.result_of(key, run)
    with setting:
        kinds = [kind for kind in KINDS_OF_STEPS if kind in translation.maps]
        kind = pick_kind(kinds, key="steps_kind")
    settle("guess", False)
    place, switch = st.columns([4, 1], vertical_alignment="center")
    guess = switch.toggle(
        t("Guess first"), key="guess", help=t("Hide the words and the candidates until you ask for them.")
    )
    announce("" if guess else translation.text, languages=translation.languages)
    written = translation.text or t("(the model wrote nothing)")
    language = translation.languages[1] if translation.text else ""
    place.html(sentence("…") if guess else sentence(written, language))
    if not presenting():  # the picture needs the height
        st.caption(
            t(
                "At each step, the decoder reads the tokens written so far and predicts the next token. Press Play, "
                "move the slider, or choose another token. Grey tokens are masked: at this step they do not exist yet."
            )
        )
    settle("step", 0)
    chosen_step: int = st.session_state["step"]  # counted from 1; 0 before the visitor chooses
    stepper(
        translation,
        kind=kind,
        key="stepper",
        on_force=forced_tokens.force,
        on_step=forced_tokens.remember_step,
        step=chosen_step - 1 if chosen_step else None,
        guess=guess,
    )
    if not guess:
        weights_of_step(translation, kind, (chosen_step or translation.prompt_length + 1) - 1)


def weights_of_step(translation: Translation, kind: str, step: int) -> None:
    """A table of the weights of every head at one step, counted from 0."""
    step = min(step, len(translation.written) - 1)
    numbers(
        {"": partial(step_weights, translation, kind, step)},
        summary=t(
            "At step {n}, the model writes “{token}”. The table shows the attention weights of every head.",
            n=step + 1,
            token=translation.written[step].text,
        ),
        key="stepper",
        alt=t("Attention weights of every head at this step"),
    )
