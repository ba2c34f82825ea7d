"""What a search does with the generation settings in a model's own files."""

from collections.abc import Mapping

import streamlit as st

from model.config.foreign import ForeignConfig
from model.inference.opening import AnyConfig
from viz_app.content.numbers import decimal
from viz_app.content.plain import plain
from viz_app.content.translation import t

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
            t(
                "Every search follows {settings}. The probabilities on this page are the model's own, before these "
                "settings.",
                settings=listed(settings.followed),
            )
        )
    if settings.suggested:
        notes.append(
            t(
                "The library's `generate` would search with {settings}. Here you choose the search. Beam search "
                "follows `length_penalty` and `early_stopping`.",
                settings=listed(settings.suggested),
            )
        )
    if settings.ignored:
        notes.append(
            t(
                "Headlight does not follow {settings}. So `generate` may write another text.",
                settings=listed(settings.ignored),
            )
        )
    if notes:
        with st.popover(t("Generation settings of this model"), icon=":material/rule:", type="tertiary"):
            for note in notes:
                st.markdown(note)


def listed(settings: Mapping[str, object]) -> str:
    return ", ".join(f"`{name}` {plain(shortened(str(value)))}" for name, value in settings.items())


def shortened(value: str) -> str:
    return (
        value
        if len(value) <= MAX_VALUE
        else t("{value} … ({n} characters)", value=value[:MAX_VALUE], n=decimal(len(value)))
    )
