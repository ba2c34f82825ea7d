"""Tokens become labels that Plotly shows exactly, each in its own row."""

import pytest

from viz_app.figures.labels import unique_labels

INVISIBLE = "\u200b\u2060"  # characters without width, which make equal labels different


def test_equal_tokens_get_different_labels() -> None:
    labels = unique_labels(["der", "Hund", "der", "der"])
    assert len(set(labels)) == 4
    assert [label.strip(INVISIBLE) for label in labels] == ["der", "Hund", "der", "der"]


@pytest.mark.parametrize("sign", INVISIBLE)
def test_tokens_that_differ_only_in_invisible_characters_get_different_labels(sign: str) -> None:
    tokens = ["der", f"der{sign}", "der", f"der{sign}", f"der{sign}{sign}", "der", ""]
    labels = unique_labels(tokens)
    assert len(set(labels)) == len(tokens)
    assert [label.strip(INVISIBLE).strip() for label in labels] == [token.strip(INVISIBLE) for token in tokens]


def test_labels_of_many_equal_tokens_stay_short() -> None:
    assert max(map(len, unique_labels(["<pad>"] * 1000))) <= len("&lt;pad&gt;") + 10


@pytest.mark.parametrize("token", ["<s>", "</s>", "<b>bold</b>", "&amp;", '<a href="x">'])
def test_tokens_are_never_markup(token: str) -> None:
    label = unique_labels([token])[0]
    assert "<" not in label
    assert label.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&") == token


def test_long_tokens_are_cut_and_blank_ones_are_visible() -> None:
    assert unique_labels(["x" * 500])[0] == "x" * 17 + "…"
    assert unique_labels(["\n", "\t", ""]) == ["↵", "⇥", " "]
