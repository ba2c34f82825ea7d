"""What a search does with the generation settings in a model's own files."""

from collections.abc import Mapping

import streamlit as st

from model.config.foreign import ForeignConfig
from model.inference.opening import AnyConfig
from viz_app.content.plain import plain

__all__ = ["generation_note"]

MAX_VALUE = 60  # characters of a value


def generation_note(config: AnyConfig) -> None:
    """Name the settings that every search follows, the search that they suggest, and the rest."""
    if not isinstance(config, ForeignConfig) or config.task not in ("translation", "continuation"):
        return
    settings = config.generation
    notes = []
    if settings.followed:
        notes.append(
            f"Every search follows {listed(settings.followed)}. The probabilities on this page are the model's own, "
            "before these settings."
        )
    if settings.suggested:
        notes.append(
            f"The library's `generate` would search with {listed(settings.suggested)}. Here you choose the search. "
            "Beam search follows `length_penalty` and `early_stopping`."
        )
    if settings.ignored:
        notes.append(f"Headlight does not follow {listed(settings.ignored)}. So `generate` may write another text.")
    if notes:
        with st.popover("Generation settings of this model", icon=":material/rule:", type="tertiary"):
            for note in notes:
                st.markdown(note)


def listed(settings: Mapping[str, object]) -> str:
    return ", ".join(f"`{name}` {plain(shortened(str(value)))}" for name, value in settings.items())


def shortened(value: str) -> str:
    return value if len(value) <= MAX_VALUE else f"{value[:MAX_VALUE]} … ({len(value):,} characters)"
