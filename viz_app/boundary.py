"""Where a page fails: a visitor reads a sentence, the log keeps the traceback, and the rest of the app goes on."""

import logging
import secrets
from collections.abc import Iterator
from contextlib import contextmanager

import streamlit as st
from streamlit.errors import FragmentHandledException

from model.checkpoint import CheckpointError
from model.config import ConfigError
from model.corpora.corpora import CorpusError
from viz_app.ending import PageEnded
from viz_app.plain import as_sentence, plain

__all__ = ["boundary"]

LOG = logging.getLogger("headlight")
KNOWN = (CheckpointError, ConfigError, CorpusError)  # these messages are written for a visitor


@contextmanager
def boundary(part: str) -> Iterator[None]:
    """Show a sentence where a part of the app fails, and go on behind it.

    `PageEnded` ends the part without a message. What Streamlit raises to stop or repeat a run is no error and passes.

    Args:
        part: What may fail, such as "This page". It begins the sentence.
    """
    try:
        yield
    except PageEnded:
        pass
    except FragmentHandledException:  # Streamlit has shown its message already
        raise
    except KNOWN as error:
        st.error(plain(as_sentence(str(error))))
    except Exception:
        number = secrets.token_hex(3)
        LOG.exception("%s failed, error %s", part, number)
        st.error(
            f"{part} could not be shown because of an error in Headlight. Change the text or choose another "
            f"checkpoint. The log of the server describes the error under the number {number}."
        )
