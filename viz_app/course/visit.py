"""One visitor's way through the course: the open step, the answers, and the choices from before the lesson.

Callbacks only note what the visitor wants. The router then calls `follow_lesson` before any widget, because only there
all choices can be replaced.
"""

import secrets
from collections.abc import Container
from dataclasses import dataclass, field
from typing import Literal

import streamlit as st

from viz_app.course.catalogue import ANSWER_FORMS, step_of_link
from viz_app.course.lesson import Answer, Lesson, Step, Verdict
from viz_app.course.progress import CHOICE, OUTSIDE, Before, Record, read_before, read_progress
from viz_app.course.quiz import ID, QuizAnswers, handed_in, id_in, new_id, quiz_record, written_answers
from viz_app.server.streamlit_bridge import went_through_history
from viz_app.session.choice_forms import read_texts
from viz_app.session.choices import Choices, choices, replace_choices

__all__ = [
    *("LessonVisit", "answer_step", "begin_step", "finish_lesson", "follow_lesson", "forget_progress", "give_hint"),
    *("hand_in", "judge_step", "leave_lesson", "lesson_visit", "note_pointing", "opened_step", "own_text"),
    *("receive_before", "receive_progress", "reset_step", "reveal_step", "show_answer"),
    *("unchanged", "unknown_step"),
]

# The page alone, with the verdict on the visitor's own answer, or with the right answer for who presents.
Shown = Literal["page", "own", "right"]


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """What the next run opens: a step, or what was there before the lesson."""

    step: str = ""  # as links name it
    own_place: bool = False  # with the text of the step, also where the visitor has typed another
    page: str = ""  # after leaving; "" for the page before the lesson


@dataclass
class LessonVisit:
    """The lesson that is open, and all answers of this session."""

    session: str = field(default_factory=lambda: secrets.token_hex(8))  # another one after each reload
    progress: dict[str, Record] = field(default_factory=dict)
    changes: dict[str, int] = field(default_factory=dict)  # step → number of its latest change
    forgotten: int = 0  # number of the latest "Forget my progress"
    number: int = 0  # of changes
    step: str = ""  # that is open
    before: Before | None = None
    before_changed: int = 0  # number of the latest change of `before`
    wanted: Wanted | None = None
    unknown: str = ""  # name in a link that no step has
    hints: dict[str, int] = field(default_factory=dict)  # step → how many are shown
    shown: dict[str, Shown] = field(default_factory=dict)  # step → what has appeared of it
    found: dict[str, Verdict] = field(
        default_factory=dict
    )  # step → what a run said, rather a right answer than a wrong one
    finished: str = ""  # the lesson whose summary is shown
    pointed: set[str] = field(default_factory=set)  # steps whose part of the page the visitor has pointed at
    texts: dict[str, str] = field(default_factory=dict)  # step → the text of the page when the visitor chose a token


def lesson_visit() -> LessonVisit:
    """The way of this visitor."""
    visit: LessonVisit = st.session_state.setdefault("lesson_visit", LessonVisit())
    return visit


def begin_step(name: str, *, own_place: bool = False) -> None:
    """Callback: the next run opens a step.

    Args:
        name: Of the step in links.
        own_place: Show the text of the step, also where the visitor has typed another.
    """
    lesson_visit().wanted = Wanted(step=name, own_place=own_place)


def reset_step() -> None:
    """Callback: show the open step at its own place again."""
    begin_step(lesson_visit().step, own_place=True)


def leave_lesson(page: str = "") -> None:
    """Callback: the next run restores what the visitor had before the lesson.

    Args:
        page: The page to open; "" for the page from before the lesson.
    """
    lesson_visit().wanted = Wanted(page=page)


def finish_lesson(lesson: str) -> None:
    """Callback: leave a lesson for its summary on the page Lessons."""
    lesson_visit().finished = lesson
    leave_lesson("lessons")


def follow_lesson(page: str) -> str:
    """Before any widget: open the step that the visitor wants, or that the address names.

    Args:
        page: The page of this run.

    Returns:
        The page to open; `page` in most runs.
    """
    visit = lesson_visit()
    wanted, visit.wanted = visit.wanted, None
    named = str(choices().chosen.get(CHOICE, ""))
    if wanted is None and named != visit.step:
        return follow_address(visit, named, page)
    if wanted is None:
        return page
    if not wanted.step:
        before = restore(visit, page)
        return wanted.page or before
    return open_step(visit, wanted, page)


def follow_address(visit: LessonVisit, named: str, page: str) -> str:
    """The address names another step than the open one. A link with only a lesson opens the place of its step."""
    found = step_of_link(named)
    if not found:
        choices().chosen.pop(CHOICE, None)
        visit.step, visit.unknown = "", named  # Forward may come back, so what was there before stays
        return page
    lesson, step = found
    if went_through_history() or set(choices().chosen) - {*OUTSIDE, CHOICE}:
        visit.step = lesson.link(step)
        choices().chosen[CHOICE] = visit.step
        return page
    return open_step(visit, Wanted(step=lesson.link(step)), page)


def open_step(visit: LessonVisit, wanted: Wanted, page: str) -> str:
    found = step_of_link(wanted.step)
    if not found:
        return page
    _, step = found
    chosen = choices().chosen
    if not visit.step:
        kept_before = {name: chosen[name] for name in chosen if name not in (*OUTSIDE, CHOICE)}
        change_before(visit, Before(page=page, chosen=kept_before))
    text = "" if wanted.own_place else own_text(visit, step)
    kept = {name: chosen[name] for name in kept_outside()}
    replace_choices(read_texts(step.choices) | ({"text": text} if text else {}) | kept | {CHOICE: wanted.step})
    visit.step, visit.finished = wanted.step, ""
    if presents():
        visit.shown.pop(visit.step, None)  # the class answers first, also where the teacher has prepared the lesson
    return step.page


