"""What a lesson is: steps that open a page, ask a question, and compare the answer with the visitor's own run."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from model.config.section import Section
from model.inference.run import Token
from viz_app.course.app_quantities import QUANTITIES
from viz_app.course.expressions import Lines, evaluate
from viz_app.course.situation import Situation

__all__ = [
    "FORMS",
    "Action",
    "Answer",
    "AnswerForm",
    "Kept",
    "Lesson",
    "Number",
    "OneOf",
    "OneToken",
    "Step",
    "Verdict",
]

Value = str | int | float
Answer = str | float | None  # None: the visitor has acted on the page instead


@dataclass(frozen=True)
class OneOf(Section):
    """The visitor chooses one of these options. Markdown words them."""

    options: tuple[str, ...]


@dataclass(frozen=True)
class OneToken(Section):
    """The visitor chooses a token of this run. The answer is its index, as a number."""

    side: Literal["reads", "writes"]

    def tokens(self, situation: Situation) -> Sequence[Token]:
        """The tokens to choose from."""
        translation = situation.translation
        return translation.source if self.side == "reads" else translation.written


@dataclass(frozen=True)
class Number(Section):
    """The visitor estimates a number."""

    low: float
    high: float
    step: float

    @property
    def whole(self) -> bool:
        """Whether it is a whole number."""
        return all(float(value).is_integer() for value in (self.low, self.high, self.step))


@dataclass(frozen=True)
class Action(Section):
    """The visitor acts on the page, which is visible from the beginning. There is no answer to type."""


@dataclass(frozen=True)
class Kept(Section):
    """No answer to a step, but a text that the browser keeps beside the answers."""

    longest: int  # characters


AnswerForm = OneOf | OneToken | Number | Action | Kept
# As the data of a lesson names them, in its file and in a published page.
FORMS: Mapping[str, type[AnswerForm]] = {
    "one_of": OneOf,
    "one_token": OneToken,
    "number": Number,
    "action": Action,
}


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """What the run says about an answer.

    Attributes:
        right: Whether the step is done.
        outcome: The name of the text in Markdown: "right", "wrong", or a more exact one, such as "unchanged".
        values: The values of the placeholders in this text. Texts are shown as text, numbers in the form of the
            visitor's language.
    """

    right: bool
    outcome: str
    values: Mapping[str, Value] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Step(Section):
    """One step of a lesson.

    Attributes:
        name: Its heading in Markdown, and its name in links.
        page: The page that it opens, a name in `PAGES`.
        choices: What the page shows, as a link writes it.
        answer: How the visitor answers. Except for an `Action`, the page is hidden until the visitor has answered.
        lines: Compare the answer with the visitor's run, see `expressions.py`.
        parameters: What they need besides: the numbers and words that decide.
        outcomes: The names of all verdicts that they can give. Markdown words each of them.
        target: The key of the control or the picture that the step is about.
        any_sentence: Whether the step also works with the visitor's own sentence.
        puzzle: Whether it is a puzzle. Puzzles accept every right answer.
        offers: What a visitor can take instead of own sentences, as a link writes it. Some of them solve the puzzle.
        points_at: The part of the page at which the visitor has to point first: a written token or a cell of the map.
    """

    name: str
    page: str
    choices: Mapping[str, str]
    answer: AnswerForm
    lines: Lines = ()
    parameters: Mapping[str, Any] = field(default_factory=dict)
    outcomes: tuple[str, ...] = ("right", "wrong")
    target: str = ""
    any_sentence: bool = True
    puzzle: bool = False
    offers: tuple[dict[str, str], ...] = ()
    points_at: Literal["", "writes", "map"] = ""

    @property
    def predicts(self) -> bool:
        """Whether the visitor answers before the page appears."""
        return not isinstance(self.answer, Action)

    def check(self, situation: Situation, answer: Answer) -> Verdict:
        """What the visitor's run says about an answer."""
        estimate = {"answer": float(str(answer))} if isinstance(self.answer, Number) else {}
        given = int(float(str(answer))) if isinstance(self.answer, OneToken) else estimate.get("answer", answer)
        names = {**self.parameters, **estimate, "given": given, "opens": self.choices}
        outcome, values = evaluate(self.lines, names, lambda name, *parts: QUANTITIES[name](situation, *parts))
        return Verdict(right=outcome == "right", outcome=outcome, values={**estimate, **values})


@dataclass(frozen=True, kw_only=True)
class Lesson:
    """A lesson: five to eight steps, then three puzzles.

    Attributes:
        name: Of its Markdown file, and in links.
        steps: In their order. The puzzles are last.
        minutes: About how long a visitor takes alone, with the puzzles: 100 words a minute, 30 seconds for a question
            and two minutes for a puzzle.
    """

    name: str
    steps: tuple[Step, ...]
    minutes: int = 20

    def link(self, step: Step) -> str:
        """The name of a step in links: `?lesson=query-key-value.scale`."""
        return f"{self.name}.{step.name}"

    def after(self, step: Step, distance: int = 1) -> Step | None:
        """The step that comes so many steps after another; None outside the lesson."""
        index = self.steps.index(step) + distance
        return self.steps[index] if 0 <= index < len(self.steps) else None
