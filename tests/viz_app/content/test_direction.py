"""Texts from right to left keep their direction beside others, and in rows of words."""

import pytest

from model.inference.run import Token
from viz_app.content.plain import dir_attribute, is_right_to_left, isolated
from viz_app.widgets.marked_text import chips, weighted_text


@pytest.mark.parametrize(
    ("text", "expected"), [("كلب يجري.", True), ("שלום TV", True), ("A dog", False), ("狗", False), ("12!", False)]
)
def test_the_direction_is_that_of_most_letters(text: str, expected: bool) -> None:
    assert is_right_to_left(text) == expected
    assert (dir_attribute(text.split()) == ' dir="rtl"') == expected


def test_only_a_text_from_right_to_left_is_isolated() -> None:
    assert isolated("كلب.") == "\u2068كلب.\u2069"
    assert isolated("dog.") == "dog."


@pytest.mark.parametrize(("words", "direction"), [(["كلب", "يجري"], ' dir="rtl"'), (["A", "dog"], "")])
def test_a_row_of_words_runs_in_the_direction_of_its_sentence(words: list[str], direction: str) -> None:
    tokens = [Token(id=0, text="<s>", word=-1), *(Token(id=i, text=word, word=i) for i, word in enumerate(words))]
    assert f'<div class="hl-chips"{direction}>' in chips("reads", tokens)
    assert f'<div class="hl-words"{direction}>' in weighted_text(words, [0.5] * len(words), parts=[""] * len(words))
