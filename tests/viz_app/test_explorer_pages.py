"""Every page of the explorer, as Streamlit's own harness runs it, against the model asked directly."""

import base64
import json
import re
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from model.analysis.anatomy import anatomy, value_norms
from model.analysis.importance import gradient_importance, make_examples
from model.analysis.mask_bugs import BUGS, bug_weights, mask_bug
from model.analysis.positions import wavelengths
from model.analysis.statistics import rollout, translation_rollout
from model.checkpoint import Checkpoint, load_checkpoint, load_classifier
from model.config import SearchConfig
from model.inference.classify import classify
from model.inference.search_tree import search_tree
from model.inference.translate import translate
from model.interventions import Head, Intervention, PaintedCell
from model.kinds import KINDS
from model.network.positional import sinusoidal_table
from tests.conftest import BUNDLED, PATIENCE, ROOT
from tests.viz_app.conftest import array, charts
from viz_app.controls import FIRST
from viz_app.examples import BATCHES, CAPTIONS, REVIEWS
from viz_app.sections.mask_mistakes import MISTAKES

OpenApp = Callable[..., AppTest]
NAME = "multi30k-de-en"
TEXT = CAPTIONS["de"][0]


@pytest.fixture(scope="module")
def checkpoint() -> Checkpoint:
    return load_checkpoint(BUNDLED / NAME)


def html(app: AppTest) -> str:
    return "".join(element.proto.body for element in app.get("html"))


def compared_lines(app: AppTest) -> list[str]:
    """The texts that a page compares, without their marks."""
    return [re.sub("<[^>]+>", "", line) for line in re.findall("<bdi>(.*?)</bdi>", html(app))]


def component_data(app: AppTest, name: str) -> dict[str, Any]:
    """What a component of ours was given."""
    found = [e.proto for e in app.get("bidi_component") if e.proto.component_name.endswith(name)]
    assert len(found) == 1, [e.proto.component_name for e in app.get("bidi_component")]
    return json.loads(found[0].json)


def tab(app: AppTest, key: str, name: str) -> AppTest:
    app.session_state[key] = name
    app.run()
    assert not app.exception, app.exception
    return app


@pytest.mark.parametrize("method", ["greedy", "beam", "sample"])
def test_the_search_is_the_one_that_was_chosen(open_app: OpenApp, checkpoint: Checkpoint, method: str) -> None:
    settings = {"temperature": "1.5", "top_k": "20", "seed": "3"} if method == "sample" else {}
    app = open_app(checkpoint=NAME, method=method, **settings)
    search = (
        SearchConfig(method="sample", temperature=1.5, top_k=20, seed=3) if settings else SearchConfig(method=method)
    )
    expected = translate(checkpoint, TEXT, search=search)
    assert f"<bdi>{expected.text}</bdi>" in html(app)
    np.testing.assert_allclose(array(charts(app)[1]["data"][0]["z"]), expected.maps.cross[2, 0], atol=1e-6)


def test_impossible_search_settings_fall_back(open_app: OpenApp) -> None:
    app = open_app(method="sample", temperature="99", top_p="x", beam_size="0", seed="-1")
    assert app.slider(key="temperature").value == 2.0
    assert app.slider(key="top_p").value == 1.0


@pytest.mark.parametrize("page", ["translate", "steps", "inside", "positions", "masks", "heads", "sentiment"])
def test_no_link_breaks_a_page(open_app: OpenApp, page: str) -> None:
    numbers = ("query", "shift", "shuffle", "beam_size", "top_k", "seed", "length", "width", "sentence")
    fractions = ("head_temperature", "painted_weight", "temperature", "top_p")
    words = ("view", "bug", "metric", "steps_view", "steps_kind", "sentences_from", "click_means", "reading", "method")
    for value in ("0", "999", "x"):
        app = open_app(page, **dict.fromkeys((*numbers, *fractions, *words), value))
        assert not app.error


