"""One visitor's way through the course: the open step, the answers, and the choices from before the lesson.

Callbacks only note what the visitor wants. The router then calls `follow` before any widget, because only there
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
from viz_app.course.quiz import ID, QuizAnswers, handed_in, id_in, quiz_record, written_answers
from viz_app.server.streamlit_bridge import went_through_history
from viz_app.session.choice_forms import read_texts
from viz_app.session.choices import Choices, choices, replace_choices

__all__ = ["LessonVisit", "lesson_visit", "unchanged"]

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
    # Step → what a run said, rather a right answer than a wrong one.
    found: dict[str, Verdict] = field(default_factory=dict)
    finished: str = ""  # the lesson whose summary is shown
    pointed: set[str] = field(default_factory=set)  # steps whose part of the page the visitor has pointed at
    texts: dict[str, str] = field(default_factory=dict)  # step → the text of the page when the visitor chose a token

    @property
    def opened(self) -> tuple[Lesson, Step] | None:
        """The lesson and the step that are open; None without a lesson."""
        return step_of_link(self.step) if self.step else None

    # The way from step to step.

    def begin(self, name: str, *, own_place: bool = False) -> None:
        """Callback: the next run opens a step.

        Args:
            name: Of the step in links.
            own_place: Show the text of the step, also where the visitor has typed another.
        """
        self.wanted = Wanted(step=name, own_place=own_place)

    def reset(self) -> None:
        """Callback: show the open step at its own place again."""
        self.begin(self.step, own_place=True)

    def leave(self, page: str = "") -> None:
        """Callback: the next run restores what the visitor had before the lesson.

        Args:
            page: The page to open; "" for the page from before the lesson.
        """
        self.wanted = Wanted(page=page)

    def finish(self, lesson: str) -> None:
        """Callback: leave a lesson for its summary on the page Lessons."""
        self.finished = lesson
        self.leave("lessons")

    def follow(self, page: str) -> str:
        """Before any widget: open the step that the visitor wants, or that the address names.

        Args:
            page: The page of this run.

        Returns:
            The page to open; `page` in most runs.
        """
        wanted, self.wanted = self.wanted, None
        named = str(choices().chosen.get(CHOICE, ""))
        if wanted is None:
            return page if named == self.step else self._follow_address(named, page)
        if wanted.step:
            return self._open(wanted, page)
        before = self._restore(page)
        return wanted.page or before

    def _follow_address(self, named: str, page: str) -> str:
        """The address names another step than the open one. A link with only a lesson opens the place of its step."""
        found = step_of_link(named)
        if not found:
            choices().chosen.pop(CHOICE, None)
            self.step, self.unknown = "", named  # Forward may come back, so what was there before stays
            return page
        lesson, step = found
        if went_through_history() or set(choices().chosen) - {*OUTSIDE, CHOICE}:
            self.step = lesson.link(step)
            choices().chosen[CHOICE] = self.step
            return page
        return self._open(Wanted(step=lesson.link(step)), page)

    def _open(self, wanted: Wanted, page: str) -> str:
        found = step_of_link(wanted.step)
        if not found:
            return page
        _, step = found
        chosen = choices().chosen
        if not self.step:
            kept_before = {name: chosen[name] for name in chosen if name not in (*OUTSIDE, CHOICE)}
            self._change_before(Before(page=page, chosen=kept_before))
        text = "" if wanted.own_place else self._own_text(step)
        kept = {name: chosen[name] for name in kept_outside()}
        replace_choices(read_texts(step.choices) | ({"text": text} if text else {}) | kept | {CHOICE: wanted.step})
        self.step, self.finished = wanted.step, ""
        if presents():
            self.shown.pop(self.step, None)  # the class answers first, also where the teacher has prepared the lesson
        return step.page

    def _restore(self, page: str) -> str:
        before = self.before or Before(page=page, chosen={})
        replace_choices(dict(before.chosen) | {name: choices().chosen[name] for name in kept_outside()})
        self.step = ""
        self._change_before(None)
        return before.page

    def _change_before(self, before: Before | None) -> None:
        self.number += 1
        self.before, self.before_changed = before, self.number

    def _own_text(self, step: Step) -> str:
        """The text that the visitor typed in the open step, if another step can use it; else ""."""
        found = step_of_link(self.step)
        if not (found and step.any_sentence):
            return ""
        chosen, last = choices().chosen, found[1].choices
        same_model = chosen.get("checkpoint") == last.get("checkpoint") == step.choices.get("checkpoint")
        text = str(chosen.get("text", last.get("text", "")))
        return text if same_model and text.strip() and text != last.get("text") else ""

    def take_unknown(self) -> str:
        """The name of a link that no step has, once; "" without one."""
        name, self.unknown = self.unknown, ""
        return name

    # What the browser keeps.

    def receive_progress(self, stored: object) -> None:
        """Callback: add the progress that the browser keeps. Nothing kept means that another tab has forgotten it."""
        if not stored:
            self.progress, self.changes = {}, {}
            return
        own = {name: self.progress[name] for name in self.changes}  # the browser may not have the latest yet
        self.progress = read_progress(stored, ANSWER_FORMS) | own
        for name in self.progress.keys() - ({self.step} if presents() else set()):
            self.shown.setdefault(name, "own")

    def receive_before(self, stored: object, pages: Container[str]) -> None:
        """Callback: after a reload inside a lesson, know again what was there before it.

        Args:
            stored: What the browser keeps; it may be anything.
            pages: The names of all pages.
        """
        if self.step and self.before is None:
            self.before = read_before(stored, pages)

    def forget(self) -> None:
        """Callback: forget all answers, here and in the browser."""
        self.number += 1
        self.progress, self.changes, self.forgotten = {}, {}, self.number
        self.hints, self.shown, self.found = {}, {}, {}

    # What a visitor does in the open step, and what the run says about it.

    def reveal(self) -> None:
        """Callback: show the page of the open step without an answer."""
        self.shown.setdefault(self.step, "page")

    def show_answer(self, hints: int) -> None:
        """Callback: show the right answer to the open step.

        Args:
            hints: How many hints are a part of the answer.
        """
        self.shown[self.step] = "right"
        self.hints[self.step] = max(self.hints.get(self.step, 0), hints)

    def hint(self, most: int) -> None:
        """Callback: show one hint more. The last one shows the page.

        Args:
            most: How many hints there are.
        """
        shown = self.hints[self.step] = min(self.hints.get(self.step, 0) + 1, most)
        if shown == most:
            self.reveal()

    def point(self, name: object) -> None:
        """Callback: the visitor has pointed at the part of the page that a step is about.

        Args:
            name: The name of the step, from the browser. It may be anything.
        """
        if name == self.step:
            self.pointed.add(self.step)

    def answer(self, answer: Answer, *, text: str = "") -> None:
        """Note an answer to the open step.

        Args:
            answer: The new answer.
            text: The text that it is about, if it is a token of it.
        """
        self.texts[self.step], self.shown[self.step] = text, "own"
        before = self.progress.get(self.step)
        if before and before.answer == answer:
            return
        first = before.first if before else answer
        self._note(self.step, Record(first=first, answer=answer, right=bool(before and before.right)))

    def judge(self, verdict: Verdict) -> None:
        """Note what the run says about the answer, or about what the visitor did, in the open step."""
        before, found = self.progress.get(self.step), self.found.get(self.step)
        if verdict.right or not (found and found.right):
            self.found[self.step] = verdict
        if verdict.right and not (before and before.right):
            first, answer = (before.first, before.answer) if before else (None, None)
            self._note(self.step, Record(first=first, answer=answer, right=True))

    def hand_in(self, round_name: str, answers: QuizAnswers) -> None:
        """Note the answers to the questions of one round. The first ones count.

        Args:
            round_name: One of `ROUNDS`.
            answers: The chosen options.
        """
        if round_name in handed_in(self.progress):
            return
        if not id_in(self.progress):
            self._note(ID, quiz_record(secrets.token_hex(4)))
        self._note(f"questions.{round_name}", quiz_record(written_answers(answers)))

    def _note(self, name: str, record: Record) -> None:
        self.number += 1
        self.progress[name], self.changes[name] = record, self.number


def lesson_visit() -> LessonVisit:
    """The way of this visitor."""
    visit: LessonVisit = st.session_state.setdefault("lesson_visit", LessonVisit())
    return visit


def presents() -> bool:
    return bool(choices().chosen.get("present"))


def kept_outside() -> list[str]:
    """The choices that a visitor has made and that a lesson does not touch."""
    return [name for name in OUTSIDE if name in choices().chosen]


def unchanged(step: Step, kept: Choices) -> bool:
    """Whether the page shows exactly the place of a step."""
    own = read_texts(step.choices)
    return all(kept.chosen.get(name) == value for name, value in own.items()) and not (
        {"text", "checkpoint", "intervention", "forced"} & set(kept.not_default()) - set(own)
    )
