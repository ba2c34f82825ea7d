"""Tokens that are single bytes, or bytes of a broken character, as a person can read them."""

from pathlib import Path

import pytest
from transformers import ByT5Tokenizer, PreTrainedTokenizerFast

from model.foreign.tokenizer import ForeignTokenizer, marked_space
from model.text.shown_bytes import whole_characters
from tools.small_models import NAMES, byte_level

BYTES = ForeignTokenizer(ByT5Tokenizer())


def test_the_bytes_of_byt5_are_letters_signs_or_numbers() -> None:
    encoding = BYTES.encode("Grün\t一!")
    assert encoding.tokens == ("G", "·r", "⟨C3⟩", "⟨BC⟩", "·n", "\t", "⟨E4⟩", "⟨B8⟩", "⟨80⟩", "!")
    assert encoding.offsets == ((0, 1), (1, 2), (2, 3), (2, 3), (3, 4), (4, 5), *[(5, 6)] * 3, (6, 7))
    assert BYTES.tokens([byte + 3 for byte in (0x00, 0x20, 0x7F, 0x9F, 0xFF)]) == ("⟨00⟩", "␣", "⟨7F⟩", "⟨9F⟩", "⟨FF⟩")
    assert BYTES.words(BYTES.encode("so früh, ja").ids) == (0, 0, 1, 1, 1, 1, 1, 1, 2, 3, 3, 3)
    assert BYTES.decode(encoding.ids) == "Grün\t一!"


def test_the_bytes_of_a_word_are_joined_to_its_characters() -> None:
    assert whole_characters("".join(token.lstrip("·") for token in BYTES.encode("früh一").tokens)) == "früh一"
    assert whole_characters("a⟨E4⟩b⟨07⟩") == "a⟨E4⟩b⟨07⟩"


@pytest.mark.parametrize(
    ("piece", "shown"), [("<0xE4>", "⟨E4⟩"), ("<0x07>", "⟨07⟩"), ("<0x0A>", "\n"), ("<0x41>", "A"), ("▁a", "a")]
)
def test_the_bytes_of_sentencepiece_are_shown(piece: str, shown: str) -> None:
    assert marked_space(piece)[0] == shown


def test_the_bytes_of_a_broken_character_and_control_characters_of_gpt_2_are_numbers(tmp_path: Path) -> None:
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=byte_level("$A"), **NAMES)
    tokens = ForeignTokenizer(tokenizer).encode("猫\x07\n").tokens
    assert tokens == ("⟨E7⟩", "⟨8C⟩", "⟨AB⟩", "⟨07⟩", "\n")
