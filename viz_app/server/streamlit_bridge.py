"""Everything that Headlight uses of Streamlit and that Streamlit does not document, as of version 1.67.

A new version of Streamlit may change any of it without notice. No other file of the app imports internals of
Streamlit. `tests/viz_app/server/test_streamlit_bridge.py` has one test for each of them, which says what has changed
and which function here to repair. The same for the page in the browser: `live/streamlit/bridge.js`.
"""

import math
import threading
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from functools import cache
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import streamlit as st
from streamlit.commands import navigation
from streamlit.delta_generator import DeltaGenerator
from streamlit.elements.lib.mutable_tab_container import TabContainer
from streamlit.errors import FragmentHandledException
from streamlit.navigation.page import StreamlitPage
from streamlit.runtime import Runtime
from streamlit.runtime.scriptrunner import add_script_run_ctx, get_script_run_ctx
from streamlit.runtime.state.session_state import SessionState, WStates
from streamlit.runtime.stats import GaugeStat, HistogramStat, Stat
from streamlit.web.server.starlette.starlette_app_utils import decode_xsrf_token_string
from streamlit.web.server.starlette.starlette_server_config import XSRF_COOKIE_NAME

__all__ = [
    "DeltaGenerator",
    "Family",
    "FragmentHandledException",
    "StreamlitPage",
    "TabContainer",
    "browser_closed",
    "connection_of",
    "has_page",
    "iterate_over_copies",
    "join_page",
    "keep_reconnecting",
    "lead_unknown_addresses_home",
    "look_up_single_values",
    "publish_figures",
    "received_files",
    "secret_of_browser",
    "session_id",
    "start_app",
    "titled_page",
    "went_through_history",
    "wrap_callbacks",
]

SECRET = 16  # bytes of the secret that Streamlit gives each browser
HOUR = 3600  # seconds


def has_page() -> bool:
    """Whether this thread runs the script for a page. A job does not."""
    return get_script_run_ctx(suppress_warning=True) is not None


def join_page(thread: threading.Thread) -> None:
    """Let a thread that is not started yet write on the page of the thread that calls this."""
    add_script_run_ctx(thread)


def session_id() -> str:
    """The session that the script runs for; "" outside a server."""
    context = get_script_run_ctx()
    return context.session_id if context else ""


def went_through_history() -> bool:
    """Whether the browser's Back or Forward button caused this run."""
    context = get_script_run_ctx()
    return context is not None and context.is_history_navigation


@cache
def wrap_callbacks(run: Callable[[Callable[[], None]], None]) -> None:
    """Make Streamlit call `run(callback)` instead of each callback, in this process; the second call does nothing.

    Callbacks run before the script, where no page can catch what they raise. The callbacks of widgets and those of
    components pass one method of Streamlit, and this replaces it.
    """
    states: Any = SessionState
    original = states._run_callback_and_record_rerun

    def wrapped(self: SessionState, votes: object, callback: Callable[[], None]) -> None:
        original(self, votes, lambda: run(callback))

    states._run_callback_and_record_rerun = wrapped


@st.fragment(run_every=HOUR)
def keep_reconnecting() -> None:
    """Show nothing. After a broken connection the page runs again only if a fragment on it runs by itself.

    Without this, a page whose server has restarted would not react, and would lose the first change after that.
    """


def iterate_over_copies() -> None:
    """Let the values of widgets change while Streamlit goes through them.

    A change in the browser starts a new run while the run before it is still ending, and both use the same values
    without a common lock. Otherwise the new run can fail with "dictionary changed size during iteration".
    """
    states: Any = WStates
    states.__iter__ = lambda self: iter(list(self.states))


def titled_page(title: str, **settings: Hashable) -> StreamlitPage:
    """As `st.Page` for a script, which `st.Page` examines again in each call.

    Args:
        title: Of the page, in the language of the visitor.
        settings: The script and the other arguments of `st.Page`.
    """
    page = copy(examined_page(has_page(), **settings))
    page._title = title
    return page


@cache
def examined_page(in_run: bool, *, script: Path, **settings: Any) -> StreamlitPage:
    """Only in a run of a page does `st.Page` make a whole page."""
    return st.Page(script, title="-", **settings)


