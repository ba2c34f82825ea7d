"""The strip of a lesson above the page: its header, the question, the hints, the answer and the outcome."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from html import escape

import streamlit as st

from model.analysis.importance import all_heads
from model.inference.run import Forced
from model.interventions import Intervention
from viz_app.components.page_parts import give
from viz_app.content.lesson_texts import LessonText, StepText, filled, lesson_text
from viz_app.content.numbers import sentences
from viz_app.content.plain import plain
from viz_app.content.translation import N_, language, t, tp
from viz_app.course.catalogue import TOUR
from viz_app.course.expected import expected_answers
from viz_app.course.lesson import Lesson, Step, Verdict
from viz_app.course.situation import Situation
from viz_app.course.visit import lesson_visit, unchanged
from viz_app.export.lesson_sheet import right_answers
from viz_app.sections.course.answer_controls import about_this_run, answer_control, offers
from viz_app.sections.course.class_room import class_answers, note_in_class
from viz_app.server.presence import visitor
from viz_app.server.streamlit_bridge import DeltaGenerator
from viz_app.services import models
from viz_app.services.listing import CheckpointKey, Listed
from viz_app.session.choices import choices
from viz_app.session.classes import CLASSES
from viz_app.session.page_end import boundary
from viz_app.widgets.checkpoint_choice import chosen_key
from viz_app.widgets.navigation import page_link, page_title
from viz_app.widgets.presenter_mode import presenting
from viz_app.widgets.run_form import forced_into

__all__ = ["lesson_strip"]

BUTTONS = (N_("Hint"), N_("Another hint"), N_("Show me"))
KEY = re.compile(r"[\w-]+", re.ASCII)
MARKS = {
    "right": N_(":material/check_circle: **Right.**"),
    "wrong": N_(":material/cancel: **Not so.**"),
    "open": N_(":material/pending: **Not yet.**"),
    "done": N_(":material/task_alt: **Already done.**"),  # on a page that the visitor has changed since
}
MOST_NAME = 80  # characters of a name from a link


def live_situation(step: Step, listed: Sequence[Listed]) -> Situation | None:
    """What the page of a step shows now; None without a text or without a checkpoint that can be used.

    Args:
        step: The open step. Its text counts until the page has shown a text field.
        listed: All checkpoints.
    """
    key, kept = chosen_key(listed), choices()
    text = str(kept.chosen.get("text", kept.settled.get("text", step.choices.get("text", ""))))
    if key is None or not text.strip():
        return None
    return Situation(
        key=key,
        text=text,
        forced=forced_now(key),
        intervention=intervention_now(key),
        choices=dict(step.choices) | kept.in_link(),
    )


def forced_now(key: CheckpointKey) -> Forced:
    clicked = choices().chosen.get("forced", ())
    translates = models.config_of(key).task == "translation"
    return forced_into(key, clicked) if translates and isinstance(clicked, tuple) else ()


def intervention_now(key: CheckpointKey) -> Intervention:
    chosen = choices().chosen.get("intervention")
    return chosen.within(all_heads(models.loaded(key).model)) if isinstance(chosen, Intervention) else Intervention()


def strip_header(lesson: Lesson, step: Step, texts: LessonText, *, page: str, hidden: bool) -> None:
    """Draw the first line of a strip: page, lesson and step, how far the visitor is, and the buttons for the way.

    The page of this name may be hidden until there is an answer.
    """
    title = t("{lesson}: {step}", lesson=texts.title, step=texts.steps[step.name].title)
    heading = f'<h1 class="hl-heading hl-lesson">{escape(page_title(page))} <span>{escape(title)}</span></h1>'
    with st.container(key="lesson_head", horizontal=True, vertical_alignment="center", gap="small"):
        st.html(heading + dots(lesson, step), width="stretch")
        with st.container(key="lesson_way", horizontal=True, vertical_alignment="center", gap="small", width="content"):
            way(lesson, step, hidden=hidden, hints=len(texts.steps[step.name].hints))


def dots(lesson: Lesson, step: Step) -> str:
    """One dot for each step: open, answered or right. The dot of the open step has a ring."""
    records = [lesson_visit().progress.get(lesson.link(one)) for one in lesson.steps]
    states = ["open" if one is None else "right" if one.right else "answered" for one in records]
    marks = "".join(
        f'<i class="{" ".join([state, *["here"] * (one is step), *["puzzle"] * one.puzzle])}"></i>'
        for one, state in zip(lesson.steps, states, strict=True)
    )
    spoken = t(
        "Step {number} of {all}. Steps with a right answer: {right}.",
        number=lesson.steps.index(step) + 1,
        all=len(lesson.steps),
        right=states.count("right"),
    )
    return f'<div class="hl-dots" role="img" aria-label="{escape(spoken, quote=True)}">{marks}</div>'


def way(lesson: Lesson, step: Step, *, hidden: bool, hints: int) -> None:
    """Back, next, reset and leave. While a teacher presents, "Next" first shows a hidden page, then the answer.

    The keys of a presenter press `lesson_next`. "Finish" has another name, so one press too many ends no lesson.
    """
    visit, back, after = lesson_visit(), lesson.after(step, -1), lesson.after(step)
    unanswered = presenting() and hints and visit.shown.get(lesson.link(step), "page") == "page"
    if not unchanged(step, choices()):
        st.button(
            t("Reset this step"),
            icon=":material/restart_alt:",
            type="tertiary",
            key="lesson_reset",
            on_click=visit.reset,
        )
    st.button(
        tp("lesson", "Back"),
        key="lesson_back",
        disabled=back is None,
        on_click=visit.begin,
        args=(lesson.link(back) if back else "",),
    )
    if hidden and presenting():
        st.button(tp("lesson", "Show"), key="lesson_next", type="primary", on_click=visit.reveal)
    elif unanswered:
        most = hints if step.puzzle else 0
        st.button(t("Show the answer"), key="lesson_next", type="primary", on_click=visit.show_answer, args=(most,))
    elif after:
        st.button(
            tp("lesson", "Next"), key="lesson_next", type="primary", on_click=visit.begin, args=(lesson.link(after),)
        )
    else:
        st.button(t("Finish"), key="lesson_finish", type="primary", on_click=visit.finish, args=(lesson.name,))
    st.button(t("Leave the lesson"), key="lesson_leave", type="tertiary", icon=":material/close:", on_click=visit.leave)


def hints(name: str, text: StepText, *, needed: bool) -> None:
    """Draw the hints that the visitor has asked for, and a button for the next one while it is needed."""
    visit = lesson_visit()
    given = visit.hints.get(name, 0)
    for hint in text.hints[:given]:
        st.markdown(f":material/lightbulb: {hint}")
    if needed and given < len(text.hints):
        st.button(
            t(BUTTONS[given]),
            key="lesson_hint",
            type="tertiary",
            icon=":material/lightbulb:",
            on_click=visit.hint,
            args=(len(text.hints),),
        )


def highlight(name: str, target: str, *, shown: str) -> None:
    """Draw a frame around what the step is about, and scroll to it when it appears. The frame moves nothing.

    Args:
        name: The name of the step in links. Another step begins at the top of the page.
        target: The key of the element; "" for no frame.
        shown: What has appeared of the step. The page scrolls again when it changes.
    """
    give("lesson_target", {"step": name, "target": target, "shown": shown})
    if KEY.fullmatch(target):
        st.html(
            f"<style>.st-key-{target}{{outline:3px dashed #c2410c;outline:3px dashed light-dark(#c2410c,#ff8f52);"
            "outline-offset:3px;border-radius:6px}</style>"
        )


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
        """After the page: compare the answer with the run, and show the outcome."""
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
            lesson_visit().judge(verdict)
            note_in_class(self.lesson, self.step, situation, record.first if record else None, right=verdict.right)
            self.show(verdict, done=bool(record and record.right))
            self.invite(situation, verdict)

    def show_right_answer(self, situation: Situation) -> None:
        """For who presents: the answer that the run confirms, and what it says about it."""
        judged = next((one for one in expected_answers(self.step, situation) if one.verdict.right), None)
        if judged is None:
            st.info(t("No answer is right for this run. Reset this step."))
            return
        lesson_visit().judge(replace(judged.verdict, right=False))  # the visitor has not answered
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
    """Before the page of this name: draw the strip of the open step; None without a lesson."""
    if unknown := lesson_visit().take_unknown():
        st.warning(
            t(
                "No lesson of this server has the step “{name}”. The page Lessons lists all lessons.",
                name=plain(unknown[:MOST_NAME]),
            )
        )
    opened = lesson_visit().opened
    if opened is None:
        return None
    lesson, step = opened
    CLASSES.note_step(visitor().name, lesson.name, step.name)
    texts = lesson_text(lesson.name, language())
    name, text, visit = lesson.link(step), texts.steps[step.name], lesson_visit()
    record, here = visit.progress.get(name), step.page == page
    shows_page = not here or not step.predicts or name in visit.shown
    with st.container(key="lesson_strip"):
        strip_header(lesson, step, texts, page=page, hidden=not shows_page)
        if not here:
            way_back = t("This step is on the page {page}. Open it.", page=page_title(step.page))
            page_link(step.page, way_back, icon=":material/arrow_back:")
            return LessonStrip(lesson=lesson, step=step, text=text, outcome=st.container(), shows_page=True, here=False)
        left, right = st.columns([1.1, 1], gap="medium")
        with left:
            st.markdown(text.text)
            if shows_page and text.source:  # a source can give the answer away
                st.caption(t("Source: {source}", source=text.source))
        with right, st.container():
            own = visit.shown.get(name) == "own"  # who presents may have answered before the class
            st.markdown(f"**{text.question.replace('**', '')}**")
            with boundary(N_("The question could not be shown.")):
                answered = record.answer if own and record else None
                answer_control(name, step, text, answered, lambda: live_situation(step, listed))
            offers(name, step)
            hints(name, text, needed=not (record and record.right))
            class_answers(lesson, step)
    outcome = st.container()  # outside the strip, so that it stays visible above the picture
    marked = shows_page and (not step.puzzle or visit.hints.get(name, 0) == len(text.hints))
    highlight(name, step.target if marked else "", shown=visit.shown.get(name, ""))
    if not shows_page:
        st.caption(t("Answer first. Then the picture appears."))
    return LessonStrip(lesson=lesson, step=step, text=text, outcome=outcome, shows_page=shows_page, here=True)
