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
from viz_app.course.figures import figures_of
from viz_app.course.lesson import FORMS, AnswerForm, Lesson, Step
from viz_app.export.printable import blocks, inline

__all__ = ["live_lessons", "live_steps", "live_texts"]


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
    )


def offered(checkpoints: Collection[str]) -> list[tuple[Lesson, tuple[Step, ...]]]:
    """All lessons with the steps that a site has; the tour is the last. None if the site has no step of the lessons."""
    found = [(lesson, live_steps(lesson, checkpoints)) for lesson in LESSONS]
    tour = live_steps(TOUR, checkpoints)
    return [*found, *([(TOUR, tour)] if tour else [])] if any(steps for _, steps in found) else []


def live_lessons(checkpoints: Collection[str]) -> list[dict[str, object]]:
    """The lessons of a site in their order, without texts.

    Args:
        checkpoints: The names of the checkpoints of the site.
    """
    return [
        {
            "name": lesson.name,
            "number": LESSONS.index(lesson) + 1 if lesson in LESSONS else 0,
            "minutes": ceil(lesson.minutes * len(steps) / len(lesson.steps)),
            "only_in_app": len(lesson.steps) - len(steps),
            "steps": [described(lesson, step) for step in steps],
        }
        for lesson, steps in offered(checkpoints)
    ]


def described(lesson: Lesson, step: Step) -> dict[str, object]:
    """A step as `live/course/` reads it."""
    return {
        "name": step.name,
        "page": step.page,
        "choices": {name: value for name, value in step.choices.items() if "always" not in CHOICES[name]},
        "answer": answer_form(step.answer),
        "parameters": dict(step.parameters),
        "figures": figures(lesson),
        "target": step.target,
        "any_sentence": step.any_sentence,
        "puzzle": step.puzzle,
        "offers": [dict(offer) for offer in step.offers],
        "points_at": step.points_at,
        "outcomes": list(step.outcomes),
    }


def answer_form(form: AnswerForm) -> dict[str, object]:
    """Such as {"form": "one_of", "options": ["more", "fewer"]}."""
    return {"form": next(name for name, one in FORMS.items() if isinstance(form, one)), **form.to_dict()}


def figures(lesson: Lesson) -> dict[str, int | float]:
    try:
        return dict(figures_of(lesson.name))
    except KeyError:
        return {}


def live_texts(checkpoints: Collection[str], language: str) -> dict[str, object]:
    """The texts of these lessons: lesson → its texts, as HTML in which `{name}` stands for a value.

    Args:
        checkpoints: The names of the checkpoints of the site.
        language: A language of the interface.
    """
    return {
        lesson.name: lesson_as_html(lesson_text(lesson.name, language), steps) for lesson, steps in offered(checkpoints)
    }


def lesson_as_html(text: LessonText, steps: tuple[Step, ...]) -> dict[str, object]:
    return {
        "title": inline(text.title),
        "goal": inline(text.goal),
        "steps": {step.name: step_as_html(text.steps[step.name]) for step in steps},
    }


def step_as_html(text: StepText) -> dict[str, object]:
    return {
        "title": inline(text.title),
        "text": blocks(text.text),
        "question": inline(text.question.replace("**", "")),
        "options": {name: inline(option) for name, option in text.options.items()},
        "hints": [inline(hint) for hint in text.hints],
        "outcomes": {name: inline(outcome) for name, outcome in text.outcomes.items()},
        "source": inline(text.source),
    }
