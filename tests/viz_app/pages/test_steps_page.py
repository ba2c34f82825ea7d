"""Step by step in Streamlit's test harness, compared with the model itself."""

from collections.abc import Callable
from html import escape

import pytest
from streamlit.testing.v1 import AppTest

from model.checkpoints.checkpoint import Checkpoint
from model.config.search import SearchConfig
from model.inference.search_tree import search_tree
from model.inference.translate import translate
from tests.viz_app.conftest import NAME, TEXT, component_data, html, in_url

OpenApp = Callable[..., AppTest]


def test_steps_show_greedy_search_and_a_forced_word_changes_the_rest(open_app: OpenApp, checkpoint: Checkpoint) -> None:
    app = open_app("steps", checkpoint=NAME)
    data, expected = component_data(app, "stepper"), translate(checkpoint, TEXT)
    assert [step["read"] for step in data["steps"]] == [token.text for token in expected.read]
    for step, token in zip(data["steps"], expected.written, strict=True):
        assert step["entropy"] == pytest.approx(token.entropy, abs=1e-5)
        assert [c[2] for c in step["candidates"][:10]] == [c.id for c in token.candidates]
        assert sum(c[3] for c in step["candidates"]) == 1
    other = expected.written[1].candidates[1]
    app.session_state["forced"], app.session_state["forced_earlier"] = ((1, other.id),), [()]
    app.run()
    assert in_url(app, "forced") == f"1.{other.id}"
    forced = translate(checkpoint, TEXT, forced={1: other.id})
    assert forced.text != expected.text
    assert f">{forced.text}</bdi>" in html(app)
    assert f"“{other.token}” at step 2" in app.caption[0].value
    app.button[0].click().run()  # Undo
    assert f">{escape(expected.text)}</bdi>" in html(app)
    app.text_input(key="text").set_value("Ein Mann.").run()
    assert app.session_state["forced"] == ()
    assert app.button[0].disabled


def test_a_click_while_the_page_is_being_drawn_again_does_no_harm(open_app: OpenApp, checkpoint: Checkpoint) -> None:
    # The buttons of the last sentence are still there while the page already draws another.
    other = translate(checkpoint, TEXT).written[1].candidates[1]
    app = open_app("steps", checkpoint=NAME, forced=f"1.{other.id}")
    app.session_state["forced_earlier"] = [()]
    app.run()
    app.session_state["forced_earlier"] = []
    app.button[0].click().run()  # Undo
    assert not app.exception
    del app.session_state["forced"]
    app.button[1].click().run()  # Clear forced words
    assert not app.exception
    assert app.session_state["forced"] == ()


def test_a_link_keeps_forced_words_and_ignores_nonsense(open_app: OpenApp, checkpoint: Checkpoint) -> None:
    other = translate(checkpoint, TEXT).written[1].candidates[1]
    app = open_app("steps", checkpoint=NAME, forced=f"1.{other.id}-2.9999999-1000.7")
    assert f">{translate(checkpoint, TEXT, forced={1: other.id}).text}</bdi>" in html(app)
    for nonsense in ("1", "x.2", "1.2-"):
        assert f">{translate(checkpoint, TEXT).text}</bdi>" in html(open_app("steps", checkpoint=NAME, forced=nonsense))


def test_the_tree_shows_the_search(open_app: OpenApp, checkpoint: Checkpoint) -> None:
    app = open_app("steps", checkpoint=NAME, steps_view="beam", beam_size="3")
    tree = search_tree(checkpoint, TEXT, search=SearchConfig(method="beam", beam_size=3))
    nodes = component_data(app, "beam_tree")["nodes"]
    assert len(nodes) == len(tree.nodes)
    assert [node["token"] for node in nodes if node["best"]] == [node.token for node in tree.nodes if node.best]
    assert f">{tree.text}</bdi>" in html(app)
