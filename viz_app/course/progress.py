"""What the browser keeps of the course: the answers, and what was there before a lesson. It may send anything."""

from collections.abc import Container, Mapping
from dataclasses import dataclass

from viz_app.course.lesson import Action, Answer, AnswerForm, Kept, Lesson, Number, OneOf, OneToken, Step
from viz_app.session.choice_forms import FORMS, read_texts

__all__ = [
    *("CHOICE", "OUTSIDE", "Before", "Progress", "Record", "fits", "open_steps", "read_before"),
    *("read_progress", "written_before"),
]

MOST_TOKENS = 10_000
CHOICE = "lesson"
OUTSIDE = ("lang", "present")  # choices that a lesson neither sets nor restores
MOST = 20_000  # characters of one choice


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


def open_steps(lesson: Lesson, progress: Progress) -> list[Step]:
    """The steps of a lesson without an answer."""
    return [step for step in lesson.steps if lesson.link(step) not in progress]


def fits(form: AnswerForm, answer: object) -> bool:
    """Whether an answer has the form that a step asks for."""
    match form:
        case OneOf(options):
            return answer in options
        case OneToken():
            return isinstance(answer, int | float) and whole(answer) and 0 <= answer < MOST_TOKENS
        case Number(low, high):
            return isinstance(answer, int | float) and not isinstance(answer, bool) and low <= answer <= high
        case Kept(longest):
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
    first, answer = stored.get("first"), stored.get("answer")
    if not (fits(form, first) and fits(form, answer)):
        return None
    return Record(first=first, answer=answer, right=stored.get("right") is True)


@dataclass(frozen=True, kw_only=True)
class Before:
    """Where the visitor was before the lesson.

    Attributes:
        page: The name of the page.
        chosen: The choices by name. Those of `OUTSIDE` and the lesson itself are not among them.
    """

    page: str
    chosen: Mapping[str, object]


def written_before(before: Before) -> dict[str, object]:
    """The page and the choices for the browser, each choice as a link writes it."""
    return {"page": before.page, "chosen": {name: FORMS[name].write(value) for name, value in before.chosen.items()}}


def read_before(stored: object, pages: Container[str]) -> Before | None:
    """What a browser sent; None where it names no page.

    Args:
        stored: What came from the browser. A choice that no link could have is left out.
        pages: The names of all pages.
    """
    if not isinstance(stored, Mapping):
        return None
    page, chosen = stored.get("page"), stored.get("chosen")
    if not isinstance(page, str) or page not in pages or not isinstance(chosen, Mapping):
        return None
    names = [name for name in FORMS if name not in (*OUTSIDE, CHOICE)]
    texts = {name: text for name in names if isinstance(text := chosen.get(name), str) and len(text) <= MOST}
    return Before(page=page, chosen=read_texts(texts))
