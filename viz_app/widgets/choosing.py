"""Ask for one of several options. Links name the option, and the page shows its label."""

from collections.abc import Hashable, Mapping
from typing import Any, TypeVar

import streamlit as st

from viz_app.server.streamlit_bridge import DeltaGenerator
from viz_app.session.choices import settle

__all__ = ["choose"]

Option = TypeVar("Option", bound=Hashable)


def choose(
    label: str,
    options: Mapping[Option, str],
    *,
    key: str,
    default: Option | None = None,
    place: DeltaGenerator | None = None,
    hint: str | None = None,
    listed: bool = False,
    disabled: bool = False,
) -> Option:
    """Ask for one of some options. One is always chosen.

    Args:
        label: Of the control.
        options: Option → what the visitor reads, translated.
        key: The name of the choice.
        default: The option without a choice; by default the first one.
        place: Where the control stands; by default where the page is now.
        hint: What the control is for.
        listed: Show a list that opens instead of a row of buttons.
        disabled: The visitor cannot choose now.
    """
    usual = next(iter(options)) if default is None else default
    settle(key, usual, options)
    where, names = place or st, list(options)
    words: dict[str, Any] = {"format_func": options.__getitem__, "key": key, "help": hint, "disabled": disabled}
    chosen: Option | None = (
        where.selectbox(label, names, **words)
        if listed
        else where.segmented_control(label, names, required=True, **words)
    )
    return usual if chosen is None else chosen
