import csv
import os
import shutil
import signal
import time
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from model.checkpoints.checkpoint import Checkpoint, CheckpointError, load_checkpoint
from model.cli.main import main
from model.config.section import ConfigError
from model.network.device import pick_device
from model.text.vocab import UNK_ID
from model.training.run_folder import Progress, average_epochs, load_state, save_epoch, save_state
from model.training.schedule import cooled_down, inverse_square_root
from model.training.train import train
from tests.conftest import PATIENCE, TOY_DATA, toy_recipe, toy_toml
from tests.copies import program, start


def history(folder: Path) -> list[dict[str, str]]:
    with (folder / "history.csv").open() as file:
        return list(csv.DictReader(file))


def assert_same_losses(found: Path, expected: Path) -> None:
    """The same steps and figures, except for the last digits of fp32: two runs may add in another order.

    Another order of the batches or of what is dropped moves a loss by 1e-3 and more.
    """
    ours, theirs = history(found), history(expected)
    assert [row["step"] for row in ours] == [row["step"] for row in theirs]
    for column, tolerance in (("train_loss", 2e-5), ("valid_loss", 2e-5), ("valid_bleu", 0.5)):
        assert [float(row[column]) for row in ours] == pytest.approx(
            [float(row[column]) for row in theirs], abs=tolerance
        )


def test_learning_rate_warms_up_and_decays_with_the_inverse_square_root() -> None:
    rates = [inverse_square_root(step, peak=1e-3, warmup_steps=100) for step in (1, 50, 100, 400, 10_000)]
    assert rates == pytest.approx([1e-5, 5e-4, 1e-3, 5e-4, 1e-4])


def test_the_learning_rate_falls_to_zero_in_the_last_steps() -> None:
    assert [cooled_down(step, last=10, cooldown_steps=4) for step in (1, 7, 8, 10, 12)] == [1, 1, 0.75, 0.25, 0.25]
    assert cooled_down(12, last=10, cooldown_steps=0) == 1


def test_the_toy_corpus_is_learned(toy: Checkpoint, toy_folder: Path) -> None:
    rows = history(toy_folder)
    assert float(rows[-1]["valid_loss"]) < 0.5 * float(rows[0]["valid_loss"])
    assert max(float(row["valid_bleu"]) for row in rows) > 80
    assert toy.config.figures["valid_bleu"] == max(float(row["valid_bleu"]) for row in rows)


# In the middle of an epoch, and in a later one.
@pytest.mark.parametrize(("kind", "steps"), [("words", 3), ("words", 9), ("bpe", 3)])
def test_a_resumed_run_has_the_losses_of_an_uninterrupted_run(
    tmp_path: Path, few_pairs: Path, kind: str, steps: int
) -> None:
    settings = {"dropout": 0.2, "batch_tokens": 40} | ({"bpe_dropout": 0.2} if kind == "bpe" else {})
    recipe = toy_recipe(kind, max_epochs=3).with_settings(settings)
    train(recipe, data_root=few_pairs, out=tmp_path / "straight", device="cpu")
    stopped = recipe.with_settings({"max_steps": steps})
    train(stopped, data_root=few_pairs, out=tmp_path / "resumed", device="cpu")
    train(recipe, data_root=few_pairs, out=tmp_path / "resumed", device="cpu", resume=True)
    assert_same_losses(tmp_path / "resumed", tmp_path / "straight")
    straight, resumed = (load_file(tmp_path / name / "model.safetensors") for name in ("straight", "resumed"))
    for name, tensor in straight.items():  # stored in half precision, with steps of 1e-3
        torch.testing.assert_close(resumed[name], tensor, rtol=2e-3, atol=2e-5)


def test_the_first_epochs_read_another_corpus(tmp_path: Path, few_pairs: Path) -> None:
    data = shutil.copytree(few_pairs, tmp_path / "data")
    (data / "other").mkdir()
    (data / "other" / "train.en").write_text("a heron swims .\n" * 30)
    (data / "other" / "train.de").write_text("ein Reiher schwimmt .\n" * 30)
    settings = {"pretrain_corpus": "other+toy", "pretrain_epochs": 2, "batch_tokens": 60}
    recipe = toy_recipe("words", max_epochs=3).with_settings(settings)
    plain = toy_recipe("words", max_epochs=1).with_settings({"batch_tokens": 60})
    train(recipe, data_root=data, out=tmp_path / "straight", device="cpu")
    train(plain, data_root=data, out=tmp_path / "plain", device="cpu")
    steps = [int(row["step"]) for row in history(tmp_path / "straight")]
    own = int(history(tmp_path / "plain")[0]["step"])
    assert steps[0] > own  # ten rows a batch: three batches more
    assert steps == [steps[0], 2 * steps[0], 2 * steps[0] + own]
    assert load_checkpoint(tmp_path / "straight").tokenizers.source.encode("heron").ids != (UNK_ID,)
    assert load_checkpoint(tmp_path / "plain").tokenizers.source.encode("heron").ids == (UNK_ID,)
    # A stopped run resumes with the right corpus.
    train(recipe.with_settings({"max_steps": steps[1]}), data_root=data, out=tmp_path / "resumed", device="cpu")
    train(recipe, data_root=data, out=tmp_path / "resumed", device="cpu", resume=True)
    assert_same_losses(tmp_path / "resumed", tmp_path / "straight")


