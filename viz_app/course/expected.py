"""The answers that a teacher expects: what the check of each step says in the run that the step opens."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, cast

from model.inference.run import UNTOUCHED
from viz_app.course.lesson import Answer, Lesson, Number, OneHead, OneOf, OneToken, Step, Verdict
from viz_app.course.situation import Situation
from viz_app.server.jobs import Report
from viz_app.server.server_state import RESULTS
from viz_app.services import loading
from viz_app.services.analyses import Work, kept_job
from viz_app.services.listing import CheckpointKey
from viz_app.session.choice_forms import FORMS

__all__ = ["Expected", "Judged", "expected_answers", "expected_work", "known_answers", "opening"]

Keys = tuple[CheckpointKey, ...]


@dataclass(frozen=True, kw_only=True)
class Judged:
    """What the check says about some answers.

    Attributes:
        answers: The name of an option, words, heads as "2.3" (counted from 1), or the smallest and the largest number.
            Empty before the visitor has done anything.
        verdict: About one of them.
    """

    answers: tuple[str, ...]
    verdict: Verdict


@dataclass(frozen=True, kw_only=True)
class Expected:
    """The expected answers to a step.

    Attributes:
        judged: All options of a question with options. Otherwise only right answers; for something to do on the page,
            what the strip says before that.
        missing: The checkpoint that this server lacks; "" if it has it.
    """

    judged: tuple[Judged, ...] = ()
    missing: str = ""


def opening(step: Step, key: CheckpointKey) -> Situation:
    """The run that a step opens.

    Args:
        step: The step.
        key: Of its checkpoint.
    """
    read: dict[str, Any] = {name: FORMS[name].read(text) for name, text in step.choices.items()}
    return Situation(
        key=key,
        text=step.choices.get("text", ""),
        forced=read.get("forced") or (),
        intervention=read.get("intervention") or UNTOUCHED,
        choices=step.choices,
    )


def expected_answers(step: Step, situation: Situation) -> tuple[Judged, ...]:
    """What the check of a step says about the answers of its form.

    Args:
        step: The step.
        situation: The run that it opens.
    """

    def judge(answer: Answer) -> Verdict:
        return step.check(situation, answer)

    match step.answer:
        case OneOf(options):
            return tuple(Judged(answers=(option,), verdict=judge(option)) for option in options)
        case Number() as form:
            return right_numbers(form, judge)
        case OneToken(side):
            translation = situation.translation
            tokens = translation.source if side == "reads" else translation.written
            return right_among({index: token.text for index, token in enumerate(tokens)}, judge)
        case OneHead(kind):
            model = loading.config_of(situation.key).model
            places = [(layer, head) for layer in range(model.num_layers(kind)) for head in range(model.num_heads)]
            return right_among({(layer, head): f"{layer + 1}.{head + 1}" for layer, head in places}, judge)
    return () if step.predicts else (Judged(answers=(), verdict=judge(None)),)  # nobody can try all words


def right_among(names: dict[Any, str], judge: Callable[[Answer], Verdict]) -> tuple[Judged, ...]:
    """All right answers together, with the verdict on the first."""
    verdicts = {answer: judge(answer) for answer in names}
    right = [answer for answer, verdict in verdicts.items() if verdict.right]
    return (Judged(answers=tuple(names[answer] for answer in right), verdict=verdicts[right[0]]),) if right else ()


def right_numbers(form: Number, judge: Callable[[Answer], Verdict]) -> tuple[Judged, ...]:
    """The smallest and the largest right number. Right numbers lie together, so their ends are found by halving."""
    whole = all(float(value).is_integer() for value in (form.low, form.high, form.step))
    count = round((form.high - form.low) / form.step) + 1
    numbers = [round(form.low + form.step * index, 6) for index in range(count)]
    found = next((index for index in probes(count) if judge(numbers[index]).right), None)
    if found is None:
        return ()
    first = edge(found, 0, lambda index: judge(numbers[index]).right)
    last = edge(found, count - 1, lambda index: judge(numbers[index]).right)
    shown = tuple(f"{numbers[index]:.0f}" if whole else f"{numbers[index]:g}" for index in (first, last))
    return (Judged(answers=shown, verdict=judge(numbers[(first + last) // 2])),)


def probes(count: int) -> Sequence[int]:
    """Indices in an order that covers the whole range coarsely first, and completely at the end."""
    order: dict[int, None] = {}
    stride = count
    while stride > 1:
        stride = (stride + 1) // 2
        order |= dict.fromkeys(range(0, count, stride))
    return [*order, *(index for index in range(count) if index not in order)]


def edge(inside: int, end: int, right: Callable[[int], bool]) -> int:
    """The right index that is nearest to an end of the range."""
    if right(end):
        return end
    outside = end
    while abs(outside - inside) > 1:
        middle = (inside + outside) // 2
        inside, outside = (middle, outside) if right(middle) else (inside, middle)
    return inside


def expected_work(lesson: Lesson, keys: Keys) -> Work[tuple[Expected, ...]]:
    """The job that finds the expected answers to each step of a lesson.

    Args:
        lesson: The lesson.
        keys: Of the checkpoints that this server has.
    """
    names = {step.choices.get("checkpoint", "") for step in lesson.steps}
    needed = {key.name: key for key in keys if key.name in names}

    def compute(report: Report) -> tuple[Expected, ...]:
        found: list[Expected] = []
        for step in lesson.steps:
            report(len(found), len(lesson.steps))
            found.append(expected(step, needed))
        return tuple(found)

    return kept_job(("expected answers", lesson.name, tuple(needed.values())), compute)


def known_answers(lesson: Lesson, keys: Keys) -> tuple[Expected, ...] | None:
    """The result of `expected_work`; None before the job has finished."""
    return cast(tuple[Expected, ...] | None, RESULTS.peek(expected_work(lesson, keys)[0]))


def expected(step: Step, keys: dict[str, CheckpointKey]) -> Expected:
    name = step.choices.get("checkpoint", "")
    if name not in keys:
        return Expected(missing=name)
    return Expected(judged=expected_answers(step, opening(step, keys[name])))
