"""What the browser keeps of the course, and the offer of the tour at a first visit."""

from dataclasses import asdict

import streamlit as st

from viz_app.components.mounting import component
from viz_app.content.shared import PAGES
from viz_app.content.translation import t
from viz_app.course.catalogue import TOUR
from viz_app.course.progress import written_before
from viz_app.course.visit import lesson_visit
from viz_app.widgets.presenter_mode import presenting

__all__ = ["begin_tour", "note_first_visit", "store_in_browser", "tour_button"]

KEY = "lesson_store_parts"  # of the component; `LessonData` of `lesson_store.js` describes its data
OFFER = "tour_offer"  # in the session: whether the visit began with an address without parameters


def note_first_visit() -> None:
    """Before anything else: a visitor with a link knows what to see, and gets no offer."""
    st.session_state.setdefault(OFFER, not st.query_params)


def begin_tour() -> None:
    """Callback: open the tour."""
    lesson_visit().begin(TOUR.link(TOUR.steps[0]))


def tour_button() -> None:
    """The way to the tour for everybody who wants it later."""
    st.button(t("Take the tour"), icon=":material/tour:", type="tertiary", key="take_tour", on_click=begin_tour)


def store_in_browser(page: str) -> None:
    """After the page: let the browser keep the answers and what was there before the lesson.

    A page without a lesson has this part only after a change, and where it shows answers or offers the tour.
    """
    visit = lesson_visit()
    changes = [[number, name, asdict(visit.progress[name])] for name, number in visit.changes.items()]
    offers = bool(st.session_state[OFFER]) and page == "translate" and not visit.step and not presenting()
    if not (offers or visit.step or visit.number or page == "lessons"):
        return
    with st.container(key="lesson_store"):
        component(
            "lesson_store",
            "ui/lesson_store",
            key=KEY,
            stored=visit.receive_progress,
            before=lambda value: visit.receive_before(value, PAGES),
            tour=lambda _: begin_tour(),
            pointed=visit.point,
            data={
                "session": visit.session,
                "changes": changes,
                "forgotten": visit.forgotten,
                "before": [visit.before_changed, written_before(visit.before) if visit.before else None],
                "offer": offers,
                "pointing": [visit.step, visit.opened[1].points_at if visit.opened else ""],
            },
        )
