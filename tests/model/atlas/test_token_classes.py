import pytest

from model.atlas.token_classes import CLASSES, classes_of

S, P, N, F, L = CLASSES


@pytest.mark.parametrize(
    ("tokens", "words", "expected"),
    [
        (
            ["<s>", "The", "un", "·believ", "·able", "12", "·.", "·5", "dogs", "!", "</s>"],
            [-1, 0, 1, 1, 1, 2, 2, 2, 3, 4, -1],
            [S, F, F, L, L, N, P, N, F, P, S],
        ),
        (["我", "爱", "。", "⟨E4 BD⟩", "␣", "ß"], [0, 1, 2, 3, 4, 5], [F, F, P, F, P, F]),
        (["I", "'m", "3.14", "B2B", "</s>"], [0, 1, 2, 3, -1], [F, F, N, F, S]),
        # Bytes of signs, one word or two; letters after a sign or a space begin the word.
        (["⟨20 E2 80⟩", "⟨9C⟩", "·y", "·es", "⟨E2 80⟩", "⟨9D⟩"], [2, 2, 2, 2, 3, 3], [P, P, F, L, P, P]),
        (["␣", "·T", "·he", "3", "·rd", "⟨E4⟩", "⟨BD A0⟩"], [0, 0, 0, 1, 1, 2, 2], [P, F, L, N, L, F, L]),
        ([], [], []),
    ],
)
def test_classes_follow_from_text_and_words(tokens: list[str], words: list[int], expected: list[str]) -> None:
    assert [CLASSES[i] for i in classes_of(tokens, words)] == expected
