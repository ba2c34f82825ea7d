"""The code that is shown next to the stations of a token. `test_station_steps.py` compares their numbers."""

import inspect
from dataclasses import replace

import numpy as np
import pytest
import torch

from model.analysis.station import function_code
from model.checkpoints.checkpoint import Checkpoint, load_checkpoint
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
