"""The checks of lessons in a live page say what those of the app say: the same outcome with the same values."""

import json
import math
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import pytest

from tests.conftest import BUNDLED, PATIENCE
from tests.javascript.check import program
from tests.live.engine import SCRIPT
from tests.viz_app.course.lesson_runs import situation_of
from viz_app.course.catalogue import LESSONS, TOUR
from viz_app.course.expected import right_numbers
from viz_app.course.lesson import Answer, Lesson, Number, OneOf, OneToken, Step
from viz_app.course.situation import Situation
from viz_app.export.live_lessons import live_lessons, live_steps
from viz_app.export.site import published

WIDTH_OF_A_HEAD = 32.0  # of everyday-en-de, a wrong answer with a text of its own
CHECKPOINTS = ("everyday-en-de", "everyday-de-en", "gru-de-en", "tiny-bert-en", "tiny-gpt-en")
TIRED = "I am tired."
LAYER, THIRD = (
    "1-2-3-4-5-6-7-8",
    "off.encoder.1.1-2-3-4-5-6-7-8~off.decoder.2.1-2-3-4-5-6-7-8~off.decoder.1.1-2-3-4-5-6-7-8",
)
Choices = Mapping[str, str]


def place(kind: str, layer: int, head: int, query: int) -> Choices:
    return {"kind": kind, "layer": str(layer), "head": str(head), "query": str(query)}


# What a visitor has changed in a step, besides nothing.
CHANGED: Mapping[str, tuple[Choices, ...]] = {
    "learning-and-writing.gpt-and-bert": (
        {"text": "The dogs near the tree are hungry."},
        {"text": "[MASK] near the tree are hungry."},
        {"text": "The dogs near the tree are [MASK]."},
    ),
    "why-attention.full-stop": ({"text": "Ein Kind"},),
    "why-attention.puzzle-backwards": (
        {"text": "Hallo."},
        {"text": "Auf der Straße fährt ein Mann mit einem Fahrrad."},
    ),
    "query-key-value.row": (place("decoder", 1, 2, 0),),
    "query-key-value.best-key": (place("decoder", 3, 1, 4),),
    "query-key-value.small-value": (place("encoder", 2, 6, 1), place("decoder", 3, 1, 4)),
    "query-key-value.puzzle-certain": (place("decoder", 1, 1, 0), place("cross", 3, 3, 1)),
    "query-key-value.puzzle-temperature": (
        {"head_temperature": "0.1"},
        {"head_temperature": "0.2"},
        {"scaled": "false"},
        place("cross", 3, 3, 3),
    ),
    "query-key-value.puzzle-masked": (place("decoder", 1, 3, 3), place("decoder", 1, 1, 4), place("cross", 1, 1, 0)),
    "many-heads.what-is-lost": ({"intervention": f"off.cross.3.{LAYER}"},),
    "many-heads.together": ({"intervention": "off.cross.1.3"}, {"intervention": f"off.cross.3.{LAYER}"}),
    "many-heads.puzzle-two-heads": (
        {"intervention": "off.cross.3.1-2"},
        {"intervention": "off.encoder.1.1"},
        {"intervention": "off.cross.3.1-2-3"},
        {"intervention": "off.cross.3.1~nopositions"},
        {"text": TIRED},
    ),
    "many-heads.puzzle-one-back": (
        place("cross", 3, 1, 0),
        {"head": "mean"},
        *(place("encoder", layer, head, 0) for layer, head in ((1, 2), (1, 4), (1, 7), (2, 2), (2, 8))),
        *(place("decoder", layer, head, 0) for layer, head in ((1, 1), (1, 2), (1, 6), (2, 1))),
    ),
    "many-heads.puzzle-not-needed": (
        {"intervention": THIRD},
        {"intervention": f"off.cross.3.{LAYER}"},
        {"text": TIRED},
    ),
    "masks-and-decoding.padding": ({"sentence": "4", "batch_en_2": "", "batch_en_3": TIRED},),
    "masks-and-decoding.read-so-far": ({"step": "5"},),
    "masks-and-decoding.forced-word": ({"forced": "0.684"}, {"forced": "2.2663-4.619"}),
    "masks-and-decoding.puzzle-verb-first": (
        *({"forced": forced} for forced in ("0.4285", "0.619", "3.364", "0.341", "0.4285-1.341")),
    ),
    "positions.black-cat": ({"text": "The boy loves the girl."},),
    "positions.puzzle-changes": ({"text": "The boy loves the girl."},),
    "positions.puzzle-keeps": ({"text": "A dog."}, {"text": "The cat is black."}),
    "positions.puzzle-twin": ({"text": "You love me."}, {"text": "You love him."}),
    "what-attention-explains.uniform-cross": ({"text": "The cat is black."},),
    "what-attention-explains.puzzle-strong-and-silent": (
        {"intervention": THIRD},
        {"intervention": f"off.cross.3.{LAYER}~off.cross.2.{LAYER}"},
        {"intervention": "uniform.cross.1.1"},
    ),
    "what-attention-explains.puzzle-needs-patterns": ({"intervention": "off.cross.1.1"}, {"text": "Open the door."}),
    "first-visit.sentence": ({"text": TIRED},),
    "first-visit.heads": ({"layer": "2", "head": "1"},),
    "first-visit.map": ({"layer": "2", "head": "4"},),
    "first-visit.more": ({"kind": "encoder"},),
}
# Many translations and many heads take long, so these steps get less work.
INSTEAD: Mapping[str, Choices] = {
    "many-heads.one-head": {"text": TIRED},
    "what-attention-explains.largest-weight": {"text": TIRED},
}
# A translation has at least one token, and no pair of heads that we tried changes only other words.
RARE = {"first-visit.tokens: wrong", "many-heads.puzzle-two-heads: still-there"}
FEWER_SENTENCES = {"positions.ten-sentences": 2, "what-attention-explains.best-pointer": 2}


