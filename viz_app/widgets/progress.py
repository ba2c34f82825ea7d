"""A progress bar for a loop of a page."""

from collections.abc import Iterator, Sequence
from typing import TypeVar

import streamlit as st

__all__ = ["with_progress"]

Item = TypeVar("Item")


def with_progress(items: Sequence[Item], name: str, *, at_least: int) -> Iterator[Item]:
    """Iterate over the items under a progress bar.

    Args:
        items: What the loop goes through.
        name: The name of one item, such as "Sentence".
        at_least: With fewer items there is no bar, because they take less than a second.
    """
    bar = st.progress(0.0, name) if len(items) >= at_least else None
    for done, item in enumerate(items):
        if bar:
            bar.progress(done / len(items), f"{name} {done + 1} of {len(items)}")
        yield item
    if bar:
        bar.empty()
