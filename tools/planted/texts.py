"""Words and random texts of the planted models."""

from collections.abc import Callable
from random import Random

from tools.planted.parts import Words

__all__ = ["COLOURS", "Draw", "different", "some"]

COLOURS = ("black", "blue", "brown", "gold", "green", "grey", "pink", "red", "white")  # in the order of the alphabet
Draw = Callable[[Random], list[str]]


def some(words: Words, fewest: int, most: int) -> Draw:
    """So many random words, which may be repeated."""
    return lambda draws: draws.choices(words, k=draws.randint(fewest, most))


def different(words: Words, fewest: int, most: int) -> Draw:
    """So many random words, each at most once."""
    return lambda draws: draws.sample(words, draws.randint(fewest, most))
