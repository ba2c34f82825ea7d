"""Query, key, value: one row of a map, computed by hand."""

from viz_app.course.lesson import Action, Answer, Lesson, Number, OneOf, Step, Verdict
from viz_app.course.situation import Situation

__all__ = ["LESSON"]

PLACE = {"checkpoint": "everyday-en-de", "text": "The old man reads a book.", "inside_tab": "head", "kind": "cross"}


def sums_to_one(situation: Situation, answer: Answer) -> Verdict:
    """The weights of a row add up to 1."""
    total = float(situation.translation.maps["cross"][-1, 0, 0].sum())
    return Verdict(right=answer == "one", outcome="right" if answer == "one" else "wrong", values={"total": total})


def counts_keys(situation: Situation, answer: Answer) -> Verdict:
    """There is one key for each token that the encoder reads."""
    keys = len(situation.translation.source)
    right = isinstance(answer, int | float) and int(answer) == keys
    values = {"keys": keys, "answer": int(answer) if isinstance(answer, int | float) else 0}
    return Verdict(right=right, outcome="right" if right else "wrong", values=values)


def divides_no_more(situation: Situation, _: Answer) -> Verdict:
    """The visitor has switched the division off."""
    off = situation.choices.get("scaled") == "false"
    return Verdict(right=off, outcome="right" if off else "wrong")


LESSON = Lesson(
    name="query-key-value",
    steps=(
        Step(
            name="row",
            page="inside",
            choices=PLACE,
            answer=OneOf(("one", "keys", "any")),
            check=sums_to_one,
            target="set_one_head",
        ),
        Step(name="keys", page="inside", choices=PLACE, answer=Number(1, 40, 1), check=counts_keys),
        Step(name="scale", page="inside", choices=PLACE, answer=Action(), check=divides_no_more, target="scaled"),
    ),
)
