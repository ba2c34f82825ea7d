"""The axes that two maps share: the same words, or words at the same positions."""

from viz_app.figures.style import Axes, shared_axes


def axes(queries: str, keys: str) -> Axes:
    return Axes(queries=queries.split(), keys=keys.split(), query_title="query", key_title="key", query_notes=["note"])


def test_the_same_words_share_their_axes_whatever_their_case() -> None:
    shared = shared_axes(axes("The dog", "Der Hund"), axes("the dog", "der hund"), by_position=False)
    assert shared
    assert (shared.queries, shared.keys) == (["The", "dog"], ["Der", "Hund"])
    assert not shared.query_notes, "a note describes one of the two maps"


def test_different_words_are_paired_only_by_position_and_only_if_there_are_as_many() -> None:
    first, second, longer = axes("A dog", "Ein Hund"), axes("A man", "Ein Mann"), axes("A big man", "Ein Mann")
    assert shared_axes(first, second, by_position=False) is None
    shared = shared_axes(first, second, by_position=True)
    assert shared
    assert (shared.queries, shared.keys) == (["A", "dog | man"], ["Ein", "Hund | Mann"])
    assert shared_axes(first, longer, by_position=True) is None
