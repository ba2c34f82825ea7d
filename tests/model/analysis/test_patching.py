"""Patched heads, compared with torch's own hooks."""

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from model.analysis.patching import BATCH_ROWS, contrast, patch_every_head, patch_head
from model.checkpoints.checkpoint import Checkpoint, load_checkpoint
from model.cli.main import main
from model.inference.opening import open_translator
from model.inference.translate import translate
from model.interventions import Head
from model.trace import hook_name
from tests.conftest import BUNDLED
from tests.model.analysis.follow import first_difference

# Their translations share the first few words.
DONOR, TEXT = "A man is riding a horse.", "A man is riding a bike."


@pytest.fixture(scope="module")
def captions() -> Checkpoint:
    return load_checkpoint(BUNDLED / "multi30k-en-de")


def ids(tokens: object) -> Tensor:
    return torch.tensor([[token.id for token in tokens]])  # type: ignore[attr-defined]


@pytest.mark.parametrize("kind", ["encoder", "decoder", "cross"])
@torch.inference_mode()
def test_a_patch_replaces_the_heads_part_of_the_projections_input(captions: Checkpoint, kind: str) -> None:
    model, width = captions.model, captions.model.config.d_model // captions.model.config.num_heads
    theirs, ours = translate(captions, DONOR), translate(captions, TEXT)
    position = first_difference(theirs, ours)
    assert position is not None
    assert position > 1
    found = patch_every_head(captions, DONOR, TEXT)
    assert found is not None
    compared = contrast(captions, theirs, ours)
    assert compared is not None
    assert compared.position == position
    words, prefix = (theirs.written[position].id, ours.written[position].id), ids(ours.read[: position + 1])

    def logit_difference(source: Tensor) -> float:
        logits = model(source, prefix)[0, -1]
        return float(logits[words[0]] - logits[words[1]])

    donors, own = logit_difference(ids(theirs.source)), logit_difference(ids(ours.source))
    layer, head = 1, 2
    projection = model.get_submodule(hook_name(kind, layer, "output_projection"))
    assert isinstance(projection, nn.Linear)
    inputs_of_donor: list[Tensor] = []
    watching = projection.register_forward_pre_hook(lambda _, inputs: inputs_of_donor.append(inputs[0].clone()))
    logit_difference(ids(theirs.source))
    watching.remove()

    def patched(at: slice) -> float:
        def put(_: nn.Module, inputs: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
            changed = inputs[0].clone()
            part = slice(head * width, (head + 1) * width)
            changed[0, at, part] = inputs_of_donor[0][0, at, part]
            return (changed,)

        handle = projection.register_forward_pre_hook(put)
        value = logit_difference(ids(ours.source))
        handle.remove()
        return (value - own) / (donors - own)

    # Single precision, and a division by a difference of logits of several units.
    assert found.heads[kind][layer, head] == pytest.approx(patched(slice(None)), abs=1e-3)
    for at in range(found.positions[kind].shape[-1]):
        assert found.positions[kind][layer, head, at] == pytest.approx(patched(slice(at, at + 1)), abs=1e-3)


def test_equal_sentences_have_nothing_to_patch(captions: Checkpoint) -> None:
    assert patch_every_head(captions, TEXT, TEXT) is None


def test_patching_reports_its_progress_and_stops_on_an_exception(captions: Checkpoint) -> None:
    reports = list[tuple[int, int]]()

    def report(done: int, runs: int) -> None:
        reports.append((done, runs))
        if len(reports) == 3:
            raise TimeoutError

    with pytest.raises(TimeoutError):
        patch_every_head(captions, DONOR, TEXT, report=report)
    assert [done for done, _ in reports] == [0, BATCH_ROWS, 2 * BATCH_ROWS]
    assert reports[0][1] > 2 * BATCH_ROWS


def test_heads_of_the_encoder_need_sentences_of_the_same_length(captions: Checkpoint) -> None:
    found = patch_every_head(captions, "A man is riding a brown horse through the park.", TEXT)
    assert found is not None
    assert np.isnan(found.heads["encoder"]).all()
    assert np.isfinite(found.heads["cross"]).all()


@pytest.mark.parametrize("kind", ["encoder", "decoder", "cross"])
def test_a_head_patched_from_the_same_sentence_changes_nothing(captions: Checkpoint, kind: str) -> None:
    assert patch_head(captions, TEXT, TEXT, Head(kind, 0, 1)).text == translate(captions, TEXT).text


def test_a_patched_head_has_its_donors_output_at_each_position(captions: Checkpoint) -> None:
    model, head = captions.model, Head("cross", 2, 3)
    width = model.config.d_model // model.config.num_heads
    part = slice(head.head * width, (head.head + 1) * width)
    projection = model.get_submodule(hook_name("cross", 2, "output_projection"))
    assert isinstance(projection, nn.Linear)
    outputs: list[Tensor] = []
    watching = projection.register_forward_pre_hook(lambda _, inputs: outputs.append(inputs[0][..., part].clone()))
    translate(captions, DONOR)
    watching.remove()
    steps = iter(range(1000))

    def put(_: nn.Module, inputs: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        step, changed = next(steps), inputs[0].clone()
        if step < len(outputs):
            changed[..., part] = outputs[step]
        return (changed,)

    handle = projection.register_forward_pre_hook(put)
    expected = translate(captions, TEXT)
    handle.remove()
    found = patch_head(captions, DONOR, TEXT, head)
    assert [token.id for token in found.written] == [token.id for token in expected.written]
    np.testing.assert_allclose(
        [token.probability for token in found.written], [token.probability for token in expected.written], atol=1e-4
    )


def test_some_head_moves_the_run_towards_the_donors_word(captions: Checkpoint) -> None:
    found = patch_every_head(captions, DONOR, TEXT)
    assert found is not None
    assert max(float(grid.max()) for grid in found.heads.values()) > 0.1


def test_the_same_model_in_another_library_is_patched_alike(captions: Checkpoint, tmp_path: Path) -> None:
    assert main(["export", "multi30k-en-de", "--to", "marian", "--out", str(tmp_path / "exported")]) == 0
    ours, found = (
        patch_every_head(checkpoint, DONOR, TEXT) for checkpoint in (captions, open_translator(tmp_path / "exported"))
    )
    assert ours is not None
    assert found is not None
    for kind, grid in ours.heads.items():
        np.testing.assert_allclose(found.heads[kind], grid, atol=1e-3)
        np.testing.assert_allclose(found.positions[kind], ours.positions[kind], atol=1e-3)
