"""Long work on a page: ask for it, show how far it is, and stop it; see `jobs`.

The job is the visitor's, not the page's. A page that is drawn again while it goes on shows it again.
"""

from collections import deque
from collections.abc import Callable, Hashable
from typing import Any
from weakref import WeakKeyDictionary

import streamlit as st

from viz_app.server.jobs import Job, QuotaError, Report, StoppedError, TooLongError
from viz_app.server.presence import Visitor, visitor
from viz_app.server.server_state import GATE, JOBS

__all__ = ["about", "asked_for", "queue_text", "start_and_wait_for", "wait_for"]

# In the session: the subject of the work that a page started by itself, and what stands for the tab.
STARTED, TAB = "started_work", "tab"
REMEMBERED = 16  # subjects that a visitor stopped
STOPPED: WeakKeyDictionary[Visitor, deque[Hashable]] = WeakKeyDictionary()  # by Stop or by a bound; for all tabs


def asked_for(subject: Hashable) -> bool:
    """Whether this visitor waits for this job."""
    return JOBS.find(subject, visitor()) is not None


def start_and_wait_for(subject: Hashable, work: Callable[[Report], object], *, lane: str, step: str) -> Any:
    """As `wait_for`, for work that starts when its page opens: once it was stopped, a button starts it.

    What the same page started before, for another text, is stopped.
    """
    before = st.session_state.get(STARTED)
    if before not in (None, subject):
        JOBS.turn_away(before, visitor(), tab())
    st.session_state[STARTED] = subject
    if subject in stopped():
        st.caption("Stopped.")
        if not st.button("Start", icon=":material/play_arrow:"):
            return None
    return wait_for(subject, work, lane=lane, step=step)


def wait_for(subject: Hashable, work: Callable[[Report], object], *, lane: str, step: str) -> Any:
    """Draw a progress bar and Stop until the job has finished.

    Args:
        subject: What it is; its key.
        work: See `Jobs.ask`.
        lane: The kind of work.
        step: What is done step by step, such as "Head".

    Returns:
        What the work returned; None where it has reached a bound, which a sentence says.

    Raises:
        Exception: what the work raised.
    """
    forget_stop(subject)
    place = st.empty()
    with place.container():
        bar, button = st.columns([5, 1], vertical_alignment="center")
        progress = bar.empty()
        button.button("Stop", icon=":material/stop:", key=f"stop_{lane}", on_click=stop, args=(subject,))
    try:
        result = followed(subject, work, lane, progress, step)
    except StoppedError:  # in this visitor's other tab
        place.empty()
        st.rerun()
    except (QuotaError, TooLongError) as error:
        stopped().append(subject)
        result = None
        place.warning(str(error))
    else:
        place.empty()
    return result


def stop(subject: Hashable) -> None:
    """Callback: stop the work, in every tab of this visitor."""
    stopped().append(subject)
    JOBS.leave(subject, visitor())


def stopped() -> deque[Hashable]:
    """What this visitor has stopped and not started again."""
    return STOPPED.setdefault(visitor(), deque(maxlen=REMEMBERED))


def forget_stop(subject: Hashable) -> None:
    while subject in stopped():
        stopped().remove(subject)


def tab() -> object:
    """What stands for this tab: a page that is drawn again has another thread, and the same session."""
    return st.session_state.setdefault(TAB, object())


def followed(subject: Hashable, work: Callable[[Report], object], lane: str, place: Any, step: str) -> object:
    """Wait for the end of the job. A click on the page ends this waiting, and not the job.

    Raises:
        StoppedError: this visitor has stopped it.
        Exception: what the work raised.
    """
    me = visitor()
    while True:
        with GATE.outside():
            try:
                job = JOBS.ask(subject, work, lane=lane, owner=me)
                with job.awaited(me, tab()):
                    for _ in job.looks():
                        visitor()  # still here
                        if me not in job.owners:
                            raise StoppedError
                        place.progress(min(job.done / job.steps, 1.0) if job.steps else 0.0, words_for(job, step))
                return job.result
            except StoppedError as error:
                if me in job.owners:  # it was ending when this page joined: ask again
                    continue
                problem: Exception = error
            except Exception as error:  # what is left of the page is drawn inside
                problem = error
        raise problem


def words_for(job: Job, step: str) -> str:
    """How far a job is, and how long it still takes or waits."""
    text = f"{step} {job.done} of {job.steps}" if job.steps else "Starting"
    left = job.seconds_left()
    return queue_text(job) or (text if left is None else f"{text}; {about(left)} left")


def queue_text(job: Job) -> str:
    """The place of a job in its queue, and when it begins; nothing where it has begun."""
    place = JOBS.place(job)
    if not place:
        return ""
    seconds = JOBS.seconds_until(job)
    when = "" if seconds is None else f" It begins in {about(seconds)}."
    return f"Number {place} in the queue.{when}"


def about(seconds: float) -> str:
    """A duration for people."""
    if seconds < 90:
        return f"about {max(5 * round(seconds / 5), 5)} s"
    return f"about {round(seconds / 60)} minutes"
