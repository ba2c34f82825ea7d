"""Hostile input ends in a sentence soon, and another visitor of the same process hardly notices."""

import json
import shutil
import threading
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from model.checkpoint import CheckpointError
from model.opening import open_checkpoint
from tests.foreign_folders import make_folder
from viz_app import choices
from viz_app.plain import card

SECONDS = 2.0  # until the sentence
SLOWER = 20.0  # times as long may a short piece of work take meanwhile; a search that runs away stops all others
PIECES = 200


def unpacks_to_gigabytes(folder: Path) -> None:
    torch.save({"weight": torch.zeros(1000, 1000)}, folder / "whole.pt")
    with zipfile.ZipFile(folder / "whole.pt") as whole:
        members = {name: whole.read(name) for name in whole.namelist()}
    (folder / "model.safetensors").unlink()
    with zipfile.ZipFile(folder / "pytorch_model.bin", "w", zipfile.ZIP_DEFLATED) as packed:
        for name, content in members.items():
            packed.writestr(name, content)


def multiplies(folder: Path) -> None:
    grows = {"type": "Replace", "pattern": {"String": "a"}, "content": "aaaaaaaaaa"}
    change(folder / "tokenizer.json", normalizer={"type": "Sequence", "normalizers": [grows] * 6})


def runs_away(folder: Path) -> None:
    cuts = {"type": "Split", "pattern": {"Regex": "(a+)+$"}, "behavior": "Isolated", "invert": False}
    change(folder / "tokenizer.json", pre_tokenizer=cuts)


def is_made_of_lists(folder: Path) -> None:
    (folder / "config.json").write_text(json.dumps({"format": 1, "task": [], "model": [[]]}))


def is_nested(folder: Path) -> None:
    (folder / "config.json").write_text("[" * 500_000)


def change(path: Path, **values: object) -> None:
    path.write_text(json.dumps(json.loads(path.read_text()) | values))


def piece_of_work() -> None:
    """What a page does all the time: a little Python, a little arithmetic."""
    json.dumps(list(range(2000)))
    torch.ones(64, 64) @ torch.ones(64, 64)


def seconds_a_piece(pieces: int) -> float:
    began = time.perf_counter()
    for _ in range(pieces):
        piece_of_work()
    return (time.perf_counter() - began) / pieces


def slowed_by(hostile: Callable[[], object]) -> tuple[float, float]:
    """How much longer a piece of another visitor's work takes meanwhile, and seconds of processor time of it all."""
    undisturbed = seconds_a_piece(PIECES)
    ended, pieces = threading.Event(), 0

    def visit() -> None:
        nonlocal pieces
        while not ended.is_set() or pieces == 0:
            piece_of_work()
            pieces += 1

    visitor = threading.Thread(target=visit)
    began, processor = time.perf_counter(), time.process_time()
    visitor.start()
    try:
        hostile()
    finally:
        ended.set()
        visitor.join()
    return (time.perf_counter() - began) / pieces / undisturbed, time.process_time() - processor


@pytest.fixture(scope="module")
def harmless(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that opens; what the library imports at the first one is no matter of this test."""
    folder = make_folder(tmp_path_factory.mktemp("harmless") / "gpt2", "gpt2")
    open_checkpoint(folder)
    return folder


@pytest.mark.parametrize("spoil", [unpacks_to_gigabytes, multiplies, runs_away, is_made_of_lists, is_nested])
def test_a_hostile_folder_gets_a_sentence_soon_and_stops_nobody(
    harmless: Path, tmp_path: Path, spoil: Callable[[Path], None]
) -> None:
    folder = shutil.copytree(harmless, tmp_path / "hostile")
    spoil(folder)

    def attempt() -> None:
        with pytest.raises(CheckpointError) as error:
            open_checkpoint(folder, most_bytes=100_000_000)
        assert "hostile" in str(error.value) or "pytorch_model.bin" in str(error.value)

    ratio, seconds = slowed_by(attempt)
    assert ratio < SLOWER
    assert seconds < SECONDS


@pytest.mark.parametrize(
    "use",
    [
        lambda: card("\n" * 50_000 + "~" * 50_000 + "`"),
        lambda: choices.intervention("off.cross.1." + "1-" * 50_000),
        lambda: choices.forced("1." * 50_000),
        lambda: choices.fraction("9" * 100_000),
    ],
    ids=["a card of newlines", "an intervention", "forced words", "a number"],
)
def test_a_hostile_card_or_link_stops_nobody(use: Callable[[], object]) -> None:
    ratio, seconds = slowed_by(use)
    assert ratio < SLOWER
    assert seconds < SECONDS
