"""Where a page or a callback fails: a visitor reads a sentence, the log keeps the traceback, and the app goes on."""

import logging
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import streamlit as st

from model.checkpoints.checkpoint import CheckpointError
from model.config.section import ConfigError
from model.corpora.corpora import CorpusError
from viz_app.content.plain import as_sentence, plain
from viz_app.server.streamlit_bridge import FragmentHandledException, wrap_callbacks
from viz_app.session.page_end import PageEnded

__all__ = ["boundary", "guard_callbacks", "problems_of_callbacks"]

LOG = logging.getLogger("headlight")
KNOWN = (CheckpointError, ConfigError, CorpusError)  # these messages are written for a visitor


PROBLEMS = "problems_of_callbacks"  # in the session: sentences that the page of this run shows


@contextmanager
def boundary(
    part: str,
    *,
    failed: str = "could not be shown",
    remedy: str = "Change the text or choose another checkpoint.",
    show: Callable[[str], object] = st.error,
) -> Iterator[None]:
    """Show a sentence where a part of the app fails, and go on behind it.

    `PageEnded` ends the part without a message. What Streamlit raises to stop or repeat a run is no error and passes.

    Args:
        part: What may fail, such as "This page". It begins the sentence.
        failed: What became of it. It goes on with the sentence.
        remedy: What the visitor can do.
        show: Called with the sentence.
    """
    try:
        yield
    except PageEnded:
        pass
    except FragmentHandledException:  # Streamlit has shown its message already
        raise
    except KNOWN as error:
        show(plain(as_sentence(str(error))))
    except Exception:
        number = secrets.token_hex(3)
        LOG.exception("%s failed, error %s", part, number)
        show(
            f"{part} {failed} because of an error in Headlight. {remedy} "
            f"The log of the server describes the error under the number {number}."
        )


def guard_callbacks() -> None:
    """Run every callback inside a boundary, in this process; the second call does nothing."""
    wrap_callbacks(attempt)


def attempt(callback: Callable[[], None]) -> None:
    """Run a callback. Where it fails, keep a sentence for the page, and have all of the page drawn."""
    problems: list[str] = []
    with boundary("Your last action", failed="failed", remedy="Your choices are kept.", show=problems.append):
        callback()
    if problems:
        st.session_state[PROBLEMS] = (*st.session_state.get(PROBLEMS, ()), *problems)
        st.rerun()  # the callback may belong to a fragment, which is no place for the sentence


def problems_of_callbacks() -> None:
    """Say once what failed since the last run."""
    for problem in st.session_state.pop(PROBLEMS, ()):
        st.error(problem)
