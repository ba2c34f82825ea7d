"""A classifier followed inside: its parts, its class after each layer, and the tokens that it depends on."""

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
import torch

from model.analysis.contributions import contributions
from model.analysis.followed import Followed
from model.analysis.influence import influence
from model.analysis.lens import logit_lens
from model.analysis.stations import way_of_token
from model.analysis.zeroing import value_zeroing
from model.checkpoints.checkpoint import ClassifierCheckpoint
from model.inference.classify import classify, record_classification
from model.trace import hook_name
from tests.agreement_cases import CASES
from tests.model.analysis.follow import follow

CLASSIFIERS = [name for name, case in CASES.items() if case.task == "classification"]
ROUNDING = 1e-5


@cache
def opened(name: str) -> ClassifierCheckpoint:
    with TemporaryDirectory() as folder:
        checkpoint = CASES[name].open(Path(folder) / "case")
    assert isinstance(checkpoint, ClassifierCheckpoint)
    return checkpoint


@cache
def followed(name: str) -> Followed:
    return follow(opened(name), CASES[name].text)


def probabilities(name: str) -> dict[str, float]:
    return {one.token: one.probability for one in followed(name).result.outcome_at(0).candidates}


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_the_parts_add_up_to_the_difference_of_two_classes(name: str) -> None:
    own = followed(name).result.outcome_at(0)
    for rival in (one for one in own.candidates if one.id != own.id):
        found = contributions(followed(name), 0, rival.id)
        assert found.difference == pytest.approx(np.log(own.probability / rival.probability), abs=ROUNDING)
        assert found.total == pytest.approx(found.difference, abs=ROUNDING)
        assert found.agrees


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_the_class_after_the_last_layer_is_the_class(name: str) -> None:
    lens = logit_lens(followed(name))
    assert len(lens.own) == len(opened(name).model.stack("encoder").streams)
    np.testing.assert_allclose(lens.own[-1], [*probabilities(name).values()], atol=ROUNDING)
    assert lens.difference < ROUNDING
    assert np.abs(lens.own[0] - lens.own[-1]).max() > ROUNDING, "the layers do something"


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_the_shares_of_all_tokens_in_the_decision_sum_to_1(name: str) -> None:
    found = influence(followed(name))
    assert found.pooled is not None
    assert found.pooled.shape == (len(followed(name).result.source),)
    assert found.pooled.sum() == pytest.approx(1, abs=ROUNDING)
    assert found.residual < 10 * ROUNDING


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_a_token_without_values_moves_a_classifier_as_its_own_run_does(name: str) -> None:
    checkpoint, text = opened(name), followed(name)
    found = value_zeroing(text)
    assert found.residual < ROUNDING

    def without_values(values: torch.Tensor) -> torch.Tensor:
        kept = values.clone()
        kept[:, :, 2] = 0
        return kept

    stream = checkpoint.model.stack("encoder").streams[1]
    edits = {hook_name("encoder", 0, "values"): without_values}
    _, changed = record_classification(checkpoint, CASES[name].text, record=(stream,), edits=edits)
    expected = 1 - torch.cosine_similarity(
        torch.tensor(text.recording.array(stream)).double(), torch.tensor(changed.array(stream)).double(), dim=-1
    )
    np.testing.assert_allclose(found.source[0, :, 2], expected, atol=ROUNDING)
    assert found.source[0, :, 2].max() > ROUNDING


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_every_station_of_a_classifier_is_the_models(name: str) -> None:
    checkpoint = opened(name)
    stack = checkpoint.model.stack("encoder")
    for position in (0, 2):
        path, end = way_of_token(followed(name), "encoder", len(stack.streams) - 2, position)
        for station in path:
            assert station.difference < ROUNDING * max(1, np.abs(station.vector).max()), station.name
        assert end is not None
        assert end.difference < ROUNDING
        assert end.words[0][0] == followed(name).result.text == classify(checkpoint, CASES[name].text).label


def test_the_share_of_a_token_in_a_mean_is_its_own_vector_times_the_direction() -> None:
    name = "classifier by the mean"
    model, text = opened(name).model, followed(name)
    own = text.result.outcome_at(0).id
    rival = (own + 1) % len(model.config.labels)
    found = contributions(text, 0, rival)
    rows = model.get_parameter("output_projection.weight").detach().numpy()  # type: ignore[attr-defined]
    states = text.in_layer("encoder", 0).recording.array("encoder.states")  # (S, D)
    np.testing.assert_allclose(found.positions, states @ (rows[own] - rows[rival]) / len(states), atol=ROUNDING)
