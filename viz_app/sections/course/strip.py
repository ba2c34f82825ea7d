"""The strip of a lesson above a page: the question, the answer, and what the visitor's own run says about it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import streamlit as st

from viz_app.content.lesson_texts import StepText, filled, lesson_text
from viz_app.content.numbers import sentences
from viz_app.content.plain import plain
from viz_app.content.translation import N_, language, t
from viz_app.course.catalogue import TOUR
from viz_app.course.expected import expected_answers
from viz_app.course.in_step import judge_step
from viz_app.course.lesson import Lesson, Step, Verdict
from viz_app.course.progress import Record
from viz_app.course.situation import Situation
from viz_app.course.visit import lesson_visit, opened_step, unknown_step
from viz_app.export.lesson_sheet import right_answers
from viz_app.sections.course.answer_controls import about_this_run, answer_control, offers
from viz_app.sections.course.class_answers import note_in_class
from viz_app.sections.course.class_screen import class_answers
from viz_app.sections.course.hints import hints
from viz_app.sections.course.live_situation import live_situation
from viz_app.sections.course.strip_header import strip_header
from viz_app.sections.course.target import highlight
from viz_app.server.presence import visitor
from viz_app.server.streamlit_bridge import DeltaGenerator
from viz_app.services.listing import Listed
from viz_app.session.boundary import boundary
from viz_app.session.classes import CLASSES
from viz_app.widgets.navigation import PAGES, page_link

__all__ = ["LessonStrip", "lesson_strip"]

MARKS = {
    "right": N_(":material/check_circle: **Right.**"),
    "wrong": N_(":material/cancel: **Not so.**"),
    "open": N_(":material/pending: **Not yet.**"),
    "done": N_(":material/task_alt: **Already done.**"),  # on a page that the visitor has changed since
}
MOST_NAME = 80  # characters of a name from a link


@dataclass(frozen=True, kw_only=True)
class LessonStrip:
    """The strip of an open step.

    Attributes:
        lesson: The open lesson.
        step: Its open step.
        text: The texts of the step.
        outcome: Where the outcome stands.
        shows_page: Whether the page below is shown.
        here: Whether the page below is that of the step.
    """

    lesson: Lesson
    step: Step
    text: StepText
    outcome: DeltaGenerator
    shows_page: bool
    here: bool

    def judge(self, listed: Sequence[Listed]) -> None:
        """After the page: compare the answer with the run, and show the outcome.

        Args:
            listed: All checkpoints.
        """
        name, visit = self.lesson.link(self.step), lesson_visit()
        record, shown = visit.progress.get(name), visit.shown.get(name)
        if not (self.here and self.shows_page):
            return
        if self.step.predicts and shown != "right" and (record is None or shown == "page"):
            return
        if self.step.points_at and record is None and name not in visit.pointed:
            return
        with self.outcome, boundary(N_("The answer could not be checked.")):
            if (situation := live_situation(self.step, listed)) is None:
                st.info(t("Type a sentence above, or choose an example."))
                return
            if self.step.predicts and shown == "right":
                self.show_right_answer(situation)
                return
            answer = record.answer if record else None
            if not about_this_run(self.step.answer, situation, answer):
                st.info(t("The sentence has changed. Answer again."))
                return
            verdict = self.step.check(situation, answer)
            judge_step(verdict)
            note_in_class(self.lesson, self.step, situation, record.first if record else None, right=verdict.right)
            self.show(verdict, done=bool(record and record.right))
            self.invite(situation, verdict)

    def show_right_answer(self, situation: Situation) -> None:
        """For who presents: the answer that the run confirms, and what it says about it."""
        judged = next((one for one in expected_answers(self.step, situation) if one.verdict.right), None)
        if judged is None:
            st.info(t("No answer is right for this run. Reset this step."))
            return
        judge_step(replace(judged.verdict, right=False))  # the visitor has not answered
        answer = right_answers(self.step, self.text, judged)
        with st.container(key="lesson_outcome"):
            found = filled(self.text.outcomes[judged.verdict.outcome], judged.verdict.values)
            st.markdown(sentences([f":material/key: **{answer}**", found]))

    def invite(self, situation: Situation, verdict: Verdict) -> None:
        """Let the visitor try another sentence, where the step works with it."""
        changed = situation.text != self.step.choices.get("text", situation.text)
        if changed and not self.step.any_sentence and not self.step.offers:
            st.caption(t("This step is about its own sentence. Reset this step to see it."))
        elif verdict.right and not changed and self.step.any_sentence and self.lesson is not TOUR:
            st.caption(t("Try it with your own sentence: type it in the field below."))

    def show(self, verdict: Verdict, *, done: bool) -> None:
        mark = "right" if verdict.right else "wrong" if self.step.predicts else "done" if done else "open"
        with st.container(key="lesson_outcome"):
            st.markdown(sentences([t(MARKS[mark]), filled(self.text.outcomes[verdict.outcome], verdict.values)]))


def lesson_strip(page: str, listed: Sequence[Listed]) -> LessonStrip | None:
    """Before the page: draw the strip of the open step; None without a lesson.

    Args:
        page: The name of the page.
        listed: All checkpoints.
    """
    note_unknown_step()
    opened = opened_step()
    if opened is None:
        return None
    lesson, step = opened
    CLASSES.note_step(visitor(), lesson.name, step.name)
    texts = lesson_text(lesson.name, language())
    name, text, visit = lesson.link(step), texts.steps[step.name], lesson_visit()
    record, here = visit.progress.get(name), step.page == page
    shows_page = not here or not step.predicts or name in visit.shown
    with st.container(key="lesson_strip"):
        strip_header(lesson, step, texts, page=page, hidden=not shows_page)
        if not here:
            elsewhere(step)
            return LessonStrip(lesson=lesson, step=step, text=text, outcome=st.container(), shows_page=True, here=False)
        left, right = st.columns([1.1, 1], gap="medium")
        with left:
            st.markdown(text.text)
            if shows_page:  # a source can give the answer away
                source(text)
        with right, st.container():
            own = visit.shown.get(name) == "own"  # who presents may have answered before the class
            question(name, step, text, record if own else None, listed)
            offers(name, step)
            hints(name, text, needed=not (record and record.right))
            class_answers(lesson, step)
    outcome = st.container()  # outside the strip, so that it stays visible above the picture
    marked = shows_page and (not step.puzzle or visit.hints.get(name, 0) == len(text.hints))
    highlight(name, step.target if marked else "", shown=visit.shown.get(name, ""))
    if not shows_page:
        st.caption(t("Answer first. Then the picture appears."))
    return LessonStrip(lesson=lesson, step=step, text=text, outcome=outcome, shows_page=shows_page, here=True)


def note_unknown_step() -> None:
    if name := unknown_step():
        st.warning(
            t(
                "No lesson of this server has the step “{name}”. The page Lessons lists all lessons.",
                name=plain(name[:MOST_NAME]),
            )
        )


def question(name: str, step: Step, text: StepText, record: Record | None, listed: Sequence[Listed]) -> None:
    st.markdown(f"**{text.question.replace('**', '')}**")
    with boundary(N_("The question could not be shown.")):
        answer_control(name, step, text, record.answer if record else None, lambda: live_situation(step, listed))


def elsewhere(step: Step) -> None:
    """On another page: the way back to the page of the step."""
    title = t(PAGES[step.page].title)
    page_link(step.page, t("This step is on the page {page}. Open it.", page=title), icon=":material/arrow_back:")


def source(text: StepText) -> None:
    if text.source:
        st.caption(t("Source: {source}", source=text.source))
