"""Typed text and training text have one form."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.inference.opening import open_translator
from model.inference.translate import translate
from model.text.cleaning import changes, clean, cleaning_note
from tests.conftest import BUNDLED

LOOKALIKES = {
    "Das Ma\u0308dchen liest.": "accents were joined with their letters",
    "Das\u00a0Mädchen\u3000liest.": "unusual spaces became ordinary ones",
    "Das\tMädchen liest.": "unusual spaces became ordinary ones",
    "Das Mäd\u00adchen liest.": "invisible characters were removed",
    "\ufeffDas Mäd\u200bchen\u2060 \u202aliest\u202c.\u0007": "invisible characters were removed",
}


@pytest.mark.parametrize("text", LOOKALIKES)
def test_a_text_that_looks_the_same_has_the_same_translation_and_a_note(text: str) -> None:
    checkpoint = open_translator(BUNDLED / "everyday-de-en")
    same = "Das Mädchen liest."
    assert clean(text) == same
    assert checkpoint.tokenizers.source.encode(text) == checkpoint.tokenizers.source.encode(same)
    assert checkpoint.tokenizers.source.encode_batch([text]) == checkpoint.tokenizers.source.encode_batch([same])
    assert translate(checkpoint, text).text == translate(checkpoint, same).text
    assert LOOKALIKES[text] in changes(text)
    assert cleaning_note(text)


@given(st.text(alphabet=st.characters(exclude_categories=())))
def test_a_clean_text_is_composed_and_stays(text: str) -> None:
    once = clean(text)
    assert clean(once) == once
    assert unicodedata.is_normalized("NFC", once)
    assert changes(once) == ()
    once.encode()


def test_full_width_signs_line_breaks_and_spaces_between_words_stay() -> None:
    for text in ("你好，世界！", "ＡＢＣ１２３", "one  two\n\nthree", "½ ﬁ ² …"):
        assert clean(text) == text
        assert cleaning_note(text) == ""
    assert clean(" ends \n") == "ends"
    assert changes(" ends \n") == ()


@pytest.mark.parametrize("name", ["tiny-gpt-en", "tiny-bert-en"])
def test_the_tokenizers_of_our_tiny_models_clean_a_text_too(name: str) -> None:
    tokenizer = open_translator(BUNDLED / name).tokenizers.source
    assert tokenizer.encode("Ro\u00adse\u00a0gave a\u0301\ufeff cup.").ids == tokenizer.encode("Rose gave á cup.").ids
