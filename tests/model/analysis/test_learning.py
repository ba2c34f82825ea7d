"""One text at every snapshot of a training."""

import shutil
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from model.analysis.learning import (
    EXTRA_TOKENS,
    greedy_by_guessing,
    list_snapshots,
    open_snapshot,
    run_snapshot,
    trained_result,
)
from model.checkpoints.checkpoint import WEIGHTS, CheckpointError, find_snapshots, load_checkpoint
from model.inference.opening import open_translator
from model.inference.translate import translate
from tests.conftest import BUNDLED
from tests.foreign_folders import make_folder

TEXT = "Two dogs are playing in the snow."


def test_the_first_snapshot_has_a_high_loss_and_the_trained_model_a_low_one() -> None:
    checkpoint = load_checkpoint(BUNDLED / "multi30k-en-de")
    snapshots = find_snapshots(checkpoint.path)
    assert list(snapshots) == sorted(snapshots)
    trained = translate(checkpoint, TEXT)
    first = run_snapshot(open_snapshot(checkpoint, snapshots[0]), TEXT, trained)
    same = run_snapshot(open_snapshot(checkpoint, checkpoint.path / WEIGHTS), TEXT, trained)
    last = trained_result(trained)
    assert same.text == last.text == trained.text
    for kind, weights in trained.maps.items():
        np.testing.assert_allclose(same.maps[kind], weights, atol=1e-5)  # the same computation
        assert first.maps[kind].shape == weights.shape
    assert same.loss == pytest.approx(last.loss, abs=1e-4)
    assert first.loss > np.log(checkpoint.config.model.target_vocab_size) - 2  # hardly better than guessing
    assert last.loss < 1


@torch.inference_mode()
def test_the_loss_is_that_of_the_trained_models_words_under_the_earlier_weights() -> None:
    checkpoint = load_checkpoint(BUNDLED / "multi30k-en-de")
    path = list(find_snapshots(checkpoint.path).values())[2]
    trained = translate(checkpoint, TEXT)
    found = run_snapshot(open_snapshot(checkpoint, path), TEXT, trained)
    earlier = load_checkpoint(BUNDLED / "multi30k-en-de").model
    earlier.load_state_dict({name: tensor.float() for name, tensor in load_file(path).items()}, strict=False)
    source = torch.tensor([[token.id for token in trained.source]])
    read = torch.tensor([[token.id for token in trained.read]])
    written = torch.tensor([token.id for token in trained.written])
    log_probs = earlier(source, read)[0].log_softmax(dim=-1)  # all at once, without a cache
    expected = -log_probs[torch.arange(len(written)), written].mean()
    assert found.loss == pytest.approx(float(expected), abs=1e-4)


def test_the_loss_of_a_continuation_is_a_mean_over_the_tokens_after_the_prompt() -> None:
    checkpoint = open_translator(BUNDLED / "tiny-gpt-en")
    text = "The dog sees a ball."
    continued = translate(checkpoint, text)
    own = [np.log(token.probability) for token in continued.written[continued.prompt_length :]]
    assert 0 < len(own) < len(continued.written)
    for found in (trained_result(continued), run_snapshot(checkpoint, text, continued)):
        assert found.loss == pytest.approx(-np.mean(own), abs=1e-4)


def test_every_snapshot_writes_the_beginning_of_what_it_writes_when_nothing_is_forced() -> None:
    checkpoint = load_checkpoint(BUNDLED / "multi30k-en-de")
    trained = translate(checkpoint, TEXT)
    snapshots = [open_snapshot(checkpoint, path) for path in find_snapshots(checkpoint.path).values()]
    alone = [translate(snapshot, TEXT) for snapshot in snapshots]
    stages = [run_snapshot(snapshot, TEXT, trained) for snapshot in snapshots]
    longest = len(trained.written) + EXTRA_TOKENS
    for one, free in zip(stages, alone, strict=True):
        ids = [token.id for token in free.written[:longest]]
        ended = free.finished and len(free.written) <= longest
        assert one.finished == ended
        assert one.text == checkpoint.tokenizers.target.decode(ids[:-1] if ended else ids)
    assert {one.finished for one in stages} == {True, False}  # the untrained one would write far more
    same = [one.text == trained.text for one in stages]
    assert set(same) == {True, False}  # both ways to find what it writes


@pytest.mark.parametrize(("end", "ids"), [(9, [1, 2, *[3] * 28]), (3, [1, 2, 3])])
def test_a_repetition_takes_one_pass(end: int, ids: list[int]) -> None:
    asked: list[int] = []

    def choose(guess: Sequence[int], first: int) -> list[int]:
        asked.append(first)
        return [min(guess[position - 1] + 1, 3) for position in range(first, len(guess))]

    assert greedy_by_guessing(choose, [1, 5, 3, end], [1, 2, 3, 3], ends=(end,), limit=30) == ids
    assert asked == [2]  # the first guess has shown that a token follows itself


def test_a_text_that_fills_all_positions_can_be_followed() -> None:
    checkpoint = load_checkpoint(BUNDLED / "multi30k-en-de")
    text = "dog " * 200
    trained = translate(checkpoint, text)
    assert len(trained.written) == checkpoint.config.model.max_length
    assert not run_snapshot(open_snapshot(checkpoint, find_snapshots(checkpoint.path)[0]), text, trained).finished


def test_weights_of_another_model_are_refused(tmp_path: Path) -> None:
    checkpoint = load_checkpoint(BUNDLED / "multi30k-en-de")
    wrong = shutil.copy(BUNDLED / "imdb-sentiment" / "model.safetensors", tmp_path / "step-000001.safetensors")
    with pytest.raises(CheckpointError):
        open_snapshot(checkpoint, Path(wrong))


def test_other_files_are_not_listed_as_snapshots(tmp_path: Path) -> None:
    (tmp_path / "snapshots").mkdir()
    for name in ("step-000010.safetensors", "step-2.safetensors", "step-x.safetensors", "step-3.txt", ".step-4"):
        (tmp_path / "snapshots" / name).touch()
    assert list(find_snapshots(tmp_path)) == [2, 10]


def test_folders_named_checkpoint_and_a_number_are_snapshots(tmp_path: Path) -> None:
    for seed, step in enumerate((500, 1000)):
        make_folder(tmp_path / f"checkpoint-{step}", "bart", seed=seed)
    (tmp_path / "checkpoint-last").mkdir()
    found = list_snapshots(tmp_path / "checkpoint-1000")
    assert list(found) == [500, 1000]
    assert list_snapshots(tmp_path) == {}
    last = open_translator(found[1000])
    trained = translate(last, TEXT)
    same, other = (run_snapshot(open_snapshot(last, found[step]), TEXT, trained) for step in (1000, 500))
    assert same.loss == pytest.approx(trained_result(trained).loss, abs=1e-5)
    assert other.loss != pytest.approx(same.loss, abs=1e-2)
    assert other.maps["cross"].shape == trained.maps["cross"].shape
