"""Read the steps of a lesson from its data file, which stands beside its texts in `viz_app/content/lessons`.

A file has this form. Whatever is left out has the default of `Step`:

    minutes = 20
    [places.NAME]       choices that several steps share, as a link writes them
    [[steps]]
    name = "scale"      as in the Markdown and in links
    page = "inside"
    at = "NAME"         one of the places; `choices` adds to it
    choices = { text = "She reads a book." }
    answer = { form = "number", low = 0, high = 9, step = 1 }    without it, the visitor acts on the page
    parameters = { within = 0.3 }    what the check compares with, here and in a published page
    offers = ["Open the door."]      a text, or choices
"""

import inspect
import tomllib
from collections.abc import Callable, Mapping
from typing import Any

from viz_app.content.lesson_texts import LESSONS
from viz_app.course.lesson import ESTIMATES, FORMS, AnswerForm, Lesson, Number, Step, Verdict

__all__ = ["lesson_of", "read_lesson"]

Check = Callable[..., Verdict]


def read_lesson(name: str, checks: Mapping[str, Check]) -> Lesson:
    """The lesson of a data file.

    Args:
        name: Of the lesson.
        checks: The name of each step → the function that compares an answer with the visitor's run.

    Raises:
        ValueError: the file contradicts its form or the checks. The message names the lesson and the step.
    """
    return lesson_of(name, tomllib.loads((LESSONS / f"{name}.toml").read_text(encoding="utf-8")), checks)


def lesson_of(name: str, values: Mapping[str, Any], checks: Mapping[str, Check]) -> Lesson:
    """As `read_lesson`, from the values of the file."""
    if unknown := values.keys() - {"minutes", "places", "steps"}:
        raise ValueError(f"The lesson {name} has no setting {', '.join(sorted(unknown))}.")
    steps = {str(one.get("name")): one for one in values["steps"]}
    if [*steps] != [*checks] or len(steps) != len(values["steps"]):
        raise ValueError(f"The lesson {name} has the steps {', '.join(steps)}, but checks for {', '.join(checks)}.")
    places, made = values.get("places", {}), []
    for step_name, step in steps.items():
        try:
            made.append(step_of(step, places, checks[step_name]))
        except (ValueError, TypeError) as error:
            raise ValueError(f"The step {name}.{step_name} cannot be read: {error}") from error
    return Lesson(name=name, steps=tuple(made), minutes=values.get("minutes", Lesson.minutes))


def step_of(values: Mapping[str, Any], places: Mapping[str, Mapping[str, str]], compare: Check) -> Step:
    at = values.get("at")
    if at is not None and at not in places:
        raise ValueError(f"it is at {at}, but the places are {', '.join(places)}.")
    answer = form_of(values.get("answer", {"form": "action"}))
    choices = {**places.get(str(at), {}), **values.get("choices", {})}
    offers = [{"text": one} if isinstance(one, str) else dict(one) for one in values.get("offers", ())]
    if not all(isinstance(value, str) for one in (choices, *offers) for value in one.values()):
        raise ValueError("a choice is not a text. Write it as a link does.")
    inspect.signature(compare).bind(None, None, **values.get("parameters", {}))
    usual = {"outcomes": ESTIMATES} if isinstance(answer, Number) else {}
    given = {key: value for key, value in values.items() if key != "at"}
    made = {"choices": choices, "offers": offers, "answer": answer, "compare": compare}
    return Step.from_dict({**usual, **given, **made})


def form_of(values: Mapping[str, Any]) -> AnswerForm:
    form = str(values.get("form"))
    if form not in FORMS:
        raise ValueError(f"an answer has the form {form}; it must be one of {', '.join(FORMS)}.")
    return FORMS[form].from_dict({name: value for name, value in values.items() if name != "form"})
