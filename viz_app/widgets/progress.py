"""A progress bar for a loop of a page."""

from collections.abc import Iterator, Sequence
from typing import TypeVar

import streamlit as st

from viz_app.content.translation import t

__all__ = ["with_progress"]

Item = TypeVar("Item")


def with_progress(items: Sequence[Item], step: str, *, at_least: int) -> Iterator[Item]:
    """Iterate over the items under a progress bar.

    Args:
        items: What the loop goes through.
        step: A sentence about the progress, marked with `N_`, such as "Sentence {done} of {total}."
        at_least: With fewer items there is no bar, because they take less than a second.
    """
    bar = st.progress(0.0) if len(items) >= at_least else None
    for done, item in enumerate(items):
        if bar:
            bar.progress(done / len(items), t(step, done=done + 1, total=len(items)))
        yield item
    if bar:
        bar.empty()
