"""Long work on a page: ask for it, show how far it is, and stop it; see `jobs`.

The job is the visitor's, not the page's. A page that is drawn again while it goes on shows it again.
"""

from collections.abc import Callable, Hashable
from typing import Any

import streamlit as st

from viz_app.jobs import Job, QuotaError, Report, StoppedError, TooLongError
from viz_app.presence import visitor
from viz_app.shared import GATE, JOBS

__all__ = ["about", "asked_for", "queue_text", "start_and_wait_for", "wait_for"]

# In the session: the subject of the job that was stopped last, and of the one that a page started by itself.
STOPPED, STARTED = "stopped_work", "started_work"


def asked_for(subject: Hashable) -> bool:
    """Whether this visitor waits for this job."""
    return JOBS.find(subject, visitor()) is not None


def start_and_wait_for(subject: Hashable, work: Callable[[Report], object], *, lane: str, step: str) -> Any:
    """As `wait_for`, for work that starts when its page opens: once it was stopped, a button starts it.

    What the same page started before, for another text, is stopped.
    """
    before = st.session_state.get(STARTED)
    if before not in (None, subject):
        JOBS.leave(before, visitor())
    st.session_state[STARTED] = subject
    if st.session_state.get(STOPPED) == subject and not st.button("Start", icon=":material/play_arrow:"):
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
    st.session_state.pop(STOPPED, None)
    place = st.empty()
    with place.container():
        bar, button = st.columns([5, 1], vertical_alignment="center")
        progress = bar.empty()
        button.button("Stop", icon=":material/stop:", key=f"stop_{lane}", on_click=stop, args=(subject,))
    try:
        result = followed(subject, work, lane, progress, step)
    except (QuotaError, TooLongError) as error:
        st.session_state[STOPPED] = subject
        result = None
        place.warning(str(error))
    else:
        place.empty()
    return result


def stop(subject: Hashable) -> None:
    """Callback."""
    JOBS.leave(subject, visitor())
    st.session_state[STOPPED] = subject


def followed(subject: Hashable, work: Callable[[Report], object], lane: str, place: Any, step: str) -> object:
    """Wait for the end of the job. A click on the page ends this waiting, and not the job."""
    while True:
        with GATE.outside():
            try:
                job = JOBS.ask(subject, work, lane=lane, owner=visitor())
                for _ in job.looks():
                    visitor()  # still here
                    text = f"{step} {job.done} of {job.steps}" if job.steps else "Starting"
                    left = job.seconds_left()
                    text = queue_text(job) or (text if left is None else f"{text}; {about(left)} left")
                    place.progress(min(job.done / job.steps, 1.0) if job.steps else 0.0, text)
                return job.result
            except StoppedError:  # in another tab, or just when this one joined: ask again
                continue
            except Exception as error:  # what is left of the page is drawn inside
                problem = error
        raise problem


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
