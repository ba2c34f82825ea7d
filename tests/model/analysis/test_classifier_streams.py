"""A classifier followed inside: its parts, its class after each layer, and the tokens that it depends on."""

from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
import torch

from model.analysis.contributions import contribution_names, contributions
from model.analysis.influence import influence, influence_names
from model.analysis.lens import logit_lens
from model.analysis.readout_stations import predict
from model.analysis.station import follow
from model.analysis.stations import station_names, stations
from model.analysis.zeroing import value_zeroing
from model.checkpoints.checkpoint import ClassifierCheckpoint
from model.inference.classify import Classification, classify, record_classification
from model.inference.translation import RecordedArrays
from model.trace import hook_name
from tests.agreement_cases import CASES

CLASSIFIERS = [name for name, case in CASES.items() if case.task == "classification"]
ROUNDING = 1e-5


@cache
def opened(name: str) -> ClassifierCheckpoint:
    with TemporaryDirectory() as folder:
        checkpoint = CASES[name].open(Path(folder) / "case")
    assert isinstance(checkpoint, ClassifierCheckpoint)
    return checkpoint


@cache
def followed(name: str) -> tuple[Classification, RecordedArrays]:
    checkpoint = opened(name)
    stack = checkpoint.model.stack("encoder")
    record = (*contribution_names(stack), *influence_names(stack), "encoder.states")
    classification, recording = record_classification(checkpoint, CASES[name].text, record=record)
    return classification, recording.arrays()


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_the_parts_add_up_to_the_difference_of_two_classes(name: str) -> None:
    model, (classification, recording) = opened(name).model, followed(name)
    first, second, _ = classification.probabilities
    outcome = replace(classification.outcome_at(0), id=0)
    found = contributions(model, recording, outcome, 1)
    odds = classification.probabilities[first] / classification.probabilities[second]
    assert found.difference == pytest.approx(np.log(odds), abs=ROUNDING)
    assert found.total == pytest.approx(found.difference, abs=ROUNDING)
    assert found.agrees
    back = contributions(model, recording, replace(outcome, id=1), 0)
    np.testing.assert_allclose(back.heads["encoder"], -found.heads["encoder"], atol=ROUNDING)


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_the_class_after_the_last_layer_is_the_class(name: str) -> None:
    classification, recording = followed(name)
    checkpoint = opened(name)
    lens = logit_lens(checkpoint.model, checkpoint.tokenizers.target, classification.outcomes, recording)
    assert len(lens.own) == len(checkpoint.model.stack("encoder").streams)
    np.testing.assert_allclose(lens.own[-1], [*classification.probabilities.values()], atol=ROUNDING)
    assert lens.difference < ROUNDING
    assert np.abs(lens.own[0] - lens.own[-1]).max() > ROUNDING, "the layers do something"


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_the_shares_of_all_tokens_in_the_decision_sum_to_1(name: str) -> None:
    classification, recording = followed(name)
    found = influence(opened(name).model, {"encoder": classification.encoder}, recording)
    assert found.pooled is not None
    assert found.pooled.shape == (len(classification.tokens),)
    assert found.pooled.sum() == pytest.approx(1, abs=ROUNDING)
    assert found.residual < 10 * ROUNDING


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_a_token_without_values_moves_a_classifier_as_its_own_run_does(name: str) -> None:
    checkpoint, (classification, recording) = opened(name), followed(name)
    found = value_zeroing(follow(checkpoint.model, classification, recording))
    assert found.residual < ROUNDING

    def without_values(values: torch.Tensor) -> torch.Tensor:
        kept = values.clone()
        kept[:, :, 2] = 0
        return kept

    stream = checkpoint.model.stack("encoder").streams[1]
    edits = {hook_name("encoder", 0, "values"): without_values}
    _, changed = record_classification(checkpoint, CASES[name].text, record=(stream,), edits=edits)
    expected = 1 - torch.cosine_similarity(
        torch.tensor(recording.array(stream)).double(), torch.tensor(changed.array(stream)).double(), dim=-1
    )
    np.testing.assert_allclose(found.source[0, :, 2], expected, atol=ROUNDING)
    assert found.source[0, :, 2].max() > ROUNDING


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_every_station_of_a_classifier_is_the_models(name: str) -> None:
    checkpoint = opened(name)
    stack = checkpoint.model.stack("encoder")
    layer = len(stack.streams) - 2
    classification, recording = record_classification(checkpoint, CASES[name].text, record=station_names(stack, layer))
    text = follow(checkpoint.model, classification, recording.arrays())
    for position in (0, 2):
        for station in stations(text, "encoder", layer, position):
            assert station.difference < ROUNDING * max(1, np.abs(station.vector).max()), station.name
    end = predict(text, checkpoint.tokenizers.target, classification.outcome_at(0))
    assert end.difference < ROUNDING
    assert end.words[0][0] == classification.label
    assert classification.label == classify(checkpoint, CASES[name].text).label


def test_the_share_of_a_token_in_a_mean_is_its_own_vector_times_the_direction() -> None:
    name = "classifier by the mean"
    model, (classification, recording) = opened(name).model, followed(name)
    found = contributions(model, recording, replace(classification.outcome_at(0), id=0), 1)
    rows = model.get_parameter("output_projection.weight").detach().numpy()  # type: ignore[attr-defined]
    states = recording.array("encoder.states")  # (S, D)
    np.testing.assert_allclose(found.positions, states @ (rows[0] - rows[1]) / len(states), atol=ROUNDING)
