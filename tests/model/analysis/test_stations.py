"""Every station of a token, computed again, and the code that stands beside it."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from model.analysis.stations import code_of_function, stations
from model.checkpoint import Checkpoint, load_checkpoint
from model.inference.translate import translate
from model.network.layers import FeedForward
from model.network.transformer import Transformer
from tests.conftest import BUNDLED

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
def test_every_station_is_the_models_own(changes: dict[str, object] | None, stack: str) -> None:
    checkpoint = load_checkpoint(BUNDLED / "everyday-en-de") if changes is None else variant(**changes)
    for layer in (0, 2):
        _, found, end = stations(checkpoint, TEXT, stack, layer, 1)
        # Sums of a few hundred numbers of the size of ten, in single precision there and in double here.
        assert max(station.difference for station in found) < 1e-4
        assert len(found) == (6 if stack == "encoder" else 8) + bool(layer)
        assert (end is not None) == (stack == "decoder" and layer == 2)


def test_the_way_ends_in_the_words_that_the_model_considered() -> None:
    checkpoint = load_checkpoint(BUNDLED / "everyday-en-de")
    for place, written in enumerate(translate(checkpoint, TEXT).written):
        _, _, end = stations(checkpoint, TEXT, "decoder", 2, place)
        assert end is not None
        assert end.words[0][0] == written.text
        np.testing.assert_allclose(end.words[0][2], written.probability, atol=1e-4)


def test_the_code_is_what_runs_without_its_docstring() -> None:
    code = code_of_function(FeedForward.forward)
    assert code.startswith("def forward(self, x: Tensor) -> Tensor:")
    assert "self.contract(self.dropout(self.activation(self.expand(x))))" in code
    for station in stations(load_checkpoint(BUNDLED / "everyday-en-de"), TEXT, "decoder", 0, 0)[1]:
        assert all('"""' not in function and "return" in function for function in station.code)
