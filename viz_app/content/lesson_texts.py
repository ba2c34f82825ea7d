"""The texts of the lessons: one Markdown file per lesson and language.

A file has one form, which `lesson_text` checks:

    # Title of the lesson
    Goal of the lesson, in one sentence.

    ## name-of-a-step
    ### Title
    ### Text        what the visitor reads before the question
    ### Question
    ### Options     - name: text, for a question with options
    ### Hints       1. a nudge  2. a suggestion  3. what "show me" says; only the tour has none
    ### right       what the visitor reads after the right answer, with values
    ### wrong       after another answer; further outcomes have a heading each
    ### Source      paper and section, where a fact comes from one
    ### Mistakes    common mistakes and how the app shows them, for the teacher

The values of an outcome stand in braces: `{word}` is a text, a whole number, or a number with two digits after the
point; `{entropy:3}` has three digits after the point; `{share:%}` is a percentage.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from viz_app.content.catalogues import ENGLISH
from viz_app.content.numbers import decimal, percent
from viz_app.content.plain import plain

__all__ = ["LESSONS", "LessonText", "StepText", "filled", "lesson_text", "plan_text"]

LESSONS = Path(__file__).parent / "lessons"
PLACEHOLDER = re.compile(r"\{(\w+)(?::(\d|%))?\}")
FORMULA = re.compile(r"(\$[^$]*\$)")
PARTS = {"Title", "Text", "Question", "Options", "Hints", "Source", "Mistakes"}


@dataclass(frozen=True)
class StepText:
    """The texts of a step, in Markdown. `outcomes` holds what the visitor reads after an answer, by outcome."""

    title: str
    text: str
    question: str
    options: Mapping[str, str]
    hints: tuple[str, ...]
    outcomes: Mapping[str, str]
    source: str
    mistakes: str


@dataclass(frozen=True)
class LessonText:
    """The texts of a lesson in one language."""

    title: str
    goal: str
    steps: Mapping[str, StepText]


@cache
def lesson_text(name: str, language: str) -> LessonText:
    """The texts of a lesson.

    Args:
        name: The name of the lesson.
        language: A language of the interface. English takes its place where the lesson has no file in it.

    Raises:
        ValueError: the file does not have the form above.
    """
    text = file_of(name, language)
    head, *steps = re.split(r"^## +(.+)$", text, flags=re.MULTILINE)
    title, _, goal = head.strip().removeprefix("# ").partition("\n")
    pairs = zip(steps[::2], steps[1::2], strict=True)
    return LessonText(
        title.strip(), goal.strip(), {step.strip(): step_text(step.strip(), body) for step, body in pairs}
    )


def plan_text(language: str) -> str:
    """The plan for four sessions, in Markdown: a title, then the plan.

    Args:
        language: As for `lesson_text`.
    """
    return file_of("plan", language)


def file_of(name: str, language: str) -> str:
    path = LESSONS / language / f"{name}.md"
    return (path if path.is_file() else LESSONS / ENGLISH / f"{name}.md").read_text(encoding="utf-8")


def step_text(name: str, body: str) -> StepText:
    _, *cut = re.split(r"^### +(.+)$", body, flags=re.MULTILINE)
    parts = {part.strip(): text.strip() for part, text in zip(cut[::2], cut[1::2], strict=True)}
    if missing := {"Title", "Text", "Question", "right"} - parts.keys():
        raise ValueError(f"The step {name} of a lesson has no part {', '.join(sorted(missing))}.")
    hints = tuple(re.sub(r"^\d\. +", "", line) for line in parts.get("Hints", "").splitlines() if line.strip())
    if len(hints) not in (0, 3):
        raise ValueError(f"The step {name} of a lesson has {len(hints)} hints. It needs 3.")
    options = dict(re.findall(r"^- ([\w-]+): +(.+)$", parts.get("Options", ""), re.MULTILINE))
    outcomes = {part: text for part, text in parts.items() if part not in PARTS}
    optional = (parts.get(part, "") for part in ("Source", "Mistakes"))
    return StepText(parts["Title"], parts["Text"], parts["Question"], options, hints, outcomes, *optional)


def filled(text: str, values: Mapping[str, str | int | float]) -> str:
    """The text of an outcome with its values.

    Args:
        text: Markdown.
        values: Name → value. A text is shown as text, never as markup; a number as the language of the visitor
            writes it. A placeholder without a value stays.
    """

    def shown(match: re.Match[str]) -> str:
        value = values.get(match[1])
        if isinstance(value, str):
            return plain(value)
        if value is None:
            return match[0]
        if match[2] == "%":
            return percent(value)
        return decimal(value, digits=int(match[2] or (0 if isinstance(value, int) else 2)))

    parts = FORMULA.split(text)
    parts[::2] = [PLACEHOLDER.sub(shown, part) for part in parts[::2]]
    return "".join(parts)
