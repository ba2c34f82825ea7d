"""What a visitor does in the open step, as callbacks, and what the run says about it."""

from collections.abc import Mapping

from viz_app.course.lesson import Answer, Verdict
from viz_app.course.progress import Record
from viz_app.course.quiz import ID, QuizAnswers, handed_in, id_in, new_id, quiz_record, written_answers
from viz_app.course.visit import LessonVisit, lesson_visit
from viz_app.session.choice_forms import FORMS
from viz_app.session.choices import set_choice

__all__ = [
    "answer_step",
    "give_hint",
    "hand_in",
    "judge_step",
    "note_pointing",
    "reveal_step",
    "show_answer",
    "take_offer",
]


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


def take_offer(offer: Mapping[str, str]) -> None:
    """Callback: choose what a step offers, as a link writes it."""
    for name, text in offer.items():
        set_choice(name, FORMS[name].read(text))


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
