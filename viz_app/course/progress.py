"""What a visitor has answered. The browser keeps it, and may send anything."""

from collections.abc import Mapping
from dataclasses import dataclass

from viz_app.course.lesson import Action, Answer, AnswerForm, Lesson, Number, OneHead, OneOf, OneToken, Step, Word

__all__ = ["Progress", "Record", "finished_steps", "first_open_step", "fits", "read_progress", "written_record"]

MOST_TOKENS = 10_000


@dataclass(frozen=True, kw_only=True)
class Record:
    """The answer to a step.

    Attributes:
        first: The first answer, which is the prediction.
        answer: The latest answer.
        right: Whether the visitor has found a right answer. It stays true.
    """

    first: Answer
    answer: Answer
    right: bool = False


Progress = Mapping[str, Record]  # by the name of the step in links


def finished_steps(lesson: Lesson, progress: Progress) -> int:
    """How many steps of a lesson the visitor has answered."""
    return sum(lesson.link(step) in progress for step in lesson.steps)


def first_open_step(lesson: Lesson, progress: Progress) -> Step:
    """The first step without an answer; the first of all if every step has one."""
    return next((step for step in lesson.steps if lesson.link(step) not in progress), lesson.steps[0])


def fits(form: AnswerForm, answer: object) -> bool:
    """Whether an answer has the form that a step asks for."""
    match form:
        case OneOf(options):
            return answer in options
        case OneToken():
            return isinstance(answer, int | float) and whole(answer) and 0 <= answer < MOST_TOKENS
        case OneHead():
            return isinstance(answer, tuple) and len(answer) == 2 and all(map(whole, answer)) and min(answer) >= 0
        case Number(low, high):
            return isinstance(answer, int | float) and not isinstance(answer, bool) and low <= answer <= high
        case Word(longest):
            return isinstance(answer, str) and 0 < len(answer) <= longest
        case Action():
            return answer is None


def whole(value: object) -> bool:
    if isinstance(value, float):
        return value.is_integer()
    return isinstance(value, int) and not isinstance(value, bool)


def read_progress(stored: object, forms: Mapping[str, AnswerForm]) -> dict[str, Record]:
    """The records that a browser sent.

    Args:
        stored: What came from the browser. Everything that does not have the form of a record is left out.
        forms: The name of each step in links → how it is answered.
    """
    if not isinstance(stored, Mapping):
        return {}
    records = {name: read_record(stored.get(name), form) for name, form in forms.items()}
    return {name: record for name, record in records.items() if record}


def read_record(stored: object, form: AnswerForm) -> Record | None:
    if not isinstance(stored, Mapping):
        return None
    first, answer = (as_answer(stored.get(part)) for part in ("first", "answer"))
    if not (fits(form, first) and fits(form, answer)):
        return None
    return Record(first=first, answer=answer, right=stored.get("right") is True)


def as_answer(stored: object) -> Answer:
    """An answer from JSON, which has lists in place of tuples."""
    if isinstance(stored, list):
        return (int(stored[0]), int(stored[1])) if len(stored) == 2 and all(map(whole, stored)) else "invalid"
    return stored if isinstance(stored, str | int | float | None) else "invalid"


def written_record(record: Record) -> dict[str, object]:
    """A record for the browser."""
    return {"first": record.first, "answer": record.answer, "right": record.right}
