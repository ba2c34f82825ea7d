from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from model.checkpoints.checkpoint import CheckpointError, load_checkpoint
from model.cli.main import main
from model.config.section import ConfigError
from model.training.train import train
from tests.conftest import TOY_DATA, toy_recipe, toy_toml


def test_a_run_starts_from_the_weights_and_tokenizer_of_a_checkpoint(toy_folder: Path, tmp_path: Path) -> None:
    kind = toy_folder.name.removeprefix("toy-")
    recipe = toy_recipe(kind, max_steps=1, max_epochs=1, learning_rate=1e-9, seed=7).with_settings({"dropout": 0.3})
    train(recipe, data_root=TOY_DATA, out=tmp_path / "on", device="cpu", init=toy_folder)
    before, after = (load_file(folder / "model.safetensors") for folder in (toy_folder, tmp_path / "on"))
    # A step of this size moves a weight by 1e-9 at most, half precision by less than a thousandth.
    assert all(torch.allclose(before[name].float(), after[name].float(), rtol=1e-3, atol=1e-6) for name in before)
    assert load_checkpoint(tmp_path / "on").config.model.dropout == 0.3, "the dropout may differ"
    for name in load_checkpoint(toy_folder).tokenizers.files():
        assert (tmp_path / "on" / name).read_text() == (toy_folder / name).read_text()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"d_model": 32}, "d_model is 64 there and 32 here"),
        ({"d_ff": 64, "num_encoder_layers": 3}, "d_ff is 128 there and 64 here; num_encoder_layers is 2 there and 3"),
        ({"norm": "pre"}, "norm is 'post' there and 'pre' here"),
        ({"target_language": "zh"}, "target_language is 'de' there and 'zh' here"),
    ],
)
def test_sizes_that_differ_are_named_and_nothing_is_written(
    toy_folder: Path, tmp_path: Path, settings: dict[str, object], message: str
) -> None:
    recipe = toy_recipe(toy_folder.name.removeprefix("toy-")).with_settings(settings)
    with pytest.raises(ConfigError, match=message):
        train(recipe, data_root=TOY_DATA, out=tmp_path / "new", device="cpu", init=toy_folder)
    assert not (tmp_path / "new").exists()


def test_a_shared_vocabulary_allows_a_start_from_the_other_direction(toy_folder: Path, tmp_path: Path) -> None:
    recipe = toy_recipe(toy_folder.name.removeprefix("toy-"), max_steps=1)
    turned = recipe.with_settings({"source_language": "de", "target_language": "en"})
    if load_checkpoint(toy_folder).tokenizers.joint:
        train(turned, data_root=TOY_DATA, out=tmp_path / "turned", device="cpu", init=toy_folder)
        assert load_checkpoint(tmp_path / "turned").config.tokenizer.source_language == "de"
    else:
        with pytest.raises(ConfigError, match="source_language is 'en' there and 'de' here"):
            train(turned, data_root=TOY_DATA, out=tmp_path / "turned", device="cpu", init=toy_folder)


def test_a_folder_that_is_not_a_checkpoint_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(CheckpointError, match="so it is not a checkpoint"):
        train(toy_recipe(), data_root=TOY_DATA, out=tmp_path / "new", device="cpu", init=tmp_path)
    (tmp_path / "toy.toml").write_text(toy_toml())
    assert main(["train", str(tmp_path / "toy.toml"), "--init", "nowhere", "--out", str(tmp_path / "new")]) == 1
    assert "There is no checkpoint 'nowhere'" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["train", "multi30k-en-de", "--init", "a", "--resume"])
    assert "not allowed with argument" in capsys.readouterr().err