class StateView(Mapping[str, Any]):
    """The values of a session by key, each looked up when it is needed."""

    def __init__(self, state: SessionState, collect: Callable[[SessionState], dict[str, Any]]) -> None:
        self.state, self.collect = state, collect

    def __getitem__(self, key: str) -> Any:
        return self.state[key]

    def __contains__(self, key: object) -> bool:
        return key in self.state

    def __iter__(self) -> Iterator[str]:
        return iter(self.collect(self.state))

    def __len__(self) -> int:
        return len(self.collect(self.state))


@cache
def look_up_single_values() -> None:
    """Let each list and each slider look up its own value only, in this process; the second call does nothing.

    Streamlit collects all values of the session for each of them, which takes longer than the rest of the widget.
    """
    states: Any = SessionState
    collect = states.filtered_state.fget
    states.filtered_state = property(lambda self: StateView(self, collect))


def lead_unknown_addresses_home() -> None:
    """Open the default page at an address that no page has, without the window of Streamlit, which is in English."""
    home: Any = navigation
    home.send_page_not_found = lambda _: None


class Durations(Protocol):
    """How often something took at most so many seconds, without what a smaller limit counts, and the sum."""

    limits: tuple[float, ...]
    counts: list[int]
    sum: float


class Family(NamedTuple):
    """Figures of one name: labels and a value for each, or times."""

    name: str
    help: str
    unit: str = ""
    values: Sequence[tuple[dict[str, str], int]] = ()
    times: Durations | None = None

    def stats(self) -> list[Stat]:
        """The same for Streamlit."""
        if self.times is None:
            return [GaugeStat(self.name, value, labels, self.unit, self.help) for labels, value in self.values]
        sums = tuple(accumulate(self.times.counts))
        buckets = tuple(zip((*self.times.limits, math.inf), sums, strict=True))
        return [HistogramStat(self.name, buckets, self.times.sum, sums[-1], None, self.unit, self.help)]


class Figures:
    """A `StatsProvider` of Streamlit."""

    def __init__(self, ask: Callable[[], Iterable[Family]]) -> None:
        self.ask = ask
        self.stats_families = [family.name for family in ask()]

    def get_stats(self, family_names: Sequence[str] | None = None) -> Mapping[str, Sequence[Stat]]:
        wanted = self.stats_families if family_names is None else family_names
        return {family.name: family.stats() for family in self.ask() if family.name in wanted}


PUBLISHED: list[Figures] = []  # of this process


def publish_figures(ask: Callable[[], Iterable[Family]]) -> None:
    """Let `/_stcore/metrics` show these figures too; the second call does nothing."""
    if not PUBLISHED and Runtime.exists():
        PUBLISHED.append(Figures(ask))
        Runtime.instance().stats_mgr.register_provider(PUBLISHED[0])


def received_files() -> Any:
    """The store of the files that browsers have sent, a `MemoryUploadedFileManager`; None outside a server."""
    return Runtime.instance().uploaded_file_mgr if Runtime.exists() else None


def start_app(script: str, *options: str) -> int:
    """Do the same as `streamlit run`; returns its exit code."""
    from streamlit.web import cli  # slow to import, and a running app does not need it

    return int(cli.main(["run", script, *options], prog_name="headlight") or 0)


def secret_of_browser() -> bytes | None:
    """The secret in the cookie that Streamlit gives each browser; None if the browser sent no cookie."""
    cookie = st.context.cookies.to_dict().get(XSRF_COOKIE_NAME)
    secret = decode_xsrf_token_string(cookie)[0] if isinstance(cookie, str) else None
    return secret if secret and len(secret) >= SECRET else None


def connection_of(session: str) -> object | None:
    """The connection of a session; None after its browser has gone."""
    return Runtime.instance().get_client(session) if Runtime.exists() else None


def browser_closed(connection: Any) -> bool:
    """Whether the browser itself closed the connection: uvicorn keeps the closing frame that it received.

    True if this cannot be seen any more.
    """
    try:
        return connection._websocket._receive.__self__.conn.close_rcvd is not None
    except AttributeError:
        return True
