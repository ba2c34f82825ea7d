import json
import pickle
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from model.checkpoints.checkpoint import (
    Checkpoint,
    CheckpointError,
    checkpoint_name,
    find_checkpoints,
    load_checkpoint,
)
from model.files import remove_leftovers, save_weights


@pytest.fixture
def folder(toy_folder: Path, tmp_path: Path) -> Path:
    """A copy to break."""
    return shutil.copytree(toy_folder, tmp_path / "copy", ignore=shutil.ignore_patterns("training"))


def test_weights_come_back_in_half_precision(toy: Checkpoint, toy_folder: Path) -> None:
    stored = load_file(toy_folder / "model.safetensors")
    for name, parameter in toy.model.named_parameters():
        assert stored[name].dtype == torch.float16
        assert parameter.dtype == torch.float32
        assert torch.equal(parameter.half(), stored[name])
    assert not toy.model.training


def change_config(folder: Path, section: str, name: str, value: object) -> None:
    config = json.loads((folder / "config.json").read_text())
    config[section][name] = value
    (folder / "config.json").write_text(json.dumps(config))


def replace_weights(folder: Path, change: Callable[[dict[str, torch.Tensor]], None]) -> None:
    weights = load_file(folder / "model.safetensors")
    change(weights)
    save_file(weights, folder / "model.safetensors")


def truncate(folder: Path) -> None:
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


class Bomb:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return exec, ("raise SystemExit('code was executed')",)


BREAKS: dict[str, tuple[Callable[[Path], object], str]] = {
    "truncated": (truncate, "model.safetensors of copy is damaged"),
    "empty": (lambda f: (f / "model.safetensors").write_bytes(b""), "is damaged or not a safetensors file"),
    "pickle": (lambda f: (f / "model.safetensors").write_bytes(pickle.dumps(Bomb())), "not a safetensors file"),
    "no weights": (lambda f: (f / "model.safetensors").unlink(), "has no model.safetensors yet"),
    "foreign": (lambda f: save_file({"x": torch.zeros(1)}, f / "model.safetensors"), "made for another configuration"),
    "extra tensor": (
        lambda f: replace_weights(f, lambda w: w.update(extra=torch.zeros(2))),
        "has the unknown tensor extra",
    ),
    "wrong shape": (
        lambda f: replace_weights(f, lambda w: w.update({"encoder.layers.0.feed_forward.expand.bias": torch.zeros(3)})),
        r"expand\.bias .* has shape \(3,\), but config\.json requires \(128,\)",
    ),
    "no config": (lambda f: (f / "config.json").unlink(), "has no config.json"),
    "config is text": (lambda f: (f / "config.json").write_text("hello"), "config.json of copy cannot be used"),
    "config is a list": (lambda f: (f / "config.json").write_text("[]"), "not a JSON object"),
    "future format": (lambda f: (f / "config.json").write_text('{"format": 99}'), "format is 99"),
    "task is a list": (
        lambda f: (f / "config.json").write_text(
            json.dumps(json.loads((f / "config.json").read_text()) | {"task": []})
        ),
        r"task is \[\]",
    ),
    "deep nesting": (lambda f: (f / "config.json").write_text("[" * 100_000), "nested too deeply"),
    "deep, but not too deep for the library": (
        lambda f: (f / "config.json").write_text("[" * 500 + "]" * 500),
        "nested too deeply",
    ),
    "long": (lambda f: (f / "config.json").write_text(" " * 2_000_000), "config.json is larger than 1 MB"),
    "very wide": (lambda f: change_config(f, "model", "d_model", 10**10), r"d_model is 10,000,000,000\. The largest"),
    "very wide layers": (lambda f: change_config(f, "model", "d_ff", 10**9), "describes .* weights, but its files"),
    "bad heads": (
        lambda f: change_config(f, "model", "num_heads", 7),
        r"d_model \(64\) must be divisible by num_heads \(7\)",
    ),
    "other layers": (lambda f: change_config(f, "model", "num_decoder_layers", 2), "made for another configuration"),
    "other vocabulary": (
        lambda f: [change_config(f, "model", f"{side}_vocab_size", 99) for side in ("source", "target")],
        "source_vocab_size is 99",
    ),
    "broken tokenizer": (
        lambda f: [path.write_text("{") for path in f.glob("*tokenizer.json")],
        "tokenizer.json in copy is not a",
    ),
}


@pytest.mark.parametrize("kind", BREAKS)
def test_every_broken_checkpoint_gets_a_message(folder: Path, kind: str) -> None:
    break_it, message = BREAKS[kind]
    break_it(folder)
    with pytest.raises(CheckpointError, match=message):
        load_checkpoint(folder)


def test_weights_that_are_not_finite_are_refused_and_the_old_ones_kept(folder: Path) -> None:
    before = (folder / "model.safetensors").read_bytes()
    weights = load_file(folder / "model.safetensors")
    next(iter(weights.values())).view(-1)[0] = float("nan")
    with pytest.raises(CheckpointError, match="not finite"):
        save_weights(folder / "model.safetensors", weights)
    assert (folder / "model.safetensors").read_bytes() == before


def test_only_our_own_leftover_files_are_removed(tmp_path: Path) -> None:
    ours = [".model.safetensors.4711.part", ".config.json.12.part", ".step-000010.safetensors.3.part"]
    theirs = [".tmp", ".tmpAb12Cd", ".video.mp4.part", ".notes.json.part", "model.safetensors.1.part", "deep/.tmp1"]
    theirs += [f"deep/{ours[0]}"]
    (tmp_path / "deep").mkdir()
    (tmp_path / ".history.csv.5.part").mkdir()
    for name in ours + theirs:
        (tmp_path / name).write_text("x")
    remove_leftovers(tmp_path)
    assert not any((tmp_path / name).exists() for name in ours)
    assert all((tmp_path / name).read_text() == "x" for name in theirs)
    assert (tmp_path / ".history.csv.5.part").is_dir()


def test_checkpoints_are_found_by_name_and_the_first_folder_wins(folder: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    shutil.copytree(folder, other / "copy")
    shutil.copytree(folder, other / "second")
    (tmp_path / "not-a-checkpoint").mkdir()
    assert find_checkpoints([tmp_path, other]) == {"copy": folder, "second": other / "second"}
    assert find_checkpoints([tmp_path / "nowhere"]) == {}


def test_a_configuration_that_claims_too_much_is_refused_before_it_is_built(
    toys: Callable[[str], Path], tmp_path: Path
) -> None:
    for number, values in enumerate(
        ({"d_model": 2**17}, {"num_encoder_layers": 10**9}, {"max_length": 10**9}, {"d_ff": 10**9})
    ):
        folder = tmp_path / str(number)
        shutil.copytree(toys("bpe"), folder)
        config = json.loads((folder / "config.json").read_text())
        config["model"] |= values
        (folder / "config.json").write_text(json.dumps(config))
        with pytest.raises(CheckpointError):
            load_checkpoint(folder)


@pytest.mark.parametrize(
    ("folder", "name"),
    [
        ("runs/first", "first"),
        ("packages/some_bert/model", "some_bert"),
        ("models--org--name/snapshots/0123", "org/name"),
    ],
)
def test_a_checkpoint_has_the_name_of_its_folder_or_of_the_one_above_where_that_says_more(
    folder: str, name: str
) -> None:
    assert checkpoint_name(Path(folder)) == name
