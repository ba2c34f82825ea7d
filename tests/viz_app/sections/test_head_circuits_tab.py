"""The tab “Reads and writes” shows the circuits of the chosen head, or says which of them a model does not have."""

from collections.abc import Callable

import pytest
from streamlit.testing.v1 import AppTest

from model.analysis.head_circuits import compositions, copying_score, spectrum, token_keys, token_writes
from model.checkpoints.checkpoint import Checkpoint
from model.inference.translate import translate
from model.interventions import Head
from tests.viz_app.conftest import NAME, TEXT, array, charts

OpenApp = Callable[..., AppTest]


def test_the_tab_shows_the_circuits_of_the_chosen_head(open_app: OpenApp, checkpoint: Checkpoint) -> None:
    app = open_app("heads", checkpoint=NAME, heads_tab="circuits", text=TEXT, kind="cross", layer="1", head="2")
    result, head = translate(checkpoint, TEXT), Head("cross", 0, 1)
    looks, writes, into, out_of = (table.value for table in app.dataframe)
    assert list(looks["query token"]) == list(dict.fromkeys(token.label for token in result.read))[:12]
    first = token_keys(checkpoint, head, [result.read[0].id])
    assert list(looks["looks for"][0]) == list(checkpoint.tokenizers.source.tokens(first.most[0].tolist()))
    first = token_writes(checkpoint, head, [result.source[0].id])
    assert list(writes["lowers"][0]) == list(checkpoint.tokenizers.target.tokens(first.least[0].tolist()))
    found = compositions(checkpoint, head)
    assert list(into["score"]) == pytest.approx([one.score for one in found.into[:8]])
    assert list(out_of["score"]) == pytest.approx([one.score for one in found.out_of[:8]])
    values = spectrum(checkpoint, head)["OV"].values
    assert array(charts(app)[0]["data"][1]["y"]) == pytest.approx(values, abs=1e-5)
    captions = " ".join(one.value for one in app.caption)
    assert f"Copying score: {copying_score(checkpoint, head):+.2f}" in captions


@pytest.mark.parametrize(
    ("name", "sentence", "tables"),
    [
        ("tiny-bert-en", "not linear", 2),
        ("imdb-sentiment", "rotary positions", 1),
        ("gru-de-en", "no residual stream", 0),
    ],
)
def test_what_a_model_does_not_have_is_a_sentence(open_app: OpenApp, name: str, sentence: str, tables: int) -> None:
    app = open_app("heads", checkpoint=name, heads_tab="circuits")
    assert len(app.dataframe) == tables
    assert sentence in " ".join(one.value for one in (*app.caption, *app.info, *app.warning, *app.error))