def restore(visit: LessonVisit, page: str) -> str:
    before = visit.before or Before(page=page, chosen={})
    replace_choices(dict(before.chosen) | {name: choices().chosen[name] for name in kept_outside()})
    visit.step = ""
    change_before(visit, None)
    return before.page


def change_before(visit: LessonVisit, before: Before | None) -> None:
    visit.number += 1
    visit.before, visit.before_changed = before, visit.number


def presents() -> bool:
    return bool(choices().chosen.get("present"))


def kept_outside() -> list[str]:
    """The choices that a visitor has made and that a lesson does not touch."""
    return [name for name in OUTSIDE if name in choices().chosen]


def own_text(visit: LessonVisit, step: Step) -> str:
    """The text that the visitor typed in the open step, if another step can use it; else ""."""
    found = step_of_link(visit.step)
    if not (found and step.any_sentence):
        return ""
    chosen, last = choices().chosen, found[1].choices
    same_model = chosen.get("checkpoint") == last.get("checkpoint") == step.choices.get("checkpoint")
    text = str(chosen.get("text", last.get("text", "")))
    return text if same_model and text.strip() and text != last.get("text") else ""


def opened_step() -> tuple[Lesson, Step] | None:
    """The lesson and the step that are open; None without a lesson."""
    return step_of_link(lesson_visit().step) if lesson_visit().step else None


def unchanged(step: Step, kept: Choices) -> bool:
    """Whether the page shows exactly the place of a step."""
    own = read_texts(step.choices)
    return all(kept.chosen.get(name) == value for name, value in own.items()) and not (
        {"text", "checkpoint", "intervention", "forced"} & set(kept.not_default()) - set(own)
    )


def unknown_step() -> str:
    """The name of a link that no step has, once; "" without one."""
    visit = lesson_visit()
    name, visit.unknown = visit.unknown, ""
    return name


def receive_progress(stored: object) -> None:
    """Callback: add the progress that the browser keeps. Nothing kept means that another tab has forgotten it."""
    visit = lesson_visit()
    if not stored:
        visit.progress, visit.changes = {}, {}
        return
    own = {name: visit.progress[name] for name in visit.changes}  # the browser may not have the latest yet
    visit.progress = read_progress(stored, ANSWER_FORMS) | own
    for name in visit.progress.keys() - ({visit.step} if presents() else set()):
        visit.shown.setdefault(name, "own")


def receive_before(stored: object, pages: Container[str]) -> None:
    """Callback: after a reload inside a lesson, know again what was there before it.

    Args:
        stored: What the browser keeps; it may be anything.
        pages: The names of all pages.
    """
    visit = lesson_visit()
    if visit.step and visit.before is None:
        visit.before = read_before(stored, pages)


def forget_progress() -> None:
    """Callback: forget all answers, here and in the browser."""
    visit = lesson_visit()
    visit.number += 1
    visit.progress, visit.changes, visit.forgotten = {}, {}, visit.number
    visit.hints, visit.shown, visit.found = {}, {}, {}


# What a visitor does in the open step, and what the run says about it.
def reveal_step() -> None:
    """Callback: show the page of the open step without an answer."""
    lesson_visit().shown.setdefault(lesson_visit().step, "page")


def show_answer(hints: int) -> None:
    """Callback: show the right answer to the open step.

    Args:
        hints: How many hints are a part of the answer.
    """
    visit = lesson_visit()
    visit.shown[visit.step] = "right"
    visit.hints[visit.step] = max(visit.hints.get(visit.step, 0), hints)


def give_hint(most: int) -> None:
    """Callback: show one hint more. The last one shows the page.

    Args:
        most: How many hints there are.
    """
    visit = lesson_visit()
    shown = visit.hints[visit.step] = min(visit.hints.get(visit.step, 0) + 1, most)
    if shown == most:
        reveal_step()


def note_pointing(name: object) -> None:
    """Callback: the visitor has pointed at the part of the page that a step is about.

    Args:
        name: The name of the step, from the browser. It may be anything.
    """
    visit = lesson_visit()
    if name == visit.step:
        visit.pointed.add(visit.step)


def answer_step(answer: Answer, *, text: str = "") -> None:
    """Note an answer to the open step.

    Args:
        answer: The new answer.
        text: The text that it is about, if it is a token of it.
    """
    visit = lesson_visit()
    visit.texts[visit.step], visit.shown[visit.step] = text, "own"
    before = visit.progress.get(visit.step)
    if before and before.answer == answer:
        return
    first = before.first if before else answer
    note(visit, visit.step, Record(first=first, answer=answer, right=bool(before and before.right)))


def judge_step(verdict: Verdict) -> None:
    """Note what the run says about the answer, or about what the visitor did, in the open step."""
    visit = lesson_visit()
    before, found = visit.progress.get(visit.step), visit.found.get(visit.step)
    if verdict.right or not (found and found.right):
        visit.found[visit.step] = verdict
    if verdict.right and not (before and before.right):
        answer = before.answer if before else None
        note(visit, visit.step, Record(first=before.first if before else None, answer=answer, right=True))


def hand_in(round_name: str, answers: QuizAnswers) -> None:
    """Note the answers to the questions of one round. The first ones count.

    Args:
        round_name: One of `ROUNDS`.
        answers: The chosen options.
    """
    visit = lesson_visit()
    if round_name in handed_in(visit.progress):
        return
    if not id_in(visit.progress):
        note(visit, ID, quiz_record(new_id()))
    note(visit, f"questions.{round_name}", quiz_record(written_answers(answers)))


def note(visit: LessonVisit, name: str, record: Record) -> None:
    visit.number += 1
    visit.progress[name], visit.changes[name] = record, visit.number
