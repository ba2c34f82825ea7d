"""Answer the steps of a lesson as a visitor does, on the bundled checkpoints."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from model.inference.run import UNTOUCHED, Result
from tests.conftest import BUNDLED
from viz_app.content.lesson_texts import FORMULA, PLACEHOLDER, lesson_text
from viz_app.course.lesson import Answer, Lesson, OneOf, Step, Verdict
from viz_app.course.situation import Situation
from viz_app.services.listing import list_one
from viz_app.session.choice_forms import FORMS

__all__ = ["ProbeStep", "answered", "log_margin", "margin", "outcomes", "placeholders", "situation_of", "step_of"]


@dataclass(frozen=True, kw_only=True)
class ProbeStep(Step):
    """A step whose check is a function of the test."""

    compare: Callable[..., Verdict]

    def check(self, situation: Situation, answer: Answer) -> Verdict:
        return self.compare(situation, answer)


def placeholders(text: str) -> frozenset[str]:
    """The names of the values in the text of an outcome. Braces of a formula name none."""
    return frozenset(name for part in FORMULA.split(text)[::2] for name, _ in PLACEHOLDER.findall(part))


def step_of(lesson: Lesson, name: str) -> Step:
    return next(step for step in lesson.steps if step.name == name)


def situation_of(step: Step, /, **changed: str) -> Situation:
    """The run that a step opens, with other choices where the visitor changed some."""
    choices = {**step.choices, **changed}
    read: dict[str, Any] = {name: FORMS[name].read(text) for name, text in choices.items()}
    assert None not in read.values(), f"a link cannot have one of these choices: {choices}"
    return Situation(
        key=list_one(BUNDLED / choices["checkpoint"]).key,
        text=choices.get("text", ""),
        forced=read.get("forced", ()),
        intervention=read.get("intervention", UNTOUCHED),
        choices=choices,
    )


def answered(lesson: Lesson, name: str, answer: Answer = None, **changed: str) -> Verdict:
    """The verdict on an answer. The English text of its outcome exists and has a value for each placeholder."""
    step = step_of(lesson, name)
    verdict = step.check(situation_of(step, **changed), answer)
    text = lesson_text(lesson.name, "en").steps[name].outcomes[verdict.outcome]
    assert placeholders(text) <= {*verdict.values}
    assert verdict.right == (verdict.outcome == "right")
    return verdict


def outcomes(lesson: Lesson, name: str) -> dict[str, Verdict]:
    """The verdict on each option of a question."""
    form = step_of(lesson, name).answer
    assert isinstance(form, OneOf)
    return {option: answered(lesson, name, option) for option in form.options}


def margin(translation: Result) -> float:
    """The smallest difference of the two largest probabilities at a written token."""
    return min(one.candidates[0].probability - one.candidates[1].probability for one in translation.written)


def log_margin(translation: Result) -> float:
    """The smallest difference of the two largest log-probabilities at a written token, in nats."""
    pairs = [one.candidates[:2] for one in translation.written]
    return min(math.log(first.probability / second.probability) for first, second in pairs)