def test_ctrl_c_saves_the_run_and_it_can_be_resumed(tmp_path: Path) -> None:
    recipe = tmp_path / "toy.toml"
    recipe.write_text(toy_toml(batch_tokens=256, max_epochs=10000, patience=10000))
    out = tmp_path / "out"
    command = ["train", str(recipe), "--data-dir", str(TOY_DATA), "--out", str(out)]
    process = start(program, command, said := tmp_path / "said")
    deadline = time.monotonic() + PATIENCE
    while not (out / "history.csv").exists():
        assert process.is_alive(), said.read_text()
        assert time.monotonic() < deadline
        time.sleep(0.02)
    os.kill(process.pid, signal.SIGINT)
    process.join(PATIENCE)
    assert process.exitcode == 0
    assert "Stopped at step" in said.read_text()
    load_checkpoint(out)
    epochs = len(history(out))
    assert main([*command, "--resume", "--set", f"max_epochs={epochs + 1}"]) == 0
    assert len(history(out)) == epochs + 1


def test_an_existing_run_is_not_overwritten_and_a_missing_run_is_refused(tmp_path: Path) -> None:
    recipe = toy_recipe("words", max_steps=2)
    with pytest.raises(ConfigError, match="no run to resume"):
        train(recipe, data_root=TOY_DATA, out=tmp_path / "out", device="cpu", resume=True)
    train(recipe, data_root=TOY_DATA, out=tmp_path / "out", device="cpu")
    with pytest.raises(ConfigError, match="holds a run already"):
        train(recipe, data_root=TOY_DATA, out=tmp_path / "out", device="cpu")
    shutil.rmtree(tmp_path / "out" / "training")
    before = {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()}
    with pytest.raises(ConfigError, match="holds a trained checkpoint already"):
        train(recipe, data_root=TOY_DATA, out=tmp_path / "out", device="cpu")
    assert {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()} == before


def test_a_folder_without_write_permission_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(CheckpointError, match="cannot be written"):
        train(toy_recipe("words"), data_root=TOY_DATA, out=tmp_path / "file" / "out", device="cpu")


def test_resuming_restores_the_fp16_loss_scale(tmp_path: Path) -> None:
    model = torch.nn.Linear(2, 2)
    optimizer = torch.optim.Adam(model.parameters())
    save_state(tmp_path / "s", model, optimizer, Progress(), scaler=torch.amp.GradScaler("cpu", init_scale=1024.0))
    fresh = torch.amp.GradScaler("cpu")
    load_state(tmp_path / "s", model, optimizer, scaler=fresh)
    assert fresh.get_scale() == 1024.0


def test_averaging_is_the_mean_of_the_latest_epochs(tmp_path: Path) -> None:
    for epoch, value in enumerate((50.0, 1.0, 2.0, 6.0)):
        save_epoch(tmp_path, {"a": torch.full((2, 3), value), "b": torch.full((4,), -value)}, epoch=epoch, keep=3)
    mean = average_epochs(tmp_path)
    assert mean["a"].eq(3.0).all()
    assert mean["b"].eq(-3.0).all()


def test_a_missing_device_is_refused() -> None:
    assert pick_device("cpu") == torch.device("cpu")
    missing = next(
        name
        for name in ("cuda", "mps")
        if not getattr(torch.backends, name).is_built()
        or not (torch.cuda.is_available() if name == "cuda" else torch.backends.mps.is_available())
    )
    with pytest.raises(ConfigError, match=f"no {missing}"):
        pick_device(missing)


def test_snapshots_are_kept_at_the_chosen_steps_and_at_the_end(tmp_path: Path) -> None:
    recipe = toy_recipe("words", max_epochs=2, snapshot_steps=[0, 3])
    train(recipe, data_root=TOY_DATA, out=tmp_path / "run", device="cpu")
    last = int(history(tmp_path / "run")[-1]["step"])
    names = sorted(path.name for path in (tmp_path / "run" / "snapshots").iterdir())
    assert names == [f"step-{step:06d}.safetensors" for step in (0, 3, last)]
    first, end = (load_file(tmp_path / "run" / "snapshots" / name) for name in (names[0], names[-1]))
    assert all(tensor.dtype == torch.float16 for tensor in first.values())
    assert first.keys() == load_file(tmp_path / "run" / "model.safetensors").keys()
    assert any(not torch.equal(first[name], end[name]) for name in first)


def test_tensorboard_has_the_numbers_of_the_history(tmp_path: Path) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    train(toy_recipe("words", max_epochs=2), data_root=TOY_DATA, out=tmp_path, device="cpu", tensorboard=True)
    events = EventAccumulator(str(tmp_path / "training" / "tensorboard"))
    events.Reload()
    logged = [(event.step, event.value) for event in events.Scalars("valid_loss")]
    expected = [(int(row["step"]), float(row["valid_loss"])) for row in history(tmp_path)]
    assert [step for step, _ in logged] == [step for step, _ in expected]
    assert [value for _, value in logged] == pytest.approx([value for _, value in expected])
