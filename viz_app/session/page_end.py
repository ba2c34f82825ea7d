"""How a page ends before its last line, and where a page or a callback fails.

The visitor reads a message, the log keeps the traceback, and the app continues.
"""

import logging
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NoReturn

import streamlit as st

from model.messages import MessageError
from viz_app.content.plain import as_sentence, plain
from viz_app.content.translation import N_, t, worded
from viz_app.server.streamlit_bridge import FragmentHandledException, wrap_callbacks
from viz_app.session.language import begin_language

__all__ = ["PageEnded", "boundary", "end_page", "guard_callbacks", "show_callback_problems"]

LOG = logging.getLogger("headlight")
PROBLEMS = "callback_problems"  # in the session: messages that the next page shows


class PageEnded(Exception):  # noqa: N818 - it is no error
    """The rest of the page is left out."""


def end_page(reason: str = "") -> NoReturn:
    """Show the reason, if there is one, and leave out the rest of the page.

    The router continues. After `st.stop` it would not, and the choices of the visitor would not reach the URL.
    """
    if reason:
        st.info(reason)
    raise PageEnded


@contextmanager
def boundary(
    failure: str,
    *,
    remedy: str = N_("Change the text or choose another checkpoint."),
    show: Callable[[str], object] = st.error,
) -> Iterator[None]:
    """Show a message where a part of the app fails, and continue after it.

    `PageEnded` ends the part without a message. The exceptions that Streamlit raises to stop or repeat a run pass
    through.

    Args:
        failure: What the visitor reads first, such as `N_("This page could not be shown.")`.
        remedy: What the visitor can do, as a sentence marked with `N_`.
        show: Called with the message.
    """
    try:
        yield
    except PageEnded:
        pass
    except FragmentHandledException:  # Streamlit has already shown its message
        raise
    except MessageError as error:  # written for a visitor
        show(plain(as_sentence(worded(error))))
    except Exception:
        number = secrets.token_hex(3)
        LOG.exception("%s Error %s", failure, number)
        cause = t(
            "The cause is an error in Headlight. The log of the server describes it under the number {number}.",
            number=number,
        )
        show(f"{t(failure)} {t(remedy)} {cause}")


def guard_callbacks() -> None:
    """Run every callback of this process inside a boundary. The second call does nothing."""
    wrap_callbacks(run_callback)


def run_callback(callback: Callable[[], None]) -> None:
    """Run a callback. Where it fails, keep a message for the page, and draw the whole page again."""
    begin_language()  # a callback runs before the script
    problems: list[str] = []
    with boundary(N_("Your last action failed."), remedy=N_("Your choices are kept."), show=problems.append):
        callback()
    if problems:
        st.session_state[PROBLEMS] = (*st.session_state.get(PROBLEMS, ()), *problems)
        st.rerun()  # the callback may belong to a fragment, which cannot show the message


def show_callback_problems() -> None:
    """Show the callbacks that failed since the last run, once."""
    for problem in st.session_state.pop(PROBLEMS, ()):
        st.error(problem)
