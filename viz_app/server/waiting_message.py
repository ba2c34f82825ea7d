"""A message for the visitor during a computation, after a short moment."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from contextvars import copy_context
from threading import Lock, Timer

import streamlit as st

from viz_app.server.streamlit_bridge import has_page, join_page

__all__ = ["waiting"]

MOMENT = 0.2  # seconds


@contextmanager
def waiting(message: str) -> Iterator[None]:
    """Show a spinner with this message if the work takes long.

    `st.spinner` sends its end to the browser even if it was never visible, and then the browser draws the page again.
    So the spinner starts after a moment, in another thread. It becomes visible half a second later.
    """
    if not has_page():
        yield
        return
    spinner, lock = ExitStack(), Lock()
    done = False

    def start() -> None:
        with lock:
            if not done:
                spinner.enter_context(st.spinner(message))

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
