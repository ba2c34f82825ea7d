"""The lessons that a site can show: their steps and their texts, as data for `live/course/`.

A step is a part of a site if Headlight Live has its page and everything that the page shows there, and if the site has
its checkpoint. The other steps are only counted.
"""

import re
from collections.abc import Collection
from math import ceil

from viz_app.content.lesson_texts import LessonText, StepText, lesson_text
from viz_app.content.shared import CHOICES, PUBLISHED_PAGES
from viz_app.course.catalogue import LESSONS, TOUR
from viz_app.course.lesson import FORMS, Lesson, Step
from viz_app.export.printable import blocks, inline

__all__ = ["live_lessons", "live_steps", "live_texts"]


ALSO_RUN = {"seen_by_both": "tiny-gpt-en"}  # quantity → the checkpoint that it runs beside the one of the step


def live_steps(lesson: Lesson, checkpoints: Collection[str]) -> tuple[Step, ...]:
    """The steps of a lesson that a site has.

    Args:
        lesson: The lesson.
        checkpoints: The names of the checkpoints of the site.
    """
    return tuple(step for step in lesson.steps if is_live(step, checkpoints))


def is_live(step: Step, checkpoints: Collection[str]) -> bool:
    def has(name: str, value: str) -> bool:
        choice = CHOICES.get(name, {})
        return value == choice.get("always") or bool(re.fullmatch(choice.get("published", "(?!)"), value))

    return (
        step.page in PUBLISHED_PAGES
        and step.choices.get("checkpoint", "") in checkpoints
        and all(has(name, value) for name, value in step.choices.items())
        and all(other in checkpoints for quantity, other in ALSO_RUN.items() if quantity in str(step.lines))
    )


def offered(checkpoints: Collection[str], only: str) -> list[tuple[Lesson, tuple[Step, ...]]]:
    """The lessons with the steps that a site has; the tour is the last. None if the site has no step of the lessons."""
    found = [(lesson, live_steps(lesson, checkpoints)) for lesson in LESSONS if only in ("", lesson.name)]
    tour = () if only else live_steps(TOUR, checkpoints)
    return [*found, *([(TOUR, tour)] if tour else [])] if any(steps for _, steps in found) else []


def live_lessons(checkpoints: Collection[str], only: str = "") -> list[dict[str, object]]:
    """The lessons of a site in their order, without texts.

    Args:
        checkpoints: The names of the checkpoints of the site.
        only: The name of the one lesson that the site has; "" for all and the tour.
    """
    return [
        {
            "name": lesson.name,
            "number": LESSONS.index(lesson) + 1 if lesson in LESSONS else 0,
            "minutes": ceil(lesson.minutes * len(steps) / len(lesson.steps)),
            "only_in_app": len(lesson.steps) - len(steps),
            "steps": [described(step) for step in steps],
        }
        for lesson, steps in offered(checkpoints, only)
    ]


def described(step: Step) -> dict[str, object]:
    """A step as `live/course/` reads it."""
    form = next(name for name, one in FORMS.items() if isinstance(step.answer, one))
    choices = {name: value for name, value in step.choices.items() if "always" not in CHOICES[name]}
    return {**step.to_dict(), "choices": choices, "answer": {"form": form, **step.answer.to_dict()}}


def live_texts(checkpoints: Collection[str], language: str, only: str = "") -> dict[str, object]:
    """The texts of these lessons: lesson → its texts, as HTML in which `{name}` stands for a value.

    Args:
        checkpoints: The names of the checkpoints of the site.
        language: A language of the interface.
        only: As in `live_lessons`.
    """
    return {
        lesson.name: lesson_as_html(lesson_text(lesson.name, language), steps)
        for lesson, steps in offered(checkpoints, only)
    }


def lesson_as_html(text: LessonText, steps: tuple[Step, ...]) -> dict[str, object]:
    return {
        "title": inline(text.title),
        "goal": inline(text.goal),
        "steps": {step.name: step_as_html(text.steps[step.name]) for step in steps},
    }


def step_as_html(text: StepText) -> dict[str, object]:
    named = {part: {name: inline(one) for name, one in getattr(text, part).items()} for part in ("options", "outcomes")}
    single = {part: inline(getattr(text, part)) for part in ("title", "source")}
    question = inline(text.question.replace("**", ""))
    return {**single, **named, "text": blocks(text.text), "question": question, "hints": [*map(inline, text.hints)]}
