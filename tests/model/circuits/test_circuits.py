"""The model as a graph, compared with the model's own logits and with mathematics that is exact."""

import numpy as np
import pytest
import torch

from model.analysis.patching import Comparison, contrast
from model.checkpoints.checkpoint import load_checkpoint
from model.circuits.attribution import attribute, patched_differences
from model.circuits.evaluation import evaluate
from model.circuits.graph import graph_of, grown
from model.circuits.wired import Wired
from model.config.section import ConfigError
from model.inference.run import Run
from model.inference.translate import compute
from tests.conftest import BUNDLED

CHECKPOINT = load_checkpoint(BUNDLED / "multi30k-en-de")
TEXT, DONOR = "A man is riding a bike.", "A man is riding a horse."


def wired(donor: str = DONOR) -> Wired:
    found = contrast(CHECKPOINT, compute(CHECKPOINT, Run(text=donor)), compute(CHECKPOINT, Run(text=TEXT)))
    assert found is not None
    return Wired(CHECKPOINT.model, graph_of(CHECKPOINT.model), found)


@pytest.fixture(scope="module")
def pair() -> Wired:
    return wired()


@pytest.fixture(scope="module")
def scores(pair: Wired) -> np.ndarray:
    return attribute(pair, steps=3)


def test_no_edge_patched_is_the_own_run_and_all_edges_patched_is_the_donors(pair: Wired) -> None:
    with torch.inference_mode():
        models = Comparison(CHECKPOINT.model, pair.contrast)
    kept = np.array([[True], [False]]).repeat(len(pair.graph.edges), axis=1)
    expected = [models.own_difference, models.donor_difference]
    np.testing.assert_allclose(patched_differences(pair, kept), expected, atol=1e-3)


def test_the_score_of_an_edge_into_the_logits_is_its_real_effect(pair: Wired, scores: np.ndarray) -> None:
    """This model has no norm before its logits, so they are linear in each of these edges."""
    numbers = [number for number, edge in enumerate(pair.graph.edges) if edge.receiver.part == "logits"]
    kept = np.ones((len(numbers), len(scores)), bool)
    kept[np.arange(len(numbers)), numbers] = False
    effects = patched_differences(pair, kept) - pair.own_difference
    assert np.abs(effects).max() > 0.5
    np.testing.assert_allclose(scores[numbers], effects, atol=1e-4)


def test_a_circuit_grows_from_the_logits_through_every_edge(pair: Wired, scores: np.ndarray) -> None:
    order = grown(pair.graph, scores)
    assert sorted(order) == list(range(len(scores)))
    reached = {pair.graph.sites[-1].receivers[0][0]}
    for edge in (pair.graph.edges[number] for number in order):
        assert edge.receiver in reached
        reached.add(edge.sender)


def test_texts_of_different_lengths_are_refused() -> None:
    with pytest.raises(ConfigError, match="same number of tokens"):
        wired("A man is riding a brown horse through the park.")


def test_a_circuit_of_the_best_edges_does_more_of_the_task_than_a_random_one(pair: Wired, scores: np.ndarray) -> None:
    for found in evaluate([pair], scores):
        tenth = [size / len(scores) >= 0.1 for size in found.sizes].index(True)
        assert found.circuit[tenth] > found.random[tenth] + 0.2
        assert found.cpr > 0
        assert found.cmd >= 1 - found.cpr - 1e-6
        assert found.without[-1] < 0.5
