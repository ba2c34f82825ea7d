"""Folders and files that do not open: the sentence names the cause and the remedy."""

import argparse
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from torch import Tensor, nn

from model.checkpoints.checkpoint import CheckpointError, find_checkpoints
from model.inference.opening import open_checkpoint, read_any_config
from model.safety.folder_files import is_kept, unused_files
from model.safety.torch_files import read_state_dict

BERT = '{"model_type": "bert", "architectures": ["BertModel"], "num_hidden_layers": 1}'
UNKNOWN = {"layer.weight": torch.ones(2, 2)}  # of a layout that is not recognised


def make(folder: Path, *names: str) -> Path:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        if name.endswith(".safetensors"):
            save_file(UNKNOWN, folder / name)
        elif name.endswith((".pt", ".ckpt")):
            torch.save(UNKNOWN, folder / name)
        else:
            (folder / name).write_text(BERT if name.endswith("config.json") else "content")
    folder.mkdir(exist_ok=True)
    return folder


@pytest.mark.parametrize(
    ("names", "says"),
    [
        ((), "mine is empty"),
        (("notes.txt",), r"no config\.json, no headlight\.toml and no weights\. Choose the folder"),
        (("adapter_config.json", "adapter_model.safetensors"), r"LoRA adapter.*merge_and_unload\(\)"),
        (("adapter_config.json", "adapter_model.bin", "adapter_model.safetensors"), "holds a LoRA adapter"),
        (("config.json", "adapter_config.json", "adapter_model.bin"), r"LoRA adapter.*merge_and_unload\(\)"),
        (("model.Q4_K_M.gguf",), r'model\.Q4_K_M\.gguf is in the format GGUF.*gguf_file="model\.Q4_K_M\.gguf"'),
        (("config.json", "tf_model.h5"), r"tf_model\.h5 holds weights of TensorFlow.*from_tf=True"),
        (("config.json", "flax_model.msgpack"), r"flax_model\.msgpack holds weights of Flax.*from_flax=True"),
        (("onnx/model.onnx", "tokenizer.json"), r"model\.onnx is an ONNX graph.*model\.save_pretrained"),
        (("bert_model.ckpt.index",), "TensorFlow 1"),
        (("model.pt", "vocab.txt"), r"model\.pt, and no file that describes them.*headlight\.toml"),
        (("last.ckpt",), r"last\.ckpt, and no file that describes them"),
        (("model.safetensors",), r"model\.safetensors, and no config\.json"),
        (("all.zip",), r"archive all\.zip is inside it\. Unpack it"),
        (("config.json", "model.fp16.safetensors"), r"If model\.fp16\.safetensors holds the weights.*give it one"),
        (("config.json",), r"neither model\.safetensors nor pytorch_model\.bin"),
        (("a/config.json", "a/model.safetensors", "b/config.json", "b/model.safetensors"), r"several.*: a, b\. Choose"),
    ],
)
def test_a_folder_that_does_not_open_names_the_cause_and_the_remedy(
    tmp_path: Path, names: tuple[str, ...], says: str
) -> None:
    folder = make(tmp_path / "mine", *names)
    with pytest.raises(CheckpointError, match=says):
        open_checkpoint(folder)


def test_a_folder_that_does_not_exist_is_not_called_empty(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match=r"There is no folder .*nowhere"):
        read_any_config(tmp_path / "nowhere")


@pytest.mark.parametrize("name", ["model.safetensors", "tokenizer.json", "spiece.model"])
def test_a_pointer_of_git_lfs_is_recognised_in_any_file(tmp_path: Path, name: str) -> None:
    folder = make(tmp_path / "cloned", "config.json", "model.safetensors")
    (folder / name).write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n")
    with pytest.raises(CheckpointError, match=rf"{name} of cloned is not the file itself.*git lfs pull"):
        read_any_config(folder)


