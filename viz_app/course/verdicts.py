"""Compare a prediction with what the run shows."""

from collections.abc import Collection

from viz_app.course.lesson import Answer, Verdict

__all__ = ["ESTIMATES", "Values", "chosen", "estimated"]

Value = str | int | float
Values = dict[str, Value]
ESTIMATES = ("right", "too-low", "too-high")  # the outcomes of `estimated`


def chosen(answer: Answer, right: Collection[str], **values: Value) -> Verdict:
    """The verdict on a chosen option: "right", or "wrong".

    Args:
        answer: The name of the option.
        right: The names of all options that are right in this run.
        values: For the text of the outcome.
    """
    found = answer in right
    return Verdict(right=found, outcome="right" if found else "wrong", values=values)


def estimated(answer: Answer, true: float, *, within: float, **values: Value) -> Verdict:
    """The verdict on an estimated number: "right", "too-low" or "too-high".

    Args:
        answer: The number.
        true: The number of this run.
        within: How far a right answer may be from it.
        values: For the text of the outcome, besides `answer`.
    """
    number = float(str(answer))
    outcome = "right" if abs(number - true) <= within else "too-low" if number < true else "too-high"
    return Verdict(right=outcome == "right", outcome=outcome, values={"answer": number, **values})
