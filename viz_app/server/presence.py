"""Visitors: a visitor is a browser, recognized by a secret, and is here while one of its pages is open.

The secret is the random token that Streamlit puts into a cookie of each browser against forged requests. It survives a
reload, all tabs of a browser share it, and no link holds it. Without the cookie, a visitor is one session of
Streamlit.

A browser that closes a tab also closes the connection properly. A phone that falls asleep and a broken network do not.
So a closed tab has less time to come back than a lost connection. It needs some time, because a reload closes the page
as well.

`streamlit_bridge.py` reads the internals of Streamlit.
"""

import hashlib
import secrets
import threading
import time
import weakref
from dataclasses import dataclass

import streamlit as st

from viz_app.server.resources import throttled
from viz_app.server.streamlit_bridge import (
    browser_closed,
    connection_of,
    secret_of_browser,
    session_id,
)

__all__ = ["AFTER_GOODBYE", "AFTER_SILENCE", "VISITORS", "Visitor", "count_visitors", "tabs_beside", "visitor"]

AFTER_GOODBYE = 45.0  # seconds after a tab was closed
AFTER_SILENCE = 180.0  # seconds after a connection broke
REPEAT = 5.0  # seconds between two checks of all visitors


@dataclass(eq=False)
class Tab:
    """A session of Streamlit and its latest connection."""

    session: str
    connection: object | None = None
    gone_since: float | None = None

    def here(self) -> bool:
        """Whether the tab is connected, or may still come back."""
        connection = connection_of(self.session)
        if connection is not None:
            self.connection, self.gone_since = connection, None
            return True
        now = time.monotonic()
        if self.gone_since is None:
            self.gone_since = now
        return now - self.gone_since < (AFTER_GOODBYE if browser_closed(self.connection) else AFTER_SILENCE)


class Visitor:
    """A browser. Two visitors are never equal.

    Args:
        secret: Of the browser, if it has one.
    """

    def __init__(self, secret: bytes | None = None) -> None:
        # All processes of the server name a browser alike, and nobody can find the secret from the name.
        self.name = hashlib.sha256(secret or secrets.token_bytes()).hexdigest()[:32]
        self._tabs: dict[str, Tab] = {}
        self._lock = threading.Lock()
        self.last_here = time.monotonic()

    def seen(self, session: str) -> None:
        """Note that a page of this session is being drawn."""
        with self._lock:
            self._tabs[session] = Tab(session, connection_of(session))
            self.last_here = time.monotonic()

    def sessions(self) -> tuple[str, ...]:
        """The sessions of all tabs, also of tabs that were closed a moment ago."""
        with self._lock:
            return tuple(self._tabs)

    def here(self) -> bool:
        """Whether a page of this visitor is open, or was open a moment ago."""
        with self._lock:
            self._tabs = {session: tab for session, tab in self._tabs.items() if tab.here()}
            if self._tabs:
                self.last_here = time.monotonic()
            return bool(self._tabs)


VISITORS: weakref.WeakValueDictionary[bytes, Visitor] = weakref.WeakValueDictionary()
LOCK = threading.Lock()


def visitor() -> Visitor:
    """The visitor of the running script."""
    secret = secret_of_browser()
    with LOCK:
        known: Visitor | None = st.session_state.get("visitor")
        found = known or (VISITORS.get(secret) if secret else None) or Visitor(secret)
        if secret:
            VISITORS.setdefault(secret, found)
    st.session_state["visitor"] = found
    found.seen(session_id())
    check_visitors()
    return found


@throttled(REPEAT)
def check_visitors() -> None:
    """Check all visitors. The time of a closed tab begins at the first check after it closed."""
    count_visitors()


def count_visitors() -> int:
    """The number of visitors who are here."""
    with LOCK:
        known = tuple(VISITORS.values())
    return sum(one.here() for one in known)


def tabs_beside(session: str) -> dict[str, bool]:
    """The sessions of the browser with this session, including this one → whether each is connected."""
    with LOCK:
        known = tuple(VISITORS.values())
    sessions = next((found for visitor in known if session in (found := visitor.sessions())), (session,))
    return {one: connection_of(one) is not None for one in sessions}