@pytest.mark.parametrize("kind", ["encoder", "decoder", "cross"])
def test_rollout_and_value_norms_on_the_screen(open_app: OpenApp, checkpoint: Checkpoint, kind: str) -> None:
    translation, norms = value_norms(checkpoint, TEXT)
    maps = translation.maps
    decoder, cross = translation_rollout(maps.encoder, maps.decoder, maps.cross)
    rolled = {"encoder": rollout(maps.encoder), "decoder": decoder, "cross": cross}[kind]
    app = open_app(checkpoint=NAME, kind=kind, head="rollout", layer="2")
    shown = np.nan_to_num(array(charts(app)[1]["data"][0]["z"]))
    np.testing.assert_allclose(shown, np.where(rolled[1] > 0, rolled[1], 0), atol=1e-5)
    app = open_app(checkpoint=NAME, kind=kind, head="3", layer="2", norms="true")
    expected = getattr(maps, kind)[1, 2] * norms[kind][1, 2]
    np.testing.assert_allclose(np.nan_to_num(array(charts(app)[1]["data"][0]["z"])), expected, atol=1e-5)


def test_a_logarithmic_scale_keeps_the_number_in_the_hover(open_app: OpenApp, checkpoint: Checkpoint) -> None:
    app = open_app(checkpoint=NAME, logarithmic="true", layer="2", head="1")
    trace = charts(app)[1]["data"][0]
    weights = translate(checkpoint, TEXT).maps.cross[1, 0]
    np.testing.assert_allclose(array(trace["z"]), np.log10(np.maximum(weights, 1e-4)), atol=1e-5)
    np.testing.assert_allclose(array(trace["customdata"]), weights, atol=1e-6)
    assert trace["colorbar"]["ticktext"][:2] == ["1", "0.1"]


def test_lines_carry_the_models_weights(open_app: OpenApp, checkpoint: Checkpoint) -> None:
    app = open_app(checkpoint=NAME, view="lines", kind="encoder", layer="1", head="2")
    data = component_data(app, "line_view")
    maps = translate(checkpoint, TEXT).maps.encoder
    found = np.frombuffer(base64.b64decode(data["weights"]), dtype="<f4").reshape(maps.shape)
    # The page may compute with another number of threads, which add in another order.
    np.testing.assert_allclose(found, maps, atol=1e-5)
    assert data["chosen"] == [1]
    assert data["names"][8] == "layer 2, head 1"


