"""The texts of the lessons: one Markdown file per lesson and language.

A file has one form, which `lesson_text` checks:

    # Title of the lesson
    Goal of the lesson, in one sentence.

    ## name-of-a-step
    ### Title
    ### Text        what the visitor reads before the question
    ### Question
    ### Options     - name: text, for a question with options
    ### Hints       1. a nudge  2. a suggestion  3. what "show me" says
    ### right       what the visitor reads after the right answer, with {values}
    ### wrong       after another answer; further outcomes have a heading each
    ### Source      paper and section, where a fact comes from one
    ### Mistakes    common mistakes and how the app shows them, for the teacher
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

__all__ = ["LESSONS", "LessonText", "StepText", "lesson_text"]

LESSONS = Path(__file__).parent / "lessons"
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
    path = LESSONS / language / f"{name}.md"
    text = (path if path.is_file() else LESSONS / "en" / f"{name}.md").read_text(encoding="utf-8")
    head, *steps = re.split(r"^## +(.+)$", text, flags=re.MULTILINE)
    title, _, goal = head.strip().removeprefix("# ").partition("\n")
    pairs = zip(steps[::2], steps[1::2], strict=True)
    return LessonText(
        title.strip(), goal.strip(), {step.strip(): step_text(step.strip(), body) for step, body in pairs}
    )


def step_text(name: str, body: str) -> StepText:
    _, *cut = re.split(r"^### +(.+)$", body, flags=re.MULTILINE)
    parts = {part.strip(): text.strip() for part, text in zip(cut[::2], cut[1::2], strict=True)}
    if missing := {"Title", "Text", "Question", "Hints", "right"} - parts.keys():
        raise ValueError(f"The step {name} of a lesson has no part {', '.join(sorted(missing))}.")
    hints = tuple(re.sub(r"^\d\. +", "", line) for line in parts["Hints"].splitlines() if line.strip())
    if len(hints) != 3:
        raise ValueError(f"The step {name} of a lesson has {len(hints)} hints. It needs 3.")
    options = dict(re.findall(r"^- ([\w-]+): +(.+)$", parts.get("Options", ""), re.MULTILINE))
    outcomes = {part: text for part, text in parts.items() if part not in PARTS}
    optional = (parts.get(part, "") for part in ("Source", "Mistakes"))
    return StepText(parts["Title"], parts["Text"], parts["Question"], options, hints, outcomes, *optional)
