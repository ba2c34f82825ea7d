"""The lessons that exist, in their order, and the tour of a first visit.

The steps of a lesson are a data file, which stands beside its texts in `viz_app/content/lessons`. It has this form.
Whatever is left out has the default of `Step`:

    minutes = 20
    [places.NAME]       choices that several steps share, as a link writes them
    [[steps]]
    name = "scale"      as in the Markdown and in links
    page = "inside"
    at = "NAME"         one of the places; `choices` adds to it
    choices = { text = "She reads a book." }
    answer = { form = "number", low = 0, high = 9, step = 1 }    without it, the visitor acts on the page
    parameters = { within = 0.3 }    what the check compares with
    offers = ["Open the door."]      a text, or choices
    check = '''…'''     compares the answer with the visitor's run, here and in a published page: see `expressions.py`

`figures.json` has figures that take too long for one run. `python -m tools.lesson_figures` measures them on bundled
checkpoints, and keeps the hash of their weights. A check uses those of its lesson with the line `figures`.
"""

import json
import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from viz_app.content.lesson_texts import LESSONS as FOLDER
from viz_app.course.app_quantities import QUANTITIES
from viz_app.course.expressions import FUNCTIONS, Lines, names_in, outcomes_of, parse
from viz_app.course.lesson import FORMS, AnswerForm, Lesson, Step
from viz_app.course.quiz import QUIZ_FORMS

__all__ = ["ANSWER_FORMS", "FIGURES", "LESSONS", "TOUR", "figures", "lesson_named", "lesson_of", "step_of_link"]

FIGURES = Path(__file__).with_name("figures.json")


@cache
def figures() -> Mapping[str, Mapping[str, Any]]:
    """The measured `figures` of each lesson that has some, and the SHA-256 of the `weights` of each checkpoint."""
    found: Mapping[str, Mapping[str, Any]] = json.loads(FIGURES.read_text(encoding="utf-8"))
    return found


def read_lesson(name: str) -> Lesson:
    return lesson_of(name, tomllib.loads((FOLDER / f"{name}.toml").read_text(encoding="utf-8")))


def lesson_of(name: str, values: Mapping[str, Any]) -> Lesson:
    """The lesson of a data file.

    Args:
        name: Of the lesson.
        values: Those of the file.

    Raises:
        ValueError: the file contradicts its form. The message names the lesson and the step.
    """
    if unknown := values.keys() - {"minutes", "places", "steps"}:
        raise ValueError(f"The lesson {name} has no setting {', '.join(sorted(unknown))}.")
    steps = {str(one.get("name")): one for one in values["steps"]}
    if len(steps) != len(values["steps"]):
        raise ValueError(f"The lesson {name} has two steps of one name.")
    made = []
    for step_name, step in steps.items():
        try:
            made.append(step_of(step, values.get("places", {}), figures()["figures"].get(name, {})))
        except (ValueError, TypeError, KeyError, SyntaxError) as error:
            raise ValueError(f"The step {name}.{step_name} cannot be read: {error}") from error
    return Lesson(name=name, steps=tuple(made), minutes=values.get("minutes", Lesson.minutes))


def step_of(values: Mapping[str, Any], places: Mapping[str, Mapping[str, str]], measured: Mapping[str, Any]) -> Step:
    at = values.get("at")
    if at is not None and at not in places:
        raise ValueError(f"it is at {at}, but the places are {', '.join(places)}.")
    choices = {**places.get(str(at), {}), **values.get("choices", {})}
    offers = [{"text": one} if isinstance(one, str) else dict(one) for one in values.get("offers", ())]
    if not all(isinstance(value, str) for one in (choices, *offers) for value in one.values()):
        raise ValueError("a choice is not a text. Write it as a link does.")
    lines, parameters = check_of(values, measured)
    made = {"answer": form_of(values.get("answer", {"form": "action"})), "lines": lines, "parameters": parameters}
    given = {key: value for key, value in values.items() if key not in ("at", "check")}
    return Step.from_dict({"outcomes": outcomes_of(lines), **given, "choices": choices, "offers": offers, **made})


def check_of(values: Mapping[str, Any], measured: Mapping[str, Any]) -> tuple[Lines, dict[str, Any]]:
    """The lines of a check, and the parameters that they use."""
    lines, parameters = parse(values["check"]), dict(values.get("parameters", {}))
    used, names = names_in(values["check"])
    if unused := parameters.keys() - used:
        raise ValueError(f"its check does not use {', '.join(sorted(unused))}.")
    if "figures" in names:
        parameters["figures"] = measured
    if unknown := names - {"given", "opens", *parameters, *FUNCTIONS, *QUANTITIES}:
        raise ValueError(f"its check has the unknown name {', '.join(sorted(unknown))}.")
    return lines, parameters


def form_of(values: Mapping[str, Any]) -> AnswerForm:
    form = str(values.get("form"))
    if form not in FORMS:
        raise ValueError(f"an answer has the form {form}; it must be one of {', '.join(FORMS)}.")
    return FORMS[form].from_dict({name: value for name, value in values.items() if name != "form"})


NAMES = (
    *("why-attention", "query-key-value", "many-heads", "masks-and-decoding", "positions", "the-whole-layer"),
    *("what-attention-explains", "learning-and-writing"),
)
LESSONS: tuple[Lesson, ...] = tuple(map(read_lesson, NAMES))
TOUR = read_lesson("first-visit")  # in no list: the app offers it once, and the page Lessons has a link to it
STEPS = {lesson.link(step): (lesson, step) for lesson in (*LESSONS, TOUR) for step in lesson.steps}
ANSWER_FORMS: dict[str, AnswerForm] = {name: step.answer for name, (_, step) in STEPS.items()} | QUIZ_FORMS


def lesson_named(name: str) -> Lesson:
    """A lesson by its name in links."""
    return next(one for one in (*LESSONS, TOUR) if one.name == name)


def step_of_link(name: str) -> tuple[Lesson, Step] | None:
    """The lesson and the step that a link names; None for an unknown name.

    Args:
        name: Such as "query-key-value.scale". The name of a lesson alone means its first step.
    """
    return STEPS.get(name) or next((found for found in STEPS.values() if found[0].name == name), None)
