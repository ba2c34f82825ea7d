"""The twelve questions before and after the course: one TOML file per language."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from viz_app.content.catalogues import ENGLISH

__all__ = ["QUIZ", "Question", "questions"]

QUIZ = Path(__file__).parent / "quiz"


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
