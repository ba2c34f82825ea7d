"""Heads, patch a head: the page shows the numbers of the analysis."""

from collections.abc import Callable

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from model.analysis.patching import patch_every_head, patch_head
from model.checkpoints.checkpoint import load_checkpoint
from model.interventions import Head
from tests.conftest import BUNDLED
from tests.viz_app.conftest import array, charts, compared_lines, head_map
from viz_app.server.jobs import Lane
from viz_app.server.server_state import JOBS

OpenApp = Callable[..., AppTest]
NAME, DONOR, TEXT = "multi30k-en-de", "A woman is reading a book.", "A man is reading a book."


def test_the_grids_and_the_translation_are_those_of_the_analysis(open_app: OpenApp) -> None:
    app = open_app(
        "heads",
        checkpoint=NAME,
        text=TEXT,
        giver=DONOR,
        heads_tab="Paste a head",
        pasted_kind="cross",
        pasted_cross_layer="3",
        pasted_cross_head="2",
    )
    checkpoint = load_checkpoint(BUNDLED / NAME)
    found = patch_every_head(checkpoint, DONOR, TEXT)
    assert found is not None
    (chart,) = charts(app)
    everywhere, at_places = array(chart["data"][0]["z"]).astype(float), head_map(app)
    expected = np.concatenate([found.heads[kind] for kind in found.heads], axis=1)
    np.testing.assert_allclose(everywhere[:, ~np.isnan(everywhere).all(axis=0)], expected, atol=1e-4)
    np.testing.assert_allclose(at_places, found.positions["cross"].reshape(at_places.shape), atol=1e-4)
    assert compared_lines(app)[-1] == patch_head(checkpoint, DONOR, TEXT, Head("cross", 2, 1)).text


def test_patching_stops_at_its_time_limit_and_starts_again(open_app: OpenApp, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as bounded:
        bounded.setitem(JOBS.lanes, "patching", Lane(width=1, seconds=0.0))
        app = open_app(
            "heads",
            checkpoint=NAME,
            text="A man is holding a cup.",
            giver="A girl is holding a cup.",
            heads_tab="paste",
        )
        assert "the limit" in app.warning[0].value
        assert not charts(app)
        app.run()
    next(button for button in app.button if button.label == "Start").click().run()
    assert len(charts(app)) == 1
    assert "Stop" not in [button.label for button in app.button]


@pytest.mark.parametrize(
    ("donor", "reason"),
    [
        (TEXT, "Both translations are the same"),
        (" ", "Type a donor"),
        ("word " * 90, "The donor is too long. The text has 91 tokens. Shorten it."),
        ("!!!! ???? !!!!", "The donor is too long. The model writes 32 tokens for this text. Try another text."),
    ],
)
def test_texts_that_cannot_be_patched_get_a_reason(open_app: OpenApp, donor: str, reason: str) -> None:
    app = open_app("heads", checkpoint=NAME, text=TEXT, giver=donor, heads_tab="Paste a head")
    assert reason in app.info[0].value
    assert not charts(app)


def test_a_recurrent_network_leads_to_a_transformer(open_app: OpenApp) -> None:
    app = open_app("heads", checkpoint="gru-de-en", text="Ein Mann.", giver="Eine Frau.", heads_tab="Paste a head")
    assert "by a Transformer" in app.info[0].value
