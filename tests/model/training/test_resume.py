"""A run resumes where it stopped, with its own recipe, state and folder, or the error names the reason."""

import shutil
from pathlib import Path

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import save_file

from model.config.recipe import load_recipe
from model.config.section import ConfigError
from model.training.run_folder import RunFolder
from model.training.train import train
from tests.conftest import TOY_DATA, toy_recipe


@pytest.fixture(scope="module")
def short_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of two steps, to be resumed; never changed."""
    out = tmp_path_factory.mktemp("short") / "out"
    train(toy_recipe("words", max_steps=2), data_root=TOY_DATA, out=out, device="cpu")
    return out


def contents(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    ("setting", "value", "message"),
    [
        ("norm", "pre", r"model\.norm was 'post' and is now 'pre'"),
        ("num_heads", 2, r"model\.num_heads was 4 and is now 2"),
        ("activation", "gelu", r"model\.activation was 'relu' and is now 'gelu'"),
        ("positional", "sinusoidal", r"model\.positional was 'learned' and is now 'sinusoidal'"),
        ("d_ff", 96, r"model\.d_ff was 128 and is now 96"),
        ("kind", "bpe", r"tokenizer\.kind was 'words' and is now 'bpe'"),
        ("corpus", "toy+toy", r"train\.corpus was 'toy' and is now 'toy\+toy'"),
        ("seed", 7, r"train\.seed was 1 and is now 7"),
    ],
)
def test_a_run_resumes_only_with_its_own_recipe(short_run: Path, setting: str, value: object, message: str) -> None:
    # Weights of the same shapes would be taken over, and the checkpoint would say that it is what it is not.
    settings = {setting: value, "lowercase": False} if value == "bpe" else {setting: value}
    other, before = toy_recipe("words").with_settings(settings), contents(short_run)
    with pytest.raises(ConfigError, match=message):
        train(other, data_root=TOY_DATA, out=short_run, device="cpu", resume=True)
    assert contents(short_run) == before


def test_a_run_of_a_translator_cannot_resume_as_a_classifier(short_run: Path) -> None:
    with pytest.raises(ConfigError, match="is a translation, but this recipe is a classification"):
        train(load_recipe("imdb-sentiment"), data_root=TOY_DATA, out=short_run, device="cpu", resume=True)


def test_a_damaged_state_or_a_state_with_extra_tensors_is_refused(short_run: Path, tmp_path: Path) -> None:
    out = shutil.copytree(short_run, tmp_path / "out")
    state = out / "training" / "state.safetensors"
    with safe_open(state, framework="pt") as file:
        tensors, metadata = {name: file.get_tensor(name) for name in file.offset_keys()}, file.metadata()
    surplus = "model.encoder.layers.9.weight"
    save_file(tensors | {surplus: torch.zeros(2)}, state, metadata=metadata)
    with pytest.raises(ConfigError, match=f"{surplus}, which this recipe does not have"):
        train(toy_recipe("words"), data_root=TOY_DATA, out=out, device="cpu", resume=True)
    save_file({name: tensors[name] for name in tensors if "exp_avg_sq" not in name}, state, metadata=metadata)
    with pytest.raises(ConfigError, match="does not fit this recipe, or it is damaged: 'adam"):
        train(toy_recipe("words"), data_root=TOY_DATA, out=out, device="cpu", resume=True)
    state.write_bytes(b"half a file")
    with pytest.raises(ConfigError, match="damaged"):
        train(toy_recipe("words"), data_root=TOY_DATA, out=out, device="cpu", resume=True)


def test_two_runs_cannot_write_into_one_folder(short_run: Path, tmp_path: Path) -> None:
    out = shutil.copytree(short_run, tmp_path / "out")
    with RunFolder(out).locked():
        before = contents(out)
        with pytest.raises(ConfigError, match="Another run is writing into"):
            train(toy_recipe("words", max_steps=3), data_root=TOY_DATA, out=out, device="cpu", resume=True)
        assert contents(out) == before
    train(toy_recipe("words", max_steps=3), data_root=TOY_DATA, out=out, device="cpu", resume=True)
