"""The axes that two attention maps share, so that one can be subtracted from the other."""

from collections.abc import Sequence
from dataclasses import replace

from viz_app.figures.style import Axes

__all__ = ["shared_axes"]


def shared_axes(first: Axes, second: Axes, *, by_position: bool) -> Axes | None:
    """Find the common axes of two maps. None if their rows or columns do not correspond.

    Args:
        first: Axes of one map.
        second: Axes of the other map.
        by_position: Pair different words at the same position, if both maps have the same number of words.
    """
    queries = shared_labels(first.queries, second.queries, by_position=by_position)
    keys = shared_labels(first.keys, second.keys, by_position=by_position)
    return None if queries is None or keys is None else replace(first, queries=queries, keys=keys, query_notes=[])


def shared_labels(first: Sequence[str], second: Sequence[str], *, by_position: bool) -> list[str] | None:
    """Join the labels of both, written "one | other" where they differ. Case does not matter."""
    same_words = [label.casefold() for label in first] == [label.casefold() for label in second]
    if not (same_words or (by_position and len(first) == len(second))):
        return None
    return [
        one if one.casefold() == other.casefold() else f"{one} | {other}"
        for one, other in zip(first, second, strict=True)
    ]
