"""Heads, alignment: the table is sorted, and shows the error rates of the links."""

from collections.abc import Callable

import pytest
from streamlit.testing.v1 import AppTest

from model.analysis.alignment import Pointer, link_words
from model.checkpoints.checkpoint import load_checkpoint
from model.corpora.aligned import error_rate, read_aligned
from tests.conftest import BUNDLED

OpenApp = Callable[..., AppTest]


def test_the_table_has_the_error_rate_of_every_head_the_best_first(open_app: OpenApp) -> None:
    app = open_app("heads", checkpoint="gru-de-en", heads_tab="Alignment")
    table = app.dataframe[0].value
    assert table["alignment error rate, %"].is_monotonic_increasing
    checkpoint, pairs = load_checkpoint(BUNDLED / "gru-de-en"), read_aligned("de", "en")
    expected = error_rate([link_words(checkpoint, pair)[Pointer("head", "written", 0, 0)] for pair in pairs], pairs)
    row = table[(table["what points"] == "layer 1, head 1") & (table["when the word is"] == "written")]
    assert row["alignment error rate, %"].item() == pytest.approx(100 * expected, abs=2)  # two weights may be equal
    assert "co-occurrence of words" in set(table["what points"])


def test_other_languages_get_the_languages_that_are_aligned(open_app: OpenApp) -> None:
    app = open_app("heads", checkpoint="everyday-en-zh", heads_tab="Alignment")
    assert "English and German" in app.info[0].value
