"""Heads, alignment: the table is sorted, and its numbers are those of the links."""

from collections.abc import Callable

import pytest
from streamlit.testing.v1 import AppTest

from model.analysis.alignment import Pointer, link_words
from model.checkpoints.checkpoint import load_checkpoint
from model.corpora.aligned import error_rate, read_aligned
from tests.conftest import BUNDLED

OpenApp = Callable[..., AppTest]


def test_the_table_has_every_heads_error_rate_best_first(open_app: OpenApp) -> None:
    app = open_app("heads", checkpoint="gru-de-en", heads_tab="Alignment")
    table = app.dataframe[0].value
    assert table["alignment error rate, %"].is_monotonic_increasing
    checkpoint, pairs = load_checkpoint(BUNDLED / "gru-de-en"), read_aligned("de", "en")
    expected = error_rate([link_words(checkpoint, pair)[Pointer("head", "written", 0, 0)] for pair in pairs], pairs)
    row = table[(table["what points"] == "layer 1, head 1") & (table["when the word is"] == "written")]
    assert row["alignment error rate, %"].item() == pytest.approx(100 * expected, abs=2)  # a weight may tie
    assert "co-occurrence of words" in set(table["what points"])


def test_other_languages_get_the_languages_that_are_aligned(open_app: OpenApp) -> None:
    app = open_app("heads", checkpoint="everyday-en-zh", heads_tab="Alignment")
    assert "English and German" in app.info[0].value
