"""Who is here: a browser, known by a secret of its own, and whether one of its pages is open.

The secret is the random token that Streamlit gives each browser in a cookie against forged requests. It survives a
reload, all tabs of a browser share it, and it stands in no link. Without the cookie, a visitor is a session of
Streamlit.

A browser that closes a tab says so on the connection. A phone that falls asleep, or a network that breaks, says
nothing. So the first is given less time to come back (a reload closes the page as well) than the second.

What it needs to know of Streamlit's inside is in `streamlit_bridge.py`.
"""

import threading
import time
import weakref
from dataclasses import dataclass
from typing import Any

import streamlit as st

from viz_app.server.resources import Seldom
from viz_app.server.streamlit_bridge import (
    browser_closed,
    connection_of,
    secret_of_browser,
    session_id,
)

__all__ = ["AFTER_GOODBYE", "AFTER_SILENCE", "VISITORS", "Visitor", "tabs_beside", "visitor"]

AFTER_GOODBYE = 45.0  # seconds after a tab was closed
AFTER_SILENCE = 180.0  # seconds after a connection broke
REPEAT = 5.0  # seconds from one look at who has left to the next


@dataclass(eq=False)
class Tab:
    """A session of Streamlit, and its latest connection."""

    session: str
    connection: Any = None
    gone_since: float | None = None

    def here(self) -> bool:
        """Whether it is connected, or may come back yet."""
        connection = connection_of(self.session)
        if connection is not None:
            self.connection, self.gone_since = connection, None
            return True
        now = time.monotonic()
        if self.gone_since is None:
            self.gone_since = now
        return now - self.gone_since < (AFTER_GOODBYE if browser_closed(self.connection) else AFTER_SILENCE)


class Visitor:
    """A browser. Equal to itself alone."""

    def __init__(self) -> None:
        self._tabs: dict[str, Tab] = {}
        self._lock = threading.Lock()
        self.last_here = time.monotonic()

    def seen(self, session: str) -> None:
        """A page of this session is being drawn."""
        with self._lock:
            self._tabs[session] = Tab(session, connection_of(session))
            self.last_here = time.monotonic()

    def sessions(self) -> tuple[str, ...]:
        """The sessions of all their tabs, also of those that were closed a moment ago."""
        with self._lock:
            return tuple(self._tabs)

    def here(self) -> bool:
        """Whether one of their pages is open, or was a moment ago."""
        with self._lock:
            self._tabs = {session: tab for session, tab in self._tabs.items() if tab.here()}
            if self._tabs:
                self.last_here = time.monotonic()
            return bool(self._tabs)


VISITORS: weakref.WeakValueDictionary[bytes, Visitor] = weakref.WeakValueDictionary()
LOCK = threading.Lock()


def visitor() -> Visitor:
    """The visitor for whom the script runs."""
    secret = secret_of_browser()
    with LOCK:
        known: Visitor | None = st.session_state.get("visitor")
        found = known or (VISITORS.get(secret) if secret else None) or Visitor()
        if secret:
            VISITORS.setdefault(secret, found)
    st.session_state["visitor"] = found
    found.seen(session_id())
    look_who_left()
    return found


def look_at_all() -> None:
    """Note who is gone: the time of a visitor who left begins when somebody looks."""
    with LOCK:
        known = tuple(VISITORS.values())
    for one in known:
        one.here()


look_who_left = Seldom(work=look_at_all, seconds=REPEAT)


def tabs_beside(session: str) -> dict[str, bool]:
    """The sessions of the browser that has this one, itself among them, and whether each is connected."""
    with LOCK:
        known = tuple(VISITORS.values())
    sessions = next((found for visitor in known if session in (found := visitor.sessions())), (session,))
    return {one: connection_of(one) is not None for one in sessions}
