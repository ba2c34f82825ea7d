"""The steps of a computation beside its code."""

import io
from collections.abc import Sequence
from keyword import iskeyword
from tokenize import COMMENT, NAME, generate_tokens

import numpy as np

from model.analysis.station import CodeLine, Step
from viz_app.components.mounting import Data, component, levels
from viz_app.content.numbers import sentences
from viz_app.content.translation import t, worded

__all__ = ["derivation"]

FINE = 100  # with more columns, single cells cannot be seen, and the browser shows their mean


def derivation(steps: Sequence[Step], code: Sequence[Sequence[CodeLine]], *, alt: str, title: str, key: str) -> None:
    """Draw the steps of a computation with their numbers beside the code; pointing at one highlights it in both.

    Args:
        steps: Each with its formula, its numbers and facts about them.
        code: Functions; their lines name the steps.
        alt: The name of the computation.
        title: Of the saved picture.
        key: Of the component.
    """
    names = {step.name for step in steps}
    data = {
        "steps": [step_data(step) for step in steps],
        "code": [
            [
                {"words": words, "step": line.step if line.step in names else ""}
                for words, line in zip(highlighted([line.text for line in function]), function, strict=True)
            ]
            for function in code
        ],
        "alt": alt,
        "title": title,
    }
    component("derivation", "ui/derivation", key=key, data=data)


def step_data(step: Step) -> Data:
    """A step with its numbers as a picture."""
    count, width = step.numbers.shape
    known = step.numbers[np.isfinite(step.numbers)]
    low, high = float(known.min(initial=0.0)), float(known.max(initial=0.0))
    bound = max(-low, high, 1e-6)
    ends = (0.0, 1.0) if step.shares else (-bound, bound)
    shape = f"{worded(step.rows)}: {count} × {width}" if step.rows else str(width)
    numbers = t("{shape} numbers, from {low} to {high}.", shape=shape, low=f"{low:.3g}", high=f"{high:.3g}")
    colours = (
        t("Dark is 0, bright is 1.")
        if step.shares
        else t("Blue is −{bound}, white is 0, red is {bound}.", bound=f"{bound:.3g}")
    )
    return {
        "name": step.name,
        "title": worded(step.name),
        "formula": worded(step.formula),
        "facts": [(worded(name), worded(value)) for name, value in step.facts],
        "levels": levels(step.numbers, low=ends[0], high=ends[1], masked=np.isneginf(step.numbers)),
        "width": width,
        "shares": step.shares,
        "alt": sentences([numbers, colours]),
        "height": min(7 * count, 56) if step.rows else 12,
        "coarse": width < FINE,
    }


def highlighted(lines: Sequence[str]) -> list[list[tuple[str, str]]]:
    """The lines of a function as (text, kind), where the kind is "keyword", "comment" or ""."""
    words: list[list[tuple[str, str]]] = [[] for _ in lines]
    done = [0] * len(lines)
    for token in generate_tokens(io.StringIO("\n".join(lines) + "\n").readline):
        (row, start), (last, end) = token.start, token.end
        keyword = token.type == NAME and iskeyword(token.string)
        if (keyword or token.type == COMMENT) and row == last:
            before = lines[row - 1][done[row - 1] : start]
            words[row - 1] += [(before, ""), (token.string, "keyword" if keyword else "comment")]
            done[row - 1] = end
    for line, found, end in zip(lines, words, done, strict=True):
        found.append((line[end:], ""))
    return words
