"""Every station of a token, computed again, and the code shown next to it."""

import inspect
from dataclasses import replace

import numpy as np
import pytest
import torch

from model.analysis.station import function_code
from model.checkpoints.checkpoint import Checkpoint, load_checkpoint
from model.inference.translate import translate
from model.network.layers import FeedForward
from model.network.transformer import Transformer
from tests.conftest import BUNDLED
from tests.model.analysis.follow import stations_of

TEXT = "Where is the station?"


def variant(**changes: object) -> Checkpoint:
    """Everyday's tokenizer with a random model of other settings."""
    checkpoint = load_checkpoint(BUNDLED / "everyday-en-de")
    sizes = replace(checkpoint.model.config, **changes)
    torch.manual_seed(1)
    return replace(
        checkpoint, model=Transformer(sizes, pad_id=0).eval(), config=replace(checkpoint.config, model=sizes)
    )


@pytest.mark.parametrize("stack", ["encoder", "decoder"])
@pytest.mark.parametrize(
    "changes",
    [
        None,
        {"norm": "pre"},
        {"activation": "gelu"},
        {"attention": "additive", "norm": "pre"},
        {"positional": "learned"},
    ],
    ids=str,
)
def test_every_station_equals_the_models_own_vector(changes: dict[str, object] | None, stack: str) -> None:
    checkpoint = load_checkpoint(BUNDLED / "everyday-en-de") if changes is None else variant(**changes)
    for layer in (0, 2):
        _, found, end = stations_of(checkpoint, TEXT, stack, layer, 1)
        # Sums of a few hundred numbers of the size of ten, in single precision there and in double here.
        assert max(station.difference for station in found) < 1e-4
        pre = checkpoint.model.config.norm == "pre"  # type: ignore[union-attr]
        norms = (2 if stack == "encoder" else 3) * pre + (pre and layer == 2)
        assert len(found) == (6 if stack == "encoder" else 8) + norms + bool(layer)
        assert (end is not None) == (stack == "decoder" and layer == 2)


def test_the_last_station_predicts_the_models_candidates() -> None:
    checkpoint = load_checkpoint(BUNDLED / "everyday-en-de")
    for place, written in enumerate(translate(checkpoint, TEXT).written):
        _, _, end = stations_of(checkpoint, TEXT, "decoder", 2, place)
        assert end is not None
        assert end.words[0][0] == written.text
        np.testing.assert_allclose(end.words[0][2], written.probability, atol=1e-4)


def test_the_code_is_the_source_without_its_docstring() -> None:
    code = function_code(FeedForward.forward)
    assert code[0].text == "def forward(self, x: Tensor) -> Tensor:"
    assert [line.step for line in code] == ["", "expand", "activation", "contract"]
    source = inspect.getsource(FeedForward)
    assert all(line.text.strip() in source for line in code)


@pytest.mark.parametrize("stack", ["encoder", "decoder"])
@pytest.mark.parametrize("changes", [{"norm": "post"}, {"norm": "pre", "attention": "additive"}], ids=str)
def test_every_step_has_a_line_of_code_and_the_numbers_of_the_model(changes: dict[str, object], stack: str) -> None:
    checkpoint = variant(**changes)
    _, found, _ = stations_of(checkpoint, TEXT, stack, 1, 2)
    for station in found:
        names = [step.name for step in station.steps]
        if station.name == "Final norm":  # of the whole stack, not of a layer
            continue
        assert set(names) <= {line.step for function in station.code for line in function}, station.name
        for step in station.steps:
            assert step.numbers.dtype == np.float32
        if names and station.name != "Position added":  # whose picture is what is added
            np.testing.assert_array_equal(station.steps[-1].numbers.ravel(), station.vector, station.name)


def test_the_steps_of_attention_equal_the_models_own() -> None:
    checkpoint = load_checkpoint(BUNDLED / "everyday-en-de")
    translation, found, _ = stations_of(checkpoint, TEXT, "decoder", 2, 1)
    attention = {station.name: {step.name: step.numbers for step in station.steps} for station in found}
    for name, kind in (("Self-attention", "decoder"), ("Cross-attention", "cross")):
        steps = attention[name]
        np.testing.assert_allclose(steps["weights"], translation.maps[kind][2, :, 1], atol=1e-5)
        np.testing.assert_allclose(steps["weights"].sum(axis=1), 1, atol=1e-6)
        masked = len(translation.read) - 2 if kind == "decoder" else 0
        assert np.isneginf(steps["mask"]).sum(axis=1).tolist() == [masked] * 8
    activation = next(station for station in found if station.name == "Feed-forward").steps[1]
    assert activation.numbers.min() == 0
    assert activation.facts[0] == ("active units", f"{(activation.numbers > 0).sum()} of 512")


def test_each_norm_of_a_pre_norm_model_is_a_station() -> None:
    _, found, _ = stations_of(variant(norm="pre"), TEXT, "decoder", 0, 1)
    assert [station.name for station in found].count("Norm") == 3
    norm = next(station for station in found if station.name == "Norm")
    assert abs(norm.vector.mean()) < 1e-5  # its scale is 1 and its shift 0 at first
    assert norm.vector.std() == pytest.approx(1, abs=1e-3)
