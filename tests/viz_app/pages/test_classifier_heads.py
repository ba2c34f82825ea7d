"""Heads, Masks and Inside with a classifier, compared with the model itself."""

from collections.abc import Callable

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from model.analysis.importance import gradient_importance
from model.analysis.mask_bugs import mask_bug
from model.analysis.patching import patch_every_head
from model.analysis.silencing import silence_each_head
from model.checkpoints.checkpoint import ClassifierCheckpoint, load_classifier
from model.inference.classify import classify
from model.interventions import Head, Intervention
from tests.conftest import BUNDLED
from tests.model.analysis.follow import follow
from tests.viz_app.conftest import array, charts, compared_lines, component_data
from viz_app.content.examples import BATCHES, REVIEW_DONOR, REVIEW_RECEIVER, REVIEWS, SHORT_REVIEWS

OpenApp = Callable[..., AppTest]
NAME = "imdb-sentiment"


@pytest.fixture(scope="module")
def classifier() -> ClassifierCheckpoint:
    return load_classifier(BUNDLED / NAME)


def log_odds(probability: float) -> float:
    return float(np.log(probability / (1 - probability)))


def test_the_effect_of_a_head_is_that_on_the_log_odds_of_the_class(classifier: ClassifierCheckpoint) -> None:
    before = classify(classifier, REVIEWS[0])
    found = silence_each_head(follow(classifier, REVIEWS[0]))
    for head in range(4):
        edits = Intervention(ablated=frozenset({Head("encoder", 0, head)})).edits()
        after = classify(classifier, REVIEWS[0], edits=edits)
        change = log_odds(after.probabilities[before.label]) - log_odds(before.probabilities[before.label])
        assert found.changes["encoder"][0, head] == pytest.approx(change, abs=1e-4)
        assert (found.positions["encoder"][0, head] == 0) == (after.label != before.label)
    assert found.positions["encoder"].max() == 0, "one head alone decides the class of the first review"


def test_the_board_shows_the_effects_and_the_class_without_a_head(
    open_app: OpenApp, classifier: ClassifierCheckpoint
) -> None:
    app = open_app("heads", checkpoint=NAME)
    found = silence_each_head(follow(classifier, REVIEWS[0])).changes["encoder"]
    (board,) = component_data(app, "head_switches")["boards"]
    assert f"{found[0, 1]:+.3f} nats" in board["faces"][0][1]["note"]
    next(one for one in app.button if one.label == "Silence the decisive head").click().run()
    before, after = compared_lines(app)
    assert (before, after) == ("positive", "negative")
    edits = app.session_state["intervention"].edits()
    share = classify(classifier, REVIEWS[0], edits=edits).probabilities["positive"]
    assert any(f"gives it {share:.3f}" in caption.value for caption in app.caption)


def test_importance_is_measured_on_the_log_odds(open_app: OpenApp, classifier: ClassifierCheckpoint) -> None:
    app = open_app("heads", checkpoint=NAME, heads_tab="importance")
    pairs = [(text, "") for text in (*REVIEWS, *SHORT_REVIEWS)]
    expected = gradient_importance(classifier, pairs)["encoder"]
    np.testing.assert_allclose(array(charts(app)[0]["data"][0]["z"]).astype(float), expected.mean(axis=0), atol=1e-3)
    app.button(key="measure").click().run()
    assert any("correlation" in caption.value for caption in app.caption)


def test_a_head_is_patched_from_a_review_with_another_class(
    open_app: OpenApp, classifier: ClassifierCheckpoint
) -> None:
    app = open_app("heads", checkpoint=NAME, heads_tab="paste")
    found = patch_every_head(classifier, REVIEW_DONOR, REVIEW_RECEIVER)
    assert found is not None
    assert found.heads["encoder"].max() > 0.1
    np.testing.assert_allclose(array(charts(app)[0]["data"][0]["z"]).astype(float), found.heads["encoder"], atol=1e-4)
    app = open_app("heads", checkpoint=NAME, heads_tab="paste", giver="This film is a terrible and boring surprise.")
    assert "need the same number of tokens" in app.info[0].value


def test_the_bug_lab_shows_the_classes_with_a_mistake(open_app: OpenApp, classifier: ClassifierCheckpoint) -> None:
    app = open_app("masks", checkpoint=NAME, mask_tab="bugs", bug="padding")
    assert "Causal mask inverted" not in app.segmented_control(key="bug").options
    expected = mask_bug(classifier, BATCHES["reviews"], "padding").texts
    assert compared_lines(app)[1::2] == list(expected)
    assert expected[0] != mask_bug(classifier, BATCHES["reviews"]).texts[0]


def test_one_head_of_a_classifier_is_taken_apart(open_app: OpenApp) -> None:
    app = open_app("inside", checkpoint=NAME, inside_tab="head", head="3")
    assert "only rounding" in app.success[0].value