@dataclass(frozen=True)
class Case:
    """One run of the page, and the answers that are judged in it."""

    lesson: Lesson
    step: Step
    choices: Choices
    answers: tuple[Answer, ...]

    @property
    def situation(self) -> Situation:
        return situation_of(self.step, **self.choices)

    def for_page(self) -> dict[str, object]:
        lesson = next(one for one in live_lessons(CHECKPOINTS) if one["name"] == self.lesson.name)
        listed: Any = lesson["steps"]
        step = next(one for one in listed if one["name"] == self.step.name)
        fewer = (
            {"sentences": self.step.parameters["sentences"]} if self.lesson.link(self.step) in FEWER_SENTENCES else {}
        )
        step = step | {"parameters": step["parameters"] | fewer}
        choices = {**step["choices"], **self.choices}
        return {
            "page": step["page"],
            "choices": choices,
            "step": step,
            "answers": self.answers,
        }


def answers_of(step: Step, situation: Situation) -> tuple[Answer, ...]:
    """Answers of all kinds, with the numbers around the ends of the right ones."""
    match step.answer:
        case OneOf(options):
            return options
        case OneToken():
            return tuple(map(float, range(len(situation.translation.source))))
        case Number(low, high, width) as form:
            judged = right_numbers(form, lambda answer: step.check(situation, answer))
            ends = [float(end) for one in judged for end in one.answers]
            near = {number for end in ends for number in (end - width, end, end + width)}
            return (low - 10, *sorted(near), WIDTH_OF_A_HEAD, high + 10)  # beyond all that are right
    return (None,)


def cases() -> Iterator[Case]:
    for lesson in (*LESSONS, TOUR):
        for step in live_steps(lesson, CHECKPOINTS):
            name = lesson.link(step)
            if name in FEWER_SENTENCES:
                fewer = step.parameters["sentences"][: FEWER_SENTENCES[name]]
                step = replace(step, parameters={**step.parameters, "sentences": fewer})
            for choices in (INSTEAD.get(name, {}), *CHANGED.get(name, ())):
                yield Case(lesson, step, choices, answers_of(step, situation_of(step, **choices)))


def opened(case: Case) -> tuple[str, str]:
    return case.situation.key.name, case.situation.text


def run_checks(all_cases: list[Case]) -> list[Any]:
    """The verdicts of the page, see `run_lesson_checks.mjs`."""
    script = SCRIPT.with_name("run_lesson_checks.mjs")
    found_ones = [published(BUNDLED / name) for name in CHECKPOINTS]
    listed = [
        one.listed(files={file: str(one.folder / file) for file in one.files}, card="", atlas="") for one in found_ones
    ]
    given = json.dumps({"checkpoints": listed, "cases": [case.for_page() for case in all_cases]})
    command = [program("node"), "--disable-warning=MODULE_TYPELESS_PACKAGE_JSON", str(script)]
    found = subprocess.run(command, input=given, capture_output=True, encoding="utf-8", timeout=PATIENCE, check=False)
    assert found.returncode == 0, found.stderr
    return list(json.loads(found.stdout))


def close(name: str, one: object, other: object) -> bool:
    if isinstance(one, str | bool) or isinstance(other, str | bool):
        return one == other
    within = 1e-3 if name == "correlation" else 1e-5  # two heads with nearly the same effect may change their ranks
    return math.isclose(float(str(one)), float(str(other)), rel_tol=1e-3, abs_tol=within)


@pytest.fixture(scope="module")
def all_cases() -> list[Case]:
    return sorted(cases(), key=opened)  # a page keeps only the latest translations


@pytest.fixture(scope="module")
def found(all_cases: list[Case]) -> list[Any]:
    return run_checks(all_cases)


def test_the_page_judges_every_answer_as_the_app_does(all_cases: list[Case], found: list[Any]) -> None:
    for case, verdicts in zip(all_cases, found, strict=True):
        for answer, theirs in zip(case.answers, verdicts, strict=True):
            ours = case.step.check(case.situation, answer)
            where = f"{case.lesson.link(case.step)} {dict(case.choices)} {answer}: {ours} {theirs}"
            assert (theirs["outcome"], theirs["right"]) == (ours.outcome, ours.right), where
            assert theirs["values"].keys() == ours.values.keys(), where
            differ = {name for name, value in ours.values.items() if not close(name, value, theirs["values"][name])}
            assert not differ, f"{differ} {where}"


def test_the_cases_bring_up_every_outcome(all_cases: list[Case], found: list[Any]) -> None:
    seen: dict[str, set[str]] = {}
    for case, verdicts in zip(all_cases, found, strict=True):
        seen.setdefault(case.lesson.link(case.step), set()).update(verdict["outcome"] for verdict in verdicts)
    missing = {
        f"{lesson.link(step)}: {outcome}"
        for lesson in (*LESSONS, TOUR)
        for step in live_steps(lesson, CHECKPOINTS)
        for outcome in {*step.outcomes} - seen[lesson.link(step)]
    }
    assert missing == RARE
