"""Visitors: a browser is recognized after a reload, and a closed tab differs from a broken connection."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from http.cookies import SimpleCookie
from types import SimpleNamespace
from urllib.request import urlopen

import pytest

from benchmarks.server import streamlit
from benchmarks.visitor import Answer
from benchmarks.visitor import Visitor as Tab
from viz_app.server import presence
from viz_app.server.presence import AFTER_GOODBYE, AFTER_SILENCE, Visitor


class Clock:
    now = 1_000.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(presence, "time", clock)
    return clock


@pytest.fixture
def connections(monkeypatch: pytest.MonkeyPatch) -> dict[str, object]:
    """Session → its connection, as Streamlit would say."""
    found: dict[str, object] = {}
    monkeypatch.setattr(presence, "connection_of", found.get)
    return found


def connection(*, goodbye: bool) -> object:
    frame = SimpleNamespace(close_rcvd="frame" if goodbye else None)

    class Protocol:
        conn = frame

        def receive(self) -> None: ...

    return SimpleNamespace(_websocket=SimpleNamespace(_receive=Protocol().receive))


@pytest.mark.parametrize(("goodbye", "seconds"), [(True, AFTER_GOODBYE), (False, AFTER_SILENCE)])
def test_a_closed_tab_has_less_time_than_a_broken_connection(
    clock: Clock, connections: dict[str, object], goodbye: bool, seconds: float
) -> None:
    someone, connections["a"] = Visitor(), connection(goodbye=goodbye)
    someone.seen("a")
    clock.now += 3600  # a hidden tab says nothing for an hour, and is still connected
    assert someone.here()
    del connections["a"]
    assert someone.here()
    clock.now += seconds - 1
    assert someone.here()
    clock.now += 2
    assert not someone.here()


def test_the_times_keep_what_is_promised() -> None:
    assert AFTER_GOODBYE < 60  # a closed tab ends a training within a minute
    assert AFTER_SILENCE > 120  # a phone may sleep for two


def test_a_reload_and_a_second_tab_keep_a_visitor_here(clock: Clock, connections: dict[str, object]) -> None:
    someone, connections["a"] = Visitor(), connection(goodbye=True)
    someone.seen("a")
    del connections["a"]
    assert someone.here()
    clock.now += AFTER_GOODBYE - 1
    connections["b"] = connection(goodbye=True)
    someone.seen("b")
    clock.now += 3600
    assert someone.here()
    del connections["b"]
    assert someone.here()
    clock.now += AFTER_GOODBYE + 1
    assert not someone.here()


async def visit_all(url: str) -> tuple[list[Answer], list[Tab]]:
    """One browser's tab that is closed, one whose connection breaks and one that is open, then one of another."""
    with urlopen(f"{url}/_stcore/health") as answer:
        cookies = SimpleCookie(answer.headers["Set-Cookie"])
    closed, lost, last, other = tabs = [Tab(url) for _ in range(4)]
    for tab in (closed, lost, last):
        tab.cookies = cookies
    answers = []
    for tab in tabs:
        await tab.connect()
        answers.append(await tab.look())
        if tab is closed:
            await tab.leave()
        elif tab is lost:
            assert tab.socket is not None
            tab.socket.transport.abort()
    await last.leave()
    await other.leave()
    return answers, tabs


def test_a_real_server_knows_a_browser_again_and_how_its_tabs_went_away() -> None:
    """The canary of `connection_of` and `browser_closed`: what they read in Streamlit and uvicorn is still there."""
    # In its own thread: a browser test in this process may have left an event loop in this one.
    with streamlit("tests/viz_app/server/presence_page.py") as server, ThreadPoolExecutor(1) as pool:
        answers, tabs = pool.submit(asyncio.run, visit_all(server.url)).result()
    first, _, third, other = (answer.texts for answer in answers)
    assert third[0] == first[0]
    assert other[0] != first[0]
    states = {text.split()[1]: text.split()[2] for text in third if text.startswith("tab")}
    assert [states[tab.session] for tab in tabs[:3]] == ["closed", "lost", "open"], (
        "Streamlit or uvicorn no longer says how a connection ended. Repair `browser_closed` or `connection_of` in "
        "viz_app/server/streamlit_bridge.py."
    )
    assert "known 1" in other  # one who gives no secret is known to nobody
