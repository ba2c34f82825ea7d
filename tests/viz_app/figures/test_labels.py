"""Tokens become labels that Plotly shows exactly, each in its own row."""

import pytest

from viz_app.figures.labels import LETTERS, broken, text_width, unique_labels, visible_label

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


def test_a_wide_label_takes_no_more_space_than_a_narrow_one() -> None:
    for word in ("人工智能" * 6, "다람쥐헌쳇바퀴" * 4):
        label = visible_label(word)
        assert label.endswith("…")
        assert text_width([label]) <= text_width([visible_label("x" * 40)]) + LETTERS
    assert visible_label("人工智能") == "人工智能"


def test_a_text_from_right_to_left_keeps_its_direction_beside_others() -> None:
    assert visible_label("שלום!") == "\u2068שלום!\u2069"
    assert visible_label("Hund!") == "Hund!"
    assert text_width([visible_label("שלום")]) == text_width(["abcd"])


def test_a_long_title_breaks_at_a_space_or_between_chinese_characters() -> None:
    assert broken("query: target token being written", 100) == "query: target token<br>being written"
    assert broken("查询：正在写出的目标词元", 100) == "查询：正在写<br>出的目标词元"
    assert broken("查询", 100) == "查询"
