"""What a visitor reads while something is computed, once that takes longer than a moment."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from contextvars import copy_context
from threading import Lock, Timer

import streamlit as st

from viz_app.server.streamlit_bridge import has_page, join_page

__all__ = ["waiting"]

MOMENT = 0.2  # seconds


@contextmanager
def waiting(says: str) -> Iterator[None]:
    """Show a spinner with these words where the work takes long.

    `st.spinner` tells the browser of its end even where it was never seen, and the browser would draw the page again.
    So it starts after a moment, in another thread; it shows itself half a second later.
    """
    if not has_page():
        yield
        return
    spinner, lock = ExitStack(), Lock()
    done = False

    def start() -> None:
        with lock:
            if not done:
                spinner.enter_context(st.spinner(says))

    timer = Timer(MOMENT, copy_context().run, args=(start,))
    join_page(timer)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        with lock:
            done = True
        spinner.close()
