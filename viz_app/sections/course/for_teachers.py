"""What a teacher needs besides a class: the lessons on paper, and a plan for four sessions."""

from datetime import date

import streamlit as st

from viz_app.content.lesson_texts import lesson_text, plan_text
from viz_app.content.translation import N_, language, t
from viz_app.course.catalogue import LESSONS
from viz_app.course.expected import expected_work, known_answers
from viz_app.course.lesson import Lesson
from viz_app.export.lesson_sheet import lesson_sheet, plan_sheet
from viz_app.server.addresses import addresses_for_others
from viz_app.server.streamlit_bridge import DeltaGenerator
from viz_app.services.listing import shared_checkpoints
from viz_app.session.links import link
from viz_app.widgets.long_work import requested, wait_for

__all__ = ["for_teachers"]

PLAN = "plan"  # in the list of pages; no lesson has this name
STEP = N_("Step {done} of {total}.")


def for_teachers() -> None:
    """Draw the choice of a page for paper, and the plan."""
    st.markdown(
        t(
            "A page for paper has the questions of a lesson, the expected answers with the numbers of this server, and "
            "common mistakes. It also opens in a browser without this app."
        )
    )
    numbered = enumerate(LESSONS, start=1)
    titles = {lesson.name: f"{number}. {lesson_text(lesson.name, language()).title}" for number, lesson in numbered}
    titles[PLAN] = plan_text(language()).partition("\n")[0].removeprefix("# ")
    left, right = st.columns([3, 1], vertical_alignment="bottom")
    name = left.selectbox(t("Page for paper"), titles, format_func=lambda one: titles[one], key="sheet")
    if name == PLAN:
        save_button(right, PLAN, plan_sheet(plan_text(language())))
    else:
        sheet_of(next(lesson for lesson in LESSONS if lesson.name == name), right)
    with st.expander(titles[PLAN], key="plan"):
        st.markdown(plan_text(language()).partition("\n")[2])


def sheet_of(lesson: Lesson, place: DeltaGenerator) -> None:
    """The page of a lesson. Its numbers are computed once for all visitors."""
    keys = tuple(one.key for one in shared_checkpoints() if one.config)
    known, work = known_answers(lesson, keys), expected_work(lesson, keys)
    if known is None:
        start = place.button(t("Make the page"), key="sheet_make", type="primary", width="stretch")
        if (start or requested(work[0])) and wait_for(*work, lane="lessons", step=STEP) is not None:
            st.rerun()
        return
    url = st.context.url or ""
    reachable, _ = addresses_for_others(url, st.get_option("server.address"))
    sheet = lesson_sheet(
        lesson,
        lesson_text(lesson.name, language()),
        known,
        number=LESSONS.index(lesson) + 1,
        address=link([*reachable, url][0], ()),
        made=date.today(),
    )
    save_button(place, lesson.name, sheet)


def save_button(place: DeltaGenerator, name: str, sheet: str) -> None:
    place.download_button(
        t("Save the page (HTML)"),
        sheet,
        f"{name}-{language()}.html",
        "text/html",
        key="sheet_save",
        type="primary",
        width="stretch",
        on_click="ignore",
    )
