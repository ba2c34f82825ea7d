"""All snapshots at once: the results are those of one snapshot after the other."""

import copy
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from model.analysis.learning import SnapshotResult, UnreadableSnapshot, list_snapshots, open_snapshot, run_snapshot
from model.analysis.snapshot_stack import SnapshotStack, can_stack, open_stack, run_snapshots
from model.checkpoints.checkpoint import WEIGHTS, Checkpoint, CheckpointError, load_checkpoint
from model.inference.translate import translate
from model.network.transformer import Transformer
from tests.agreement_cases import CASES, TEXT
from tests.conftest import BUNDLED
from tests.model.network.test_stacked import stack_models

OURS = list(CASES)[: list(CASES).index("recurrent")]  # every variant of our Transformer
NAME = "multi30k-en-de"
SENTENCES = ("Two dogs are playing in the snow.", "A woman reads.", "dog", "An old man with a red hat sells fruit " * 3)


def require_same(together: list[SnapshotResult], alone: list[SnapshotResult]) -> None:
    assert [one.text for one in together] == [one.text for one in alone]
    assert [one.finished for one in together] == [one.finished for one in alone]
    np.testing.assert_allclose([one.loss for one in together], [one.loss for one in alone], atol=2e-6)
    for one, other in zip(together, alone, strict=True):
        assert set(one.maps) == set(other.maps)
        for kind, maps in other.maps.items():
            assert one.maps[kind].base is None, "it would keep the maps of the other snapshots in memory"
            np.testing.assert_allclose(one.maps[kind], maps, atol=2e-6)


def perturbed(checkpoint: Checkpoint, noise: float, seed: int) -> Checkpoint:
    """As at an earlier time of its training: some of its words are others."""
    model = copy.deepcopy(checkpoint.model).double()  # random weights would amplify the rounding of single precision
    chance = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(noise * torch.randn(parameter.shape, generator=chance))
    return replace(checkpoint, model=model)


@pytest.mark.parametrize("name", OURS)
def test_every_variant_of_our_transformer_gives_the_results_of_its_snapshots(name: str, tmp_path: Path) -> None:
    trained = CASES[name].open(tmp_path / "trained")
    assert isinstance(trained, Checkpoint)
    snapshots = [perturbed(trained, noise, seed) for seed, noise in enumerate((2.0, 0.02, 0.5, 0.0, 0.1))]
    models = [one.model for one in snapshots if isinstance(one.model, Transformer)]
    stack = SnapshotStack(checkpoint=replace(trained, model=stack_models(models)), size=len(snapshots))
    translation = translate(trained, TEXT)
    alone = [run_snapshot(one, TEXT, translation) for one in snapshots]
    require_same(run_snapshots(stack, TEXT, translation), alone)
    assert {one.text == translation.text for one in alone} == {True, False}  # with and without words of their own


def test_real_snapshots_write_the_same_together_and_one_by_one() -> None:
    checkpoint = load_checkpoint(BUNDLED / NAME)
    paths = list(list_snapshots(checkpoint.path).values())
    stack, snapshots = open_stack(checkpoint, paths), [open_snapshot(checkpoint, path) for path in paths]
    for text in SENTENCES:
        trained = translate(checkpoint, text)
        alone = [run_snapshot(snapshot, text, trained) for snapshot in snapshots]
        require_same(run_snapshots(stack, text, trained), alone)


def test_a_text_that_fills_all_positions_can_be_followed_by_all_at_once() -> None:
    checkpoint = load_checkpoint(BUNDLED / NAME)
    text, paths = "dog " * 200, list(list_snapshots(checkpoint.path).values())[:2]
    trained = translate(checkpoint, text)
    assert len(trained.written) == checkpoint.config.model.max_length
    found = run_snapshots(open_stack(checkpoint, paths), text, trained)
    require_same(found, [run_snapshot(open_snapshot(checkpoint, path), text, trained) for path in paths])


def test_only_files_of_weights_for_our_transformer_are_stacked(tmp_path: Path) -> None:
    weights, folder = tmp_path / "step-000001.safetensors", tmp_path / "checkpoint-1"
    weights.touch()
    folder.mkdir()
    stackable = {}
    for name in ("post", "recurrent", "torch", "mT5 with wide heads"):
        checkpoint = CASES[name].open(tmp_path / name)
        assert isinstance(checkpoint, Checkpoint)
        stackable[name] = can_stack(checkpoint, [weights])
        assert not can_stack(checkpoint, [weights, folder])
    assert stackable == {"post": True, "recurrent": False, "torch": False, "mT5 with wide heads": False}


def test_a_snapshot_that_cannot_be_loaded_names_its_reason_and_leaves_the_others(tmp_path: Path) -> None:
    checkpoint = load_checkpoint(BUNDLED / NAME)
    good = list(list_snapshots(checkpoint.path).values())[:3]
    of_another_model = shutil.copy(BUNDLED / "imdb-sentiment" / WEIGHTS, tmp_path / "step-000001.safetensors")
    cut = tmp_path / "step-000002.safetensors"
    cut.write_bytes(good[1].read_bytes()[:-1000])
    paths = [Path(of_another_model), good[0], cut, *good[1:]]
    stack, trained = open_stack(checkpoint, paths), translate(checkpoint, SENTENCES[0])
    found = stack.with_unreadable(run_snapshots(stack, SENTENCES[0], trained))
    for place, path in ((0, paths[0]), (2, cut)):
        with pytest.raises(CheckpointError) as alone:
            open_snapshot(checkpoint, path)
        assert found[place] == UnreadableSnapshot(message=str(alone.value))
    read = [result for result in found if isinstance(result, SnapshotResult)]
    require_same(read, [run_snapshot(open_snapshot(checkpoint, path), SENTENCES[0], trained) for path in good])
    nothing = open_stack(checkpoint, [cut])
    assert nothing.with_unreadable(run_snapshots(nothing, SENTENCES[0], trained)) == [found[2]]


def test_it_can_be_stopped_between_two_tokens() -> None:
    checkpoint = load_checkpoint(BUNDLED / NAME)
    trained = translate(checkpoint, SENTENCES[0])
    stack = open_stack(checkpoint, list(list_snapshots(checkpoint.path).values())[:1])
    pauses = 0

    def pause() -> None:
        nonlocal pauses
        pauses += 1
        if pauses == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_snapshots(stack, SENTENCES[0], trained, pause=pause)
    assert pauses == 3
