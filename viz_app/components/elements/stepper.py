"""The steps of a decode."""

from collections.abc import Callable

import streamlit as st

from model.inference.translation import Translation
from viz_app.components.data.stepper import stepper_data
from viz_app.components.mounting import component

__all__ = ["stepper"]


def stepper(
    translation: Translation,
    *,
    kind: str,
    key: str,
    on_force: Callable[[int, int], None],
    on_step: Callable[[int], None],
    step: int | None = None,
    guess: bool = False,
) -> None:
    """Walk through a decode: a slider and a play button, the prefix, ten candidates, and one row of every head's map.

    Args:
        translation: With its maps.
        kind: "cross" or "decoder", whose rows are shown.
        key: Of the component.
        on_force: Called with a position and a target id when the visitor clicks another candidate.
        on_step: Called with the step at which the visitor stays.
        step: See `stepper_data`.
        guess: See `stepper_data`.
    """

    def forced() -> None:
        chosen = st.session_state[key]["force"]
        on_force(int(chosen["position"]), int(chosen["id"]))

    component("stepper")(
        key=key,
        on_force_change=forced,
        on_step_change=lambda: on_step(int(st.session_state[key]["step"])),
        data=stepper_data(translation, kind=kind, step=step, guess=guess),
    )
