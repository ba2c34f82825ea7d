"""The answers that a teacher expects: what the check of each step says in the run that the step opens."""

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

from model.inference.run import UNTOUCHED
from viz_app.course.lesson import Answer, Lesson, Number, OneOf, OneToken, Step, Verdict
from viz_app.course.situation import Situation
from viz_app.server.jobs import Report
from viz_app.server.server_state import RESULTS
from viz_app.services.analyses import Work, kept_job
from viz_app.services.listing import CheckpointKey
from viz_app.session.choice_forms import read_texts

__all__ = ["Expected", "Judged", "expected_answers", "expected_work", "known_answers", "opening"]

Keys = tuple[CheckpointKey, ...]


@dataclass(frozen=True, kw_only=True)
class Judged:
    """What the check says about some answers.

    Attributes:
        answers: The name of an option, words, or the smallest and the largest number. Empty before the visitor has
            done anything.
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
    read = read_texts(step.choices)
    return Situation(
        key=key,
        text=step.choices.get("text", ""),
        forced=read.get("forced", ()),
        intervention=read.get("intervention", UNTOUCHED),
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
        case OneToken() as form:
            judged = [(token.text, judge(index)) for index, token in enumerate(form.tokens(situation))]
            right = [(text, verdict) for text, verdict in judged if verdict.right]
            return (Judged(answers=tuple(text for text, _ in right), verdict=right[0][1]),) if right else ()
    return (Judged(answers=(), verdict=judge(None)),)


def right_numbers(form: Number, judge: Callable[[Answer], Verdict]) -> tuple[Judged, ...]:
    """The smallest and the largest right number: the numbers below them are too low, and those above too high."""
    numbers = [round(form.low + form.step * i, 6) for i in range(round((form.high - form.low) / form.step) + 1)]
    first, after = (
        bisect_left(numbers, True, key=lambda number: judge(number).outcome not in below)
        for below in (("too-low",), ("too-low", "right"))
    )
    if first == after:
        return ()
    shown = tuple(f"{number:.0f}" if form.whole else f"{number:g}" for number in (numbers[first], numbers[after - 1]))
    return (Judged(answers=shown, verdict=judge(numbers[(first + after - 1) // 2])),)


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
            name = step.choices.get("checkpoint", "")
            judged = expected_answers(step, opening(step, needed[name])) if name in needed else ()
            found.append(Expected(judged=judged, missing="" if name in needed else name))
        return tuple(found)

    return kept_job(("expected answers", lesson.name, tuple(needed.values())), compute)


def known_answers(lesson: Lesson, keys: Keys) -> tuple[Expected, ...] | None:
    """The result of `expected_work`; None before the job has finished."""
    return cast(tuple[Expected, ...] | None, RESULTS.peek(expected_work(lesson, keys)[0]))
