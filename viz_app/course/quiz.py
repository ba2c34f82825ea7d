"""The twelve questions, and the answers of one visitor to them in two rounds: before and after the lessons.

Both rounds have the same questions, in another order with the options in another order. Parallel forms would need a
study of their own that shows that they are equally difficult; the same questions are, and each student is compared with
the same student. Against mere memory, the right answers stay hidden until the second round is over.

The questions of each language are a TOML file in `viz_app/content/quiz/`.
"""

import random
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TypeVar

from viz_app.content.catalogues import ENGLISH
from viz_app.content.lesson_texts import LESSONS
from viz_app.course.lesson import AnswerForm, Kept
from viz_app.course.progress import Progress, Record

__all__ = [
    *("ID", "QUIZ", "QUIZ_FORMS", "ROUNDS", "Question", "QuizAnswers", "handed_in", "id_in", "questions"),
    *("quiz_record", "right_answers", "shuffled", "written_answers"),
]

QUIZ = LESSONS.with_name("quiz")
ROUNDS = ("before", "after")
QuizAnswers = Mapping[str, str]  # name of the question → name of the option
Item = TypeVar("Item")
ID, PATTERN = "questions.id", re.compile(r"[0-9a-f]{8}")
# What the browser keeps beside the answers to the lessons.
QUIZ_FORMS: dict[str, AnswerForm] = {ID: Kept(8), **{f"questions.{one}": Kept(1000) for one in ROUNDS}}


@dataclass(frozen=True, kw_only=True)
class Question:
    """A question with four options.

    Attributes:
        name: The same in every language.
        lesson: The name of the lesson that it is about.
        question: What is asked.
        options: Name → text.
        right: The name of the right option.
        why: Why it is right; shown after the second round.
    """

    name: str
    lesson: str
    question: str
    options: Mapping[str, str]
    right: str
    why: str


@cache
def questions(language: str) -> tuple[Question, ...]:
    """All questions in a language of the interface; in English where the language has no file."""
    path = QUIZ / f"{language}.toml"
    text = (path if path.is_file() else QUIZ / f"{ENGLISH}.toml").read_text(encoding="utf-8")
    return tuple(Question(**one) for one in tomllib.loads(text)["questions"])


def quiz_record(text: str) -> Record:
    """A text for the browser."""
    return Record(first=text, answer=text)


def handed_in(progress: Progress) -> dict[str, dict[str, str]]:
    """Round → the answers. A round that is not handed in is missing; so is an answer that no question has.

    Args:
        progress: Everything that the browser keeps.
    """
    kept = {one: progress.get(f"questions.{one}") for one in ROUNDS}
    return {one: read_answers(str(record.first)) for one, record in kept.items() if record}


def read_answers(text: str) -> dict[str, str]:
    given = dict(pair.split("=", 1) for pair in text.split(";") if "=" in pair)
    known = questions(ENGLISH)
    return {one.name: given[one.name] for one in known if given.get(one.name) in one.options}


def written_answers(answers: QuizAnswers) -> str:
    """The answers as one text, which `handed_in` reads."""
    return ";".join(f"{name}={option}" for name, option in answers.items())


def id_in(progress: Progress) -> str:
    """The random id of this browser; "" without one."""
    record = progress.get(ID)
    return str(record.first) if record and PATTERN.fullmatch(str(record.first)) else ""


def right_answers(answers: QuizAnswers) -> int:
    """How many answers are right. A question without an answer is not."""
    return sum(answers.get(one.name) == one.right for one in questions(ENGLISH))


def shuffled(items: Sequence[Item], *seed: str) -> list[Item]:
    """The items in a random order, the same for the same seed."""
    return random.Random("/".join(seed)).sample(items, len(items))
