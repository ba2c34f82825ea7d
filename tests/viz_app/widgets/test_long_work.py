"""Long work on a page: its progress, Stop, and the same work again after the page was drawn again."""

import threading
import time
from collections.abc import Callable, Hashable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from streamlit.testing.v1 import AppTest

from tests.conftest import PATIENCE
from tests.viz_app.server.test_gate import until
from viz_app.server.jobs import Job, Jobs, Lane, Owner, Report, StoppedError
from viz_app.server.presence import Visitor
from viz_app.widgets import long_work


class Work:
    """A job that runs until `go_on` is set."""

    def __init__(self) -> None:
        self.go_on, self.begun, self.reports = threading.Event(), 0, 0

    def __call__(self, report: Report) -> str:
        self.begun += 1
        while not self.go_on.is_set():
            report(1, 4)
            self.reports += 1
            time.sleep(0.01)
        return "the result"

    def ends_once(self, true: Callable[[], bool]) -> None:
        def wait() -> None:
            until(true)
            self.go_on.set()

        threading.Thread(target=wait).start()


class CountingJobs(Jobs):
    """Jobs that count the requests."""

    asked = 0

    def ask(self, key: Hashable, work: Callable[[Report], object], *, lane: str, owner: Owner) -> Job:
        job = super().ask(key, work, lane=lane, owner=owner)
        self.asked += 1
        return job


@pytest.fixture
def jobs(monkeypatch: pytest.MonkeyPatch) -> CountingJobs:
    jobs = CountingJobs({"one": Lane(width=1, seconds=60)})
    monkeypatch.setattr(long_work, "JOBS", jobs)
    return jobs


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch, jobs: CountingJobs) -> Iterator[Work]:
    work = Work()
    monkeypatch.setattr("tests.viz_app.widgets.test_long_work.WORK", work)
    yield work
    work.go_on.set()


WORK = Work()


def page_with_a_button() -> None:
    import streamlit as st

    from tests.viz_app.widgets import test_long_work
    from viz_app.widgets.long_work import requested, wait_for

    if requested("a") or st.button("Measure"):
        st.markdown(str(wait_for("a", test_long_work.WORK, lane="one", step="Head")))


def page_that_starts_it() -> None:
    import streamlit as st

    from tests.viz_app.widgets import test_long_work
    from viz_app.widgets.long_work import start_and_wait_for

    st.session_state.setdefault("subject", "a")
    subject = st.text_input("Text", key="subject")
    if (found := start_and_wait_for(subject, test_long_work.WORK, lane="one", step="Head")) is not None:
        st.markdown(str(found))


def opened(page: Callable[[], None]) -> AppTest:
    return AppTest.from_function(page, default_timeout=PATIENCE)


def labels(app: AppTest) -> list[str]:
    return [button.label for button in app.button]


def someone() -> Visitor:
    visitor = Visitor()
    visitor.seen("a session")
    return visitor


@pytest.fixture
def me(monkeypatch: pytest.MonkeyPatch) -> Visitor:
    """The one visitor of all tabs."""
    me = someone()
    monkeypatch.setattr(long_work, "visitor", lambda: me)
    return me


@pytest.mark.parametrize("another_waits", [False, True])
@pytest.mark.parametrize(("page", "button"), [(page_that_starts_it, "Start"), (page_with_a_button, "Measure")])
def test_stop_in_one_tab_reaches_the_visitors_other_tabs_and_nobody_else(
    me: Visitor, work: Work, jobs: CountingJobs, page: Callable[[], None], button: str, another_waits: bool
) -> None:
    job = jobs.ask("a", work, lane="one", owner=someone() if another_waits else me)
    jobs.ask("a", work, lane="one", owner=me)
    tab = opened(page)
    with ThreadPoolExecutor(1) as pool:
        run = pool.submit(tab.run)
        until(lambda: len(job.pages) == 1)
        long_work.stop("a")  # as another tab calls it
        run.result()
    assert labels(tab) == [button]
    assert work.begun == 1
    if another_waits:
        assert not job.finished.is_set()
    work.go_on.set()
    tab.button[0].click().run()
    assert tab.markdown[-1].value == "the result"


def test_another_text_in_one_tab_does_not_stop_what_another_tab_waits_for(
    me: Visitor, work: Work, jobs: CountingJobs
) -> None:
    job = jobs.ask("a", work, lane="one", owner=me)

    def reported_twice_more() -> bool:
        before = work.reports
        until(lambda: job.finished.is_set() or work.reports > before + 1)
        return True

    moving = opened(page_that_starts_it)
    moving.session_state[long_work.STARTED] = "a"
    moving.session_state["subject"] = "b"
    work.ends_once(lambda: jobs.asked == 2 and reported_twice_more())
    with job.awaited(me, "another tab"):
        moving.run()
    assert job.error is None
    assert moving.markdown[-1].value == "the result"


def test_a_page_that_is_drawn_again_waits_for_the_same_work(work: Work, jobs: CountingJobs) -> None:
    app = opened(page_with_a_button).run()
    jobs.ask("a", work, lane="one", owner=app.session_state["visitor"])  # in a run that a click has ended
    until(lambda: work.begun == 1)
    work.ends_once(lambda: jobs.asked == 2)
    app.run()
    assert app.markdown[-1].value == "the result"
    assert not app.button
    assert work.begun == 1


def test_another_text_stops_the_work_for_the_last_text(work: Work, jobs: CountingJobs) -> None:
    app = opened(page_that_starts_it)
    work.go_on.set()
    app.run()
    work.go_on.clear()
    job = jobs.ask("a", work, lane="one", owner=app.session_state["visitor"])
    until(lambda: work.begun == 2)
    work.ends_once(job.finished.is_set)
    app.text_input[0].set_value("b").run()
    assert app.markdown[-1].value == "the result"
    assert isinstance(job.error, StoppedError)


def test_a_limit_shows_a_message_and_a_button_starts_the_work_again(
    work: Work, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(long_work.JOBS.lanes, "one", Lane(width=1, seconds=0.05))  # type: ignore[index]
    app = opened(page_that_starts_it).run()
    assert "the limit" in app.warning[0].value
    app.run()
    assert [button.label for button in app.button] == ["Start"]
    assert work.begun == 1
    work.go_on.set()
    app.button[0].click().run()
    assert app.markdown[-1].value == "the result"
    assert [button.label for button in app.button if button.label == "Stop"] == []


@pytest.mark.parametrize(("seconds", "words"), [(1, "about 5 s"), (61, "about 60 s"), (200, "about 3 min")])
def test_durations_are_rounded(seconds: float, words: str) -> None:
    assert long_work.duration_text(seconds) == words
