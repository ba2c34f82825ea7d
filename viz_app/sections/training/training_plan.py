"""The task and the size of a model to train."""

import streamlit as st

from model.corpora.toys import LONGEST, TOYS
from viz_app.content.translation import t
from viz_app.server.training_jobs import Plan
from viz_app.session.choices import settle

__all__ = ["ask_for_plan", "chosen_plan"]

SHORTEST = 4  # letters
WIDTHS = (32, 64, 128)
HEADS = (1, 2, 4, 8)
LAYERS = (1, 2, 3)


def ask_for_plan(*, disabled: bool) -> str:
    """Ask for the task and the size of the model, and return the name of the task, one of `TOYS`.

    Args:
        disabled: A training run is going on, so nothing can be changed.
    """
    settle("toy", "reverse", TOYS)
    settle("toy_longest", 8, range(SHORTEST, LONGEST + 1))
    settle("toy_width", 64, WIDTHS)
    settle("toy_layers", 1, LAYERS)
    settle("toy_heads", 4, HEADS)
    task, longest, width, layers, heads = st.columns([2.6, 1.4, 1, 1, 1], vertical_alignment="bottom")
    toy = task.selectbox(
        t("Task"), list(TOYS), format_func=lambda name: t(TOYS[name].task), key="toy", disabled=disabled
    )
    longest.slider(
        t("Longest word, letters"),
        SHORTEST,
        LONGEST,
        key="toy_longest",
        disabled=disabled or toy == "dates",
        help=t("Not used for dates."),
    )
    width.selectbox(
        t("Width d_model"),
        WIDTHS,
        key="toy_width",
        disabled=disabled,
        help=t("How many numbers the vector of a token has."),
    )
    layers.selectbox(
        t("Layers"),
        LAYERS,
        key="toy_layers",
        disabled=disabled,
        help=t("Of the encoder. The decoder has the same number."),
    )
    heads.selectbox(
        t("Heads"), HEADS, key="toy_heads", disabled=disabled, help=t("Heads per layer; each works on an equal slice.")
    )
    return toy or "reverse"


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
