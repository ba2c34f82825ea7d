import numpy as np
import pytest
import torch
from torch import Tensor

from model.analysis.importance import (
    Examples,
    all_heads,
    gate_gradients,
    loss_changes,
    make_examples,
    sentence_losses,
)
from model.checkpoints.checkpoint import Checkpoint
from model.interventions import Head
from model.text.vocab import BOS_ID, EOS_ID
from model.trace import active_trace, hook_name, tracing
from tests.conftest import make_model


@pytest.fixture
def examples(source: Tensor, target: Tensor) -> Examples:
    return Examples(source=source, target=target)


def test_every_head_is_silenced_once_and_restored(examples: Examples) -> None:
    model = make_model()
    before = sentence_losses(model, examples)
    found = dict(loss_changes(model, [examples]))
    assert list(found) == all_heads(model)
    assert len(found) == 4 * (2 + 3 + 3)
    with torch.no_grad():
        model.decoder.layers[1].cross_attention.output_projection.weight[:, 8:16] = 0
        expected = sentence_losses(model, examples) - before
    np.testing.assert_allclose(found[Head("cross", 1, 1)], expected, atol=1e-5)


def test_the_size_of_the_batches_changes_nothing(source: Tensor, target: Tensor, examples: Examples) -> None:
    model = make_model()
    apart = [Examples(source=source[i : i + 1], target=target[i : i + 1]) for i in range(3)]
    whole, parts = dict(loss_changes(model, [examples])), dict(loss_changes(model, apart))
    for head, changes in whole.items():
        np.testing.assert_allclose(parts[head], changes, atol=1e-5)


def test_a_caller_that_stops_halfway_leaves_no_open_trace(examples: Examples) -> None:
    model = make_model()
    changes = loss_changes(model, [examples])
    next(changes)
    # What a generator leaves open between two heads is open for whoever asked it.
    assert active_trace() is None
    assert not torch.is_inference_mode_enabled()
    changes.close()
    assert active_trace() is None


def test_the_gradient_equals_finite_differences(examples: Examples) -> None:
    model = make_model().double()
    found = gate_gradients(model, examples)
    step = 1e-4

    def losses(kind: str, layer: int, head: int, gate: float) -> Tensor:
        def edit(outputs: Tensor) -> Tensor:
            scaled = outputs.clone()
            scaled[:, head] *= gate
            return scaled

        with torch.inference_mode(), tracing(record=(), edits={hook_name(kind, layer, "head_outputs"): edit}):
            return sentence_losses(model, examples)

    for kind, layer, head in (("encoder", 1, 3), ("decoder", 0, 0), ("cross", 2, 1)):
        slopes = (losses(kind, layer, head, 1 + step) - losses(kind, layer, head, 1 - step)) / (2 * step)
        np.testing.assert_allclose(found[kind][:, layer, head], slopes.abs(), rtol=1e-3)
    assert {kind: values.shape for kind, values in found.items()} == {
        "encoder": (3, 2, 4),
        "decoder": (3, 3, 4),
        "cross": (3, 3, 4),
    }


def test_a_missing_translation_is_replaced_by_the_models_own(toy: Checkpoint) -> None:
    sentence = "the small dog sees a red house ."
    own = make_examples(toy, [(sentence, "")])
    assert own.target[0, 0] == BOS_ID
    given = make_examples(toy, [(sentence, "der kleine Hund sieht ein rotes Haus ."), (sentence, "")])
    assert given.target[1, : own.target.size(1)].tolist() == own.target[0].tolist()
    assert EOS_ID in given.target[0]
    losses = sentence_losses(toy.model, own)
    assert np.isfinite(losses[0].item())
    # No other translation is likelier to a greedy reader, token by token, than what it writes itself.
    assert losses[0].item() < sentence_losses(toy.model, make_examples(toy, [(sentence, "ein Haus .")]))[0].item()