def test_bertviz_is_imported_only_when_it_is_opened() -> None:
    script = (
        "import sys\n"
        "from streamlit.testing.v1 import AppTest\n"
        "app = AppTest.from_file('streamlit_app.py', default_timeout=600).run()\n"
        "assert not app.exception and 'bertviz' not in sys.modules and 'mpld3' not in sys.modules\n"
        "app.session_state['view'] = 'head'\n"
        "app.run()\n"
        "assert not app.exception and 'bertviz' in sys.modules\n"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr[-2000:]


@pytest.mark.parametrize("view", ["head", "model"])
def test_bertviz_says_when_a_text_is_too_long(open_app: OpenApp, view: str) -> None:
    app = open_app(checkpoint=NAME, view=view)
    assert not app.info
    app.text_input(key="text").set_value("Ein Hund " * 60).run()
    assert not app.exception
    assert "BertViz draws this view of up to" in app.info[0].value


def test_the_table_of_alignments_holds_the_largest_cells(open_app: OpenApp, checkpoint: Checkpoint) -> None:
    app = open_app(checkpoint=NAME, layer="3", head="2")
    app.session_state["alignments"] = True
    app.run()
    table = app.dataframe[0].value
    maps = translate(checkpoint, TEXT).maps.cross[2, 1]
    assert table["attention weight"].iloc[0] == pytest.approx(maps.max(), abs=1e-6)
    first = table.iloc[0]
    named = maps[first["position of the query"] - 1, first["position of the key"] - 1]
    assert named == pytest.approx(maps.max(), abs=1e-6)  # of two nearly equal cells either may be the first


def test_steps_show_the_decode_and_a_forced_word_changes_the_rest(open_app: OpenApp, checkpoint: Checkpoint) -> None:
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
    assert f"<bdi>{forced.text}</bdi>" in html(app)
    assert f"“{other.token}” at step 2" in app.caption[0].value
    app.button[0].click().run()  # Undo
    assert f"<bdi>{expected.text}</bdi>" in html(app)
    app.text_input(key="text").set_value("Ein Mann.").run()
    assert app.session_state["forced"] == ()
    assert app.button[0].disabled


def in_url(app: AppTest, name: str) -> str | None:
    value = app.query_params.get(name)
    return value[0] if isinstance(value, list) else value


def test_a_link_holds_forced_words_and_survives_nonsense(open_app: OpenApp, checkpoint: Checkpoint) -> None:
    other = translate(checkpoint, TEXT).written[1].candidates[1]
    app = open_app("steps", checkpoint=NAME, forced=f"1.{other.id}-2.9999999-1000.7")
    assert f"<bdi>{translate(checkpoint, TEXT, forced={1: other.id}).text}</bdi>" in html(app)
    for nonsense in ("1", "x.2", "1.2-"):
        assert f"<bdi>{translate(checkpoint, TEXT).text}</bdi>" in html(
            open_app("steps", checkpoint=NAME, forced=nonsense)
        )


def test_a_link_holds_silenced_heads_and_painted_weights(open_app: OpenApp, checkpoint: Checkpoint) -> None:
    code = "off.cross.3.1-2-3~uniform.encoder.1.4~paint.cross.2.4.2.1.0.75"
    expected = translate(checkpoint, TEXT, edits=Intervention.from_code(code).edits())
    assert expected.text != translate(checkpoint, TEXT).text
    app = open_app("heads", checkpoint=NAME, intervention=code)
    assert expected.text in re.sub("<[^>]+>", "", html(app))  # without the marks of differing words
    assert in_url(app, "intervention") == code
    # What this checkpoint does not have is forgotten, and what makes no sense is nothing.
    assert in_url(open_app("heads", checkpoint=NAME, intervention="off.cross.7.1"), "intervention") is None
    for nonsense in ("off.<b>.1.1", "~".join(["off.cross.3.1"] * 1000)):
        assert in_url(open_app("heads", checkpoint=NAME, intervention=nonsense), "intervention") is None


@pytest.mark.parametrize(
    ("page", "choice", "tab", "seen"),
    [
        ("positions", "position_tab", "Distances and rotation", "Dot product"),
        ("masks", "mask_tab", "Bug lab", "1e-12"),
        ("heads", "heads_tab", "Importance", "Gradient estimate"),
        ("checkpoints", "checkpoint_tab", "Training curves", "Loss."),
    ],
)
def test_a_link_opens_the_tab_that_was_open(open_app: OpenApp, page: str, choice: str, tab: str, seen: str) -> None:
    app = open_app(page, checkpoint=NAME, **{choice: tab})
    assert any(seen in element.value for element in [*app.markdown, *app.caption])
    assert in_url(app, choice) == tab


def test_the_tree_on_the_screen_is_the_search(open_app: OpenApp, checkpoint: Checkpoint) -> None:
    app = open_app("steps", checkpoint=NAME, steps_view="beam", beam_size="3")
    tree = search_tree(checkpoint, TEXT, search=SearchConfig(method="beam", beam_size=3))
    nodes = component_data(app, "beam_tree")["nodes"]
    assert len(nodes) == len(tree.nodes)
    assert [node["token"] for node in nodes if node["best"]] == [node.token for node in tree.nodes if node.best]
    assert f"<bdi>{tree.text}</bdi>" in html(app)


@pytest.mark.parametrize("kind", ["encoder", "decoder", "cross"])
def test_inside_a_head_the_numbers_are_the_models(open_app: OpenApp, checkpoint: Checkpoint, kind: str) -> None:
    app = open_app("inside", checkpoint=NAME, kind=kind, layer="2", head="4", query="3")
    _, parts = anatomy(checkpoint, TEXT, kind, 1)
    table = app.dataframe[0].value
    np.testing.assert_allclose(table["the model's own"], parts.weights[3, 3], atol=1e-6)
    np.testing.assert_allclose(table["weight α"], parts.weights[3, 3], atol=1e-5)
    assert (table["after the mask"] == "−∞").sum() == (~parts.allowed[3]).sum()
    assert "same computation" in app.success[0].value
    products = array(charts(app)[1]["data"][0]["z"])
    np.testing.assert_allclose(products, parts.queries[3, 3] * parts.keys[3], atol=1e-5)
    app.toggle(key="scaled").set_value(False).run()
    assert "what-if" in app.warning[0].value
    assert app.dataframe[0].value["weight α"].max() > parts.weights[3, 3].max()


@pytest.mark.parametrize("name", [NAME, "multi30k-de-en-words"])
@pytest.mark.parametrize(
    "position_tab", ["The matrix", "Waves and counters", "Distances and rotation", "In a sentence"]
)
def test_each_part_of_positions_opens_for_both_kinds(open_app: OpenApp, name: str, position_tab: str) -> None:
    app = tab(open_app("positions", checkpoint=name), "position_tab", position_tab)
    if position_tab == "Distances and rotation":
        table = app.dataframe[0].value
        assert table["sinusoidal"].str.startswith("✓").all()
        assert table["learned"].str.startswith("✗").sum() == 2
    if position_tab == "In a sentence":
        checkpoint = load_checkpoint(BUNDLED / name)
        difference = re.search(r"differs from the sum of the two by at most ([\d.e-]+)\.", app.markdown[1].value)
        assert difference
        assert float(difference[1]) < 1e-5
        blind = translate(checkpoint, TEXT, edits=Intervention(positions=False).edits())
        assert compared_lines(app)[:2] == [translate(checkpoint, TEXT).text, blind.text]
        if name == NAME:  # the other one writes the same
            assert blind.text != translate(checkpoint, TEXT).text


@pytest.mark.parametrize("bug", BUGS)
def test_the_bug_lab_shows_what_each_mistake_does(open_app: OpenApp, checkpoint: Checkpoint, bug: str) -> None:
    app = tab(open_app("masks", checkpoint=NAME, bug=bug, layer="1", head="2"), "mask_tab", "Bug lab")
    texts = tuple(BATCHES["de"])
    right, wrong = (bug_weights(checkpoint, texts, name, "decoder", 0)[0, 1] for name in ("", bug))
    before, after = (np.nan_to_num(array(chart["data"][0]["z"])) for chart in charts(app))
    np.testing.assert_allclose(before, right, atol=1e-5)
    np.testing.assert_allclose(after, wrong, atol=1e-5)
    app.session_state["all_mistakes"] = True
    app.run()
    table = app.dataframe[0].value.set_index("masks")
    leaked = mask_bug(checkpoint, texts, bug).leaked["decoder"][0]
    assert table.loc["right masks", "leaked: decoder"] == 0
    assert table.loc[MISTAKES[bug].title, "leaked: decoder"] == pytest.approx(leaked, abs=1e-5)


def test_the_board_silences_the_heads_of_this_visitor_alone(open_app: OpenApp, checkpoint: Checkpoint) -> None:
    first, second = open_app("heads", checkpoint=NAME), open_app("heads", checkpoint=NAME)
    ablated = frozenset(Head("cross", layer, head) for layer in range(3) for head in range(8))
    first.button[0].click().run()
    every = first.session_state["intervention"].ablated
    assert ablated < every
    expected = translate(checkpoint, TEXT, edits=Intervention(ablated=every).edits())
    assert {
        state for board in component_data(first, "head_board")["boards"] for row in board["states"] for state in row
    } == {"off"}
    as_trained = translate(checkpoint, TEXT).text
    assert compared_lines(first) == [as_trained, expected.text or "(nothing)"]
    assert expected.text != as_trained
    second.run()
    assert not second.session_state["intervention"]
    assert compared_lines(second) == [as_trained, as_trained]
    first.button[1].click().run()
    assert not first.session_state["intervention"]


def test_a_painted_weight_is_in_the_map(open_app: OpenApp) -> None:
    app = open_app("heads", checkpoint=NAME, layer="2", head="3")
    app.session_state["intervention"] = Intervention(painted=frozenset([PaintedCell(Head("cross", 1, 2), 2, 4, 0.9)]))
    app.run()
    shown = array(charts(app)[0]["data"][0]["z"])
    assert shown[2, 4] == pytest.approx(0.9)
    assert shown[2].sum() == pytest.approx(1, abs=1e-5)
    assert any("row 3, column 5: 0.9" in caption.value for caption in app.caption)


def test_what_heads_do_and_their_importance(open_app: OpenApp, checkpoint: Checkpoint) -> None:
    app = tab(open_app("heads", checkpoint=NAME, sentences_from="pasted"), "heads_tab", "What heads do")
    assert "at least one sentence" in app.info[0].value
    app.text_area(key="pasted").set_value(f"{TEXT}\nEine Frau lacht.\tA woman is laughing.").run()
    assert not app.exception
    grid = array(charts(app)[0]["data"][0]["z"])
    assert grid.shape == (3, 3 * 8 + 2)
    assert "2 sentences" in app.markdown[0].value
    assert "rarest" not in app.segmented_control(key="metric").options
    app = tab(app, "heads_tab", "Importance")
    pairs = [(TEXT, ""), ("Eine Frau lacht.", "A woman is laughing.")]
    expected = gradient_importance(checkpoint.model, make_examples(checkpoint, pairs))
    kinds = array(charts(app)[0]["data"][0]["z"])
    for i, kind in enumerate(KINDS):  # in one order on every tab
        shown = kinds[:, 9 * i : 9 * i + 8]
        np.testing.assert_allclose(shown, expected[kind].mean(axis=0), atol=1e-5)
    app.button(key="measure").click().run()
    assert not app.exception
    assert len(charts(app)) == 2
    assert any("takes 10 sentences or more" in caption.value for caption in app.caption)
    assert not any("correlation" in caption.value for caption in app.caption)


@pytest.mark.parametrize("name", [NAME, "imdb-sentiment"])
def test_sentiment_opens_on_a_review_whatever_checkpoint_is_chosen(open_app: OpenApp, name: str) -> None:
    app = open_app("sentiment", checkpoint=name)
    classifier = load_classifier(BUNDLED / "imdb-sentiment")
    for review in REVIEWS[:2]:
        app.text_area(key="review").set_value(review).run()
        expected = classify(classifier, review)
        shown = re.search(rf"{expected.label}: ([\d.]+)%", html(app))
        assert shown
        # One decimal on the screen, and whatever side of a half the last bit falls on.
        assert float(shown[1]) == pytest.approx(100 * expected.probabilities[expected.label], abs=0.051)
        np.testing.assert_allclose(array(charts(app)[0]["data"][0]["z"]), expected.encoder[0, 0], atol=1e-5)
    app.text_area(key="review").set_value("good " * 3000).run()
    assert not app.exception
    assert "from the middle of the review" in app.warning[0].value
    app.text_area(key="review").set_value("  ").run()
    assert "Type a review" in app.info[0].value


@pytest.mark.parametrize("page", ["steps", "inside", "heads", "masks", "positions"])
@pytest.mark.parametrize("text", ["", "🐕‍🦺", "</script><b>$x$", "wort " * 300])
def test_any_text_gives_a_sensible_page(open_app: OpenApp, page: str, text: str) -> None:
    app = open_app(page, checkpoint="multi30k-de-en-words", text=text)
    assert not app.exception
    assert not app.error


def test_measured_importance_is_what_the_gradient_estimates_and_how_surely_is_said(open_app: OpenApp) -> None:
    app = open_app("heads", heads_tab="Importance")
    app.button(key="measure").click().run()
    said = next(caption.value for caption in app.caption if "correlation" in caption.value)
    numbers = re.search(r"correlation of ([\d.-]+) .*between ([\d.-]+) and ([\d.-]+) when the 20 sentences", said)
    assert numbers
    found, low, high = map(float, numbers.groups())
    assert 0.5 < low <= found <= high < 1


def test_positions_switched_off_by_a_link_are_told_and_switched_on_again(
    open_app: OpenApp, checkpoint: Checkpoint
) -> None:
    app = open_app("heads", checkpoint=NAME, intervention="nopositions")
    blind = translate(checkpoint, TEXT, edits=Intervention(positions=False).edits()).text
    as_trained = translate(checkpoint, TEXT).text
    assert compared_lines(app) == [as_trained, blind]
    switch = app.toggle(key="board_positions")
    assert (switch.label, switch.value) == ("Positional encoding", False)
    switch.set_value(True).run()
    assert compared_lines(app) == [as_trained, as_trained]
    assert in_url(app, "intervention") is None
    app.toggle(key="board_positions").set_value(False).run()
    assert in_url(app, "intervention") == "nopositions"
    next(button for button in app.button if button.label == "As trained").click().run()
    assert app.toggle(key="board_positions").value


def test_a_cell_painted_in_a_silenced_head_is_told(open_app: OpenApp) -> None:
    app = open_app("heads", checkpoint=NAME, intervention="off.cross.1.1~paint.cross.1.1.1.1.0.5")
    assert any("its head is silenced" in caption.value for caption in app.caption)


def test_a_painted_cell_that_changes_nothing_is_told(open_app: OpenApp) -> None:
    code = "paint.cross.2.3.9.2.0.5~paint.decoder.1.1.1.1.0.4~paint.decoder.1.2.2.9.0.5~paint.cross.1.1.1.1.0.5"
    app = open_app("heads", checkpoint=NAME, text="Ein Hund.", intervention=code)
    painted, idle = (
        next(c.value for c in app.caption if c.value.startswith(word)) for word in ("Painted:", "Without effect:")
    )
    assert painted == "Painted: cross layer 1 head 1, row 1, column 1: 0.5."
    assert re.search(r"row 9, column 2: 0.5 \(here are \d rows and \d columns\)", idle)
    assert "head 1, row 1, column 1: 0.4 (the only key of its row keeps all the weight)" in idle
    assert "row 2, column 9: 0.5" in idle


@pytest.mark.parametrize("page", ["translate", "steps", "inside", "masks", "heads"])
def test_a_page_for_translators_leads_who_chose_the_classifier_on(open_app: OpenApp, page: str) -> None:
    app = open_app(page, checkpoint="imdb-sentiment")
    assert "classifies texts and does not translate" in app.info[0].value
    link = app.get("page_link")[0].proto
    assert link.page == "sentiment"
    assert "Sentiment" in link.label


def test_an_odd_width_in_a_link_is_none_and_what_is_more_than_rounding_gets_no_tick(
    open_app: OpenApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = open_app("positions", width="17", position_tab="Distances and rotation")
    assert app.select_slider(key="width").value == load_checkpoint(BUNDLED / FIRST).model.config.d_model
    assert app.success
    monkeypatch.setattr("model.analysis.positions.rotation_error", lambda *_: 0.063)
    monkeypatch.setattr("viz_app.sections.position_relations.rotation_error", lambda *_: 0.063)
    app.run()
    assert not app.success
    assert "more than rounding" in app.error[0].value


@pytest.mark.parametrize(("positions", "width"), [(8, 16), (5, 24), (40, 1024)])
def test_positions_of_models_of_any_size(
    open_app: OpenApp, monkeypatch: pytest.MonkeyPatch, positions: int, width: int
) -> None:
    own = sinusoidal_table(positions, width).numpy()
    monkeypatch.setattr("viz_app.services.position_table", lambda key: own)
    for name in ("The matrix", "Waves and counters", "Distances and rotation"):
        app = open_app("positions", position_tab=name)
        assert app.select_slider(key="width").value == width
        assert not app.error
    np.testing.assert_allclose(array(charts(open_app("positions"))[0]["data"][0]["z"]), own, atol=1e-6)


def test_the_page_says_how_much_longer_each_wave_really_is(open_app: OpenApp) -> None:
    app = open_app("positions", position_tab="Waves and counters", base="10")
    said = next(text.value for text in app.markdown if "binary" in text.value)
    found = [float(number) for number in re.findall(r"\d\.\d+|\b\d\b", said.partition("each is")[2])]
    lengths = wavelengths(app.select_slider(key="width").value, 10)
    nearest = [lengths[np.abs(lengths - lengths[0] * 2.0**i).argmin()] for i in range(5)]
    np.testing.assert_allclose(found, np.divide(nearest[1:], nearest[:-1]), rtol=0.05)  # two digits
    assert min(found) < 1.5


def test_rollout_with_hidden_tokens_quotes_its_own_share(open_app: OpenApp, checkpoint: Checkpoint) -> None:
    maps = translate(checkpoint, TEXT).maps
    encoder, decoder = rollout(maps.encoder)[1], translation_rollout(maps.encoder, maps.decoder, maps.cross)[0][1]
    # Rows of the decoder's rollout hold only what came from the target, so their sum is the whole here.
    shares = {"encoder": encoder[:-1, -1].mean(), "decoder": (decoder[1:, 0] / decoder[1:].sum(-1)).mean()}
    for kind, share in shares.items():
        app = open_app(checkpoint=NAME, kind=kind, head="rollout", layer="2", hide_special="true")
        said = next(caption.value for caption in app.caption if "hidden columns" in caption.value)
        assert f"hold {share:.0%} of the share" in said


def test_the_table_inside_a_head_says_when_it_scrolls(open_app: OpenApp) -> None:
    for text, scrolls in (("Ein Hund.", False), ("Ein Hund rennt durch den tiefen Schnee und bellt laut.", True)):
        app = open_app("inside", checkpoint=NAME, text=text, kind="encoder")
        assert any("scroll it" in caption.value for caption in app.caption) is scrolls


def test_the_help_of_beam_search_says_what_wins(open_app: OpenApp) -> None:
    assert "best mean log-probability a token" in open_app().segmented_control(key="method").help
