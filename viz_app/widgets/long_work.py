"""Long work on a page: start it, show its progress, stop it; see `jobs`.

A job belongs to the visitor and not to the page. A page that is drawn again during the job shows it again.
"""

from collections import deque
from collections.abc import Callable, Hashable
from typing import TypeVar, cast
from weakref import WeakKeyDictionary

import streamlit as st

from viz_app.content.numbers import sentences
from viz_app.content.translation import t, worded
from viz_app.server.jobs import Job, QuotaError, Report, StoppedError, TooLongError
from viz_app.server.presence import Visitor, visitor
from viz_app.server.server_state import GATE, JOBS
from viz_app.server.streamlit_bridge import DeltaGenerator
from viz_app.services.analyses import Analysis
from viz_app.session.page_end import end_page

__all__ = ["duration_text", "measured", "queue_text", "requested", "start_and_wait_for", "wait_for"]

Result = TypeVar("Result")

# Keys of the session: the subject of the work that the page started without a click, and an object for the tab.
STARTED, TAB = "started_work", "tab"
REMEMBERED = 16  # subjects that a visitor stopped
# Visitor → subjects that this visitor or a limit stopped, in any tab.
STOPPED: WeakKeyDictionary[Visitor, deque[Hashable]] = WeakKeyDictionary()


def requested(subject: Hashable) -> bool:
    """Whether this visitor waits for the job with this subject."""
    return JOBS.find(subject, visitor()) is not None


def measured(analysis: Analysis[Result], *, lane: str, step: str, ask: str = "") -> Result:
    """The result of an analysis that takes long, from a job.

    Args:
        analysis: What is measured.
        lane: See `wait_for`.
        step: See `wait_for`.
        ask: The label of a button that starts the job; without it, the job starts when its page opens.

    Raises:
        PageEnded: there is no result yet.
    """
    known = analysis.known()
    if known is None and not ask:
        known = start_and_wait_for(*analysis.work(), lane=lane, step=step)
    elif known is None:
        wanted = requested(analysis) or st.button(ask, icon=":material/play_arrow:", key="measure")
        if wanted and wait_for(*analysis.work(), lane=lane, step=step) is not None:
            st.rerun()
    return end_page() if known is None else known


def start_and_wait_for(subject: Hashable, work: Callable[[Report], Result], *, lane: str, step: str) -> Result | None:
    """As `wait_for`, for work that starts when its page opens. After a stop, a button starts it again.

    Work that the same page started for another text is stopped.
    """
    before = st.session_state.get(STARTED)
    if before not in (None, subject):
        JOBS.turn_away(before, visitor(), tab())
    st.session_state[STARTED] = subject
    if subject in stopped_subjects():
        st.caption(t("Stopped."))
        if not st.button(t("Start"), icon=":material/play_arrow:"):
            return None
    return wait_for(subject, work, lane=lane, step=step)


def wait_for(subject: Hashable, work: Callable[[Report], Result], *, lane: str, step: str) -> Result | None:
    """Draw a progress bar and a Stop button until the job has finished.

    Args:
        subject: The key of the job.
        work: See `Jobs.ask`.
        lane: The kind of work.
        step: A sentence about the progress, marked with `N_`, such as "Head {done} of {total}."

    Returns:
        The result of the work. None where it reached a limit; then a warning names the limit.

    Raises:
        Exception: the error of the work.
    """
    while subject in stopped_subjects():  # a tab and a limit may each have added it
        stopped_subjects().remove(subject)
    place = st.empty()
    with place.container():
        bar, button = st.columns([5, 1], vertical_alignment="center")
        progress = bar.empty()
        button.button(t("Stop"), icon=":material/stop:", key=f"stop_{lane}", on_click=stop, args=(subject,))
    try:
        result: Result | None = result_of(subject, work, lane, progress, step)
    except StoppedError:  # in another tab of this visitor
        place.empty()
        st.rerun()
    except (QuotaError, TooLongError) as error:
        stopped_subjects().append(subject)
        result = None
        place.warning(worded(error))
    else:
        place.empty()
    return result


def stop(subject: Hashable) -> None:
    """Callback: stop the work, in every tab of this visitor."""
    stopped_subjects().append(subject)
    JOBS.leave(subject, visitor())


def stopped_subjects() -> deque[Hashable]:
    """The subjects that this visitor stopped and did not start again."""
    return STOPPED.setdefault(visitor(), deque(maxlen=REMEMBERED))


def tab() -> object:
    """An object for this tab. A page that is drawn again has another thread and the same session."""
    return st.session_state.setdefault(TAB, object())


def result_of(
    subject: Hashable, work: Callable[[Report], Result], lane: str, place: DeltaGenerator, step: str
) -> Result:
    """Wait for the end of the job. A click on the page ends the waiting, not the job.

    Raises:
        StoppedError: this visitor stopped it.
        Exception: the error of the work.
    """
    me = visitor()
    while True:
        with GATE.outside():
            try:
                job = JOBS.ask(subject, work, lane=lane, owner=me)
                with job.awaited(me, tab()):
                    for _ in job.looks():
                        visitor()  # note that this visitor is still here
                        if me not in job.owners:
                            raise StoppedError
                        place.progress(min(job.done / job.steps, 1.0) if job.steps else 0.0, progress_text(job, step))
                return cast(Result, job.result)  # all jobs with this subject do the same work
            except StoppedError as error:
                if me in job.owners:  # the job was ending when this page joined it, so ask again
                    continue
                problem: Exception = error
            except Exception as error:  # raised below: the rest of the page is drawn inside the gate
                problem = error
        raise problem


def progress_text(job: Job, step: str) -> str:
    """How far a job is, with the time that is left, or its place in the queue."""
    if waiting := queue_text(job):
        return waiting
    if not job.steps:
        return t("Starting …")
    progress, left = t(step, done=job.done, total=job.steps), job.seconds_left()
    return progress if left is None else sentences([progress, t("Time left: {time}.", time=duration_text(left))])


def queue_text(job: Job) -> str:
    """The place of a job in its queue and the time until it starts; "" for a job that runs."""
    place = JOBS.place(job)
    if not place:
        return ""
    seconds = JOBS.seconds_until(job)
    if seconds is None:
        return t("Your place in the queue: {place}.", place=place)
    return t("Your place in the queue: {place}. It starts in {time}.", place=place, time=duration_text(seconds))


def duration_text(seconds: float) -> str:
    """A rounded duration, such as "about 20 s"."""
    if seconds < 90:
        return t("about {seconds} s", seconds=max(5 * round(seconds / 5), 5))
    return t("about {minutes} min", minutes=round(seconds / 60))
