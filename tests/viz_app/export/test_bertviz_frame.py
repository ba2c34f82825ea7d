"""The frame of BertViz: its words have the language of the visitor, and tokens stay tokens."""

import numpy as np
import pytest

from viz_app.content.translation import in_language
from viz_app.export.bertviz_frame import document
from viz_app.figures.style import Axes

TOKENS = ["Heads", "Layers"]


@pytest.mark.parametrize(("language", "words"), [("en", ("layers", "heads")), ("zh", ("层", "头"))])
def test_the_words_of_bertviz_are_translated_and_its_tokens_are_not(language: str, words: tuple[str, str]) -> None:
    maps = np.full((1, 2, 2, 2), 0.5, dtype=np.float32)
    axes = Axes(queries=TOKENS, keys=TOKENS, query_title="query", key_title="key")
    with in_language(language):
        html = document("model", "encoder", maps, axes, layer=0, head=None)
    assert all(f'"{token}"' in html for token in TOKENS), "the data"
    for word, token in zip(words, reversed(TOKENS), strict=True):
        assert f'.text("{word}")'.encode("ascii", "backslashreplace").decode() in html
        assert f'.text("{token}")' not in html
    assert "'Layer ' +" not in html
    assert "config.layers[layerIndex]" in html
