"""Sentences with one answer that is right and one that is wrong: agreement in number, and the copy of a name."""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from weights.stories.draw import Words, draw_line

__all__ = ["PROBES", "Probe", "probes"]

Kind = Literal["agreement", "name"]
# | is the place of the answer. {furniture.many} stands between the subject and its verb in half of the sentences.
FRAMES: dict[Kind, tuple[str, ...]] = {
    "agreement": (
        "The {group} [near|behind|next to|in front of] the [{thing}|{thing.many}] | {state}.",
        "The {group} [near|behind|next to] the [{furniture}|{furniture.many}] | very {state}.",
    ),
    "name": (
        "When {name} and {name 2} went to the {place}, {name} gave a {thing} to | . The {thing} was {color}.",
        "After {name} and {name 2} went to the {place}, {name} bought a {thing} for | . The {thing} was {color}.",
    ),
}
PROBES: tuple[Kind, ...] = ("agreement", "name")


@dataclass(frozen=True, kw_only=True)
class Probe:
    """A sentence with one word left out."""

    before: str
    after: str
    right: str
    wrong: str
    subject: str  # the earlier word that decides


def probes(kind: Kind, count: int, *, seed: int = 7, invented: float = 0.0) -> Iterator[Probe]:
    """Draw sentences.

    Args:
        kind: One of `PROBES`.
        count: How many.
        seed: Seed of the random numbers.
        invented: Share of invented names; no training story has these.
    """
    draw = random.Random(seed)
    for _ in range(count):
        words = Words(draw, invented=invented, held_out=True)
        before, _, after = draw_line(draw.choice(FRAMES[kind]), words).partition(" |")
        chosen = words.chosen
        if kind == "agreement":
            many = chosen["group"]["number"] == "many"
            right, wrong = ("are", "is") if many else ("is", "are")
            subject = chosen["group"]["word"]
        else:
            right, wrong, subject = chosen["name 2"]["word"], chosen["name"]["word"], chosen["name 2"]["word"]
        yield Probe(before=before, after=after.replace(" .", ".", 1), right=right, wrong=wrong, subject=subject)
