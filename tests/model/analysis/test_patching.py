"""Heads of one run pasted into another, against torch's own hooks."""

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from model.analysis.patching import ROWS, first_difference, patch_every_head, patch_head
from model.checkpoints.checkpoint import Checkpoint, load_checkpoint
from model.cli.main import main
from model.inference.opening import open_translator
from model.inference.translate import translate
from model.interventions import Head
from model.trace import hook_name
from tests.conftest import BUNDLED

# They part after a few words: before, both runs have read the same prefix.
GIVER, TEXT = "A man is riding a horse.", "A man is riding a bike."


@pytest.fixture(scope="module")
def captions() -> Checkpoint:
    return load_checkpoint(BUNDLED / "multi30k-en-de")


def ids(tokens: object) -> Tensor:
    return torch.tensor([[token.id for token in tokens]])  # type: ignore[attr-defined]


@pytest.mark.parametrize("kind", ["encoder", "decoder", "cross"])
@torch.inference_mode()
def test_what_is_pasted_is_the_part_of_the_projections_input(captions: Checkpoint, kind: str) -> None:
    model, width = captions.model, captions.model.config.d_model // captions.model.config.num_heads
    theirs, ours = translate(captions, GIVER), translate(captions, TEXT)
    place = first_difference(theirs, ours)
    assert place is not None
    assert place > 1
    found = patch_every_head(captions, GIVER, TEXT)
    assert found is not None
    assert found.place == place
    words, prefix = (theirs.written[place].id, ours.written[place].id), ids(ours.read[: place + 1])

    def advantage(source: Tensor) -> float:
        logits = model(source, prefix)[0, -1]
        return float(logits[words[0]] - logits[words[1]])

    wanted, own = advantage(ids(theirs.source)), advantage(ids(ours.source))
    layer, head = 1, 2
    projection = model.get_submodule(hook_name(kind, layer, "output_projection"))
    assert isinstance(projection, nn.Linear)
    seen: list[Tensor] = []
    watching = projection.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0].clone()))
    advantage(ids(theirs.source))
    watching.remove()

    def pasted(at: slice) -> float:
        def put(_: nn.Module, inputs: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
            changed = inputs[0].clone()
            part = slice(head * width, (head + 1) * width)
            changed[0, at, part] = seen[0][0, at, part]
            return (changed,)

        handle = projection.register_forward_pre_hook(put)
        value = advantage(ids(ours.source))
        handle.remove()
        return (value - own) / (wanted - own)

    # Single precision, and a division by a difference of logits of several units.
    assert found.heads[kind][layer, head] == pytest.approx(pasted(slice(None)), abs=1e-3)
    for at in range(found.places[kind].shape[-1]):
        assert found.places[kind][layer, head, at] == pytest.approx(pasted(slice(at, at + 1)), abs=1e-3)


def test_the_same_sentence_has_nothing_to_paste(captions: Checkpoint) -> None:
    assert patch_every_head(captions, TEXT, TEXT) is None


def test_pasting_says_how_far_it_is_and_ends_where_nobody_wants_it(captions: Checkpoint) -> None:
    said = list[tuple[int, int]]()

    def report(done: int, runs: int) -> None:
        said.append((done, runs))
        if len(said) == 3:
            raise TimeoutError

    with pytest.raises(TimeoutError):
        patch_every_head(captions, GIVER, TEXT, report=report)
    assert [done for done, _ in said] == [0, ROWS, 2 * ROWS]
    assert said[0][1] > 2 * ROWS


def test_heads_of_the_encoder_need_sentences_of_one_length(captions: Checkpoint) -> None:
    found = patch_every_head(captions, "A man is riding a brown horse through the park.", TEXT)
    assert found is not None
    assert np.isnan(found.heads["encoder"]).all()
    assert np.isfinite(found.heads["cross"]).all()


@pytest.mark.parametrize("kind", ["encoder", "decoder", "cross"])
def test_a_head_pasted_from_the_same_sentence_changes_nothing(captions: Checkpoint, kind: str) -> None:
    assert patch_head(captions, TEXT, TEXT, Head(kind, 0, 1)).text == translate(captions, TEXT).text


def test_a_pasted_head_says_place_by_place_what_it_said_there(captions: Checkpoint) -> None:
    model, head = captions.model, Head("cross", 2, 3)
    width = model.config.d_model // model.config.num_heads
    part = slice(head.head * width, (head.head + 1) * width)
    projection = model.get_submodule(hook_name("cross", 2, "output_projection"))
    assert isinstance(projection, nn.Linear)
    said: list[Tensor] = []
    watching = projection.register_forward_pre_hook(lambda _, inputs: said.append(inputs[0][..., part].clone()))
    translate(captions, GIVER)
    watching.remove()
    steps = iter(range(1000))

    def put(_: nn.Module, inputs: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        step, changed = next(steps), inputs[0].clone()
        if step < len(said):
            changed[..., part] = said[step]
        return (changed,)

    handle = projection.register_forward_pre_hook(put)
    expected = translate(captions, TEXT)
    handle.remove()
    found = patch_head(captions, GIVER, TEXT, head)
    assert [token.id for token in found.written] == [token.id for token in expected.written]
    np.testing.assert_allclose(
        [token.probability for token in found.written], [token.probability for token in expected.written], atol=1e-4
    )


def test_some_head_carries_the_word_over(captions: Checkpoint) -> None:
    found = patch_every_head(captions, GIVER, TEXT)
    assert found is not None
    assert max(float(grid.max()) for grid in found.heads.values()) > 0.1


def test_the_same_model_of_another_make_is_pasted_alike(captions: Checkpoint, tmp_path: Path) -> None:
    assert main(["export", "multi30k-en-de", "--to", "marian", "--out", str(tmp_path / "exported")]) == 0
    ours, found = (
        patch_every_head(checkpoint, GIVER, TEXT) for checkpoint in (captions, open_translator(tmp_path / "exported"))
    )
    assert ours is not None
    assert found is not None
    for kind, grid in ours.heads.items():
        np.testing.assert_allclose(found.heads[kind], grid, atol=1e-3)
        np.testing.assert_allclose(found.places[kind], ours.places[kind], atol=1e-3)