def test_an_index_names_the_part_that_is_missing(tmp_path: Path) -> None:
    folder = make(tmp_path / "parts", "config.json", "model-00001-of-00002.safetensors")
    weights = {"a": "model-00001-of-00002.safetensors", "b": "model-00002-of-00002.safetensors"}
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": weights}))
    with pytest.raises(CheckpointError, match=r"not in the folder: model-00002-of-00002\.safetensors\. Copy"):
        open_checkpoint(folder)


def test_folders_that_look_like_checkpoints_are_listed_also_where_they_do_not_open(tmp_path: Path) -> None:
    make(tmp_path / "outer" / "final_model", "config.json", "model.safetensors")
    make(tmp_path / "lora", "adapter_config.json", "adapter_model.safetensors")
    make(tmp_path / "photos", "a.jpg")
    assert find_checkpoints([tmp_path]) == {
        "final_model": tmp_path / "outer" / "final_model",
        "lora": tmp_path / "lora",
    }


def test_what_nothing_reads_is_named_and_what_something_reads_is_kept(tmp_path: Path) -> None:
    used = ("config.json", "tokenizer.json", "chat_template.jinja", "bpe.codes", "history.csv", "README.md")
    parts = ("pytorch_model-00001-of-00002.bin", "pytorch_model-00002-of-00002.bin")
    surplus = ("modeling.py", "optimizer.pt", "pytorch_model.bin", "scheduler.pt", "tf_model.h5", "training_args.bin")
    folder = make(tmp_path / "mine", *used, *parts, *surplus, "runs/events.out", "snapshots/step-1.safetensors")
    make(folder, ".gitattributes", ".git/config", "atlas/atlas.json", "atlas/heads.parquet")
    assert unused_files(folder, parts) == (*sorted([*surplus, "runs/events.out"]),)
    assert all(is_kept(name) for name in (*used, *parts))


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(2, 2)


class Settings:
    """Of a training run."""


class Bomb:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.mkdir, ("exploded",)


WEIGHTS: dict[str, Tensor] = Net().state_dict()


@pytest.mark.parametrize("how", [{}, {"_use_new_zipfile_serialization": False}, {"pickle_protocol": 4}])
@pytest.mark.parametrize(
    ("saved", "says"),
    [
        (Net(), r"a whole model \(.*Net\).*torch\.save\(model\.state_dict\(\), \"weights\.pt\"\)"),
        ({"model": Net(), "epoch": 3}, r"a whole model \(.*Net\)"),
        ({"model": WEIGHTS, "args": argparse.Namespace(lr=1)}, r'a Namespace beside .*False\)\["model"\]'),
        ({"state_dict": WEIGHTS, "loss": np.float64(2)}, r'numbers of numpy beside .*False\)\["state_dict"\]'),
        ({"model_state_dict": WEIGHTS, "config": Settings()}, r'Settings beside .*False\)\["model_state_dict"\]'),
        ({"model": WEIGHTS, "args": Bomb()}, r"more than tensors\. No code in it was run\. Get it again"),
    ],
)
def test_a_file_with_more_than_tensors_names_it_and_the_call_that_saves_the_weights(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, saved: object, says: str, how: dict[str, Any]
) -> None:
    monkeypatch.chdir(tmp_path)
    torch.save(saved, "model.pt", **how)
    with pytest.raises(CheckpointError, match=says):
        read_state_dict(Path("model.pt"))
    assert not Path("exploded").exists()


@pytest.mark.filterwarnings("ignore:.*deprecated:DeprecationWarning")
def test_other_programs_of_pytorch_are_named(tmp_path: Path) -> None:
    torch.save(WEIGHTS, tmp_path / "newer.pt", pickle_protocol=4)
    with pytest.raises(CheckpointError, match="newer pickle protocol"):
        read_state_dict(tmp_path / "newer.pt")
    torch.jit.trace(nn.Linear(2, 2), torch.ones(2)).save(str(tmp_path / "script.pt"))
    with pytest.raises(CheckpointError, match=r"TorchScript.*torch\.jit\.load\(\"script\.pt\"\)\.state_dict\(\)"):
        read_state_dict(tmp_path / "script.pt")
