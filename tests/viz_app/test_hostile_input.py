"""Hostile input ends in a sentence soon, and another visitor of the same process hardly notices."""

import json
import shutil
import sys
import threading
import time
import zipfile
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest
import torch

from model.checkpoint import CheckpointError
from model.opening import open_checkpoint
from tests.foreign_folders import make_folder
from viz_app import choices
from viz_app.plain import card

# Seconds of processor time, which other programs on a busy machine do not lengthen.
SECONDS = 2.0  # until the sentence
LONGEST = 0.5  # that others take during one piece of a visitor's work; what holds the interpreter stops the visitor


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


def taken_by_others() -> float:
    """Seconds of processor time that all other threads of this process have had, seen from the thread that asks."""
    return time.process_time() - time.thread_time()


def effect_of(hostile: Callable[[], object]) -> tuple[float, float]:
    """Beside a visitor who works: seconds that others took during the visitor's longest piece, and in all."""
    working, ended = threading.Event(), threading.Event()
    times: list[float] = []

    def visit() -> None:
        times.append(taken_by_others())
        last = False
        while not last:
            last = ended.is_set()  # one piece more shows who stopped the visitor between two pieces
            piece_of_work()
            times.append(taken_by_others())
            working.set()

    visitor = threading.Thread(target=visit)
    visitor.start()
    assert working.wait(60)
    try:
        hostile()
    finally:
        ended.set()
        visitor.join()
    return max(after - before for before, after in pairwise(times)), times[-1] - times[0]


def hold_the_interpreter(seconds: float) -> None:
    usual, end = sys.getswitchinterval(), time.thread_time() + seconds
    sys.setswitchinterval(60.0)  # no other thread of Python gets its turn
    try:
        while time.thread_time() < end:
            pass
    finally:
        sys.setswitchinterval(usual)


def work_beside(seconds: float) -> None:
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        piece_of_work()


def test_who_holds_the_interpreter_stops_the_visitor_and_who_works_beside_does_not() -> None:
    longest, total = effect_of(lambda: hold_the_interpreter(1.2 * LONGEST))
    assert longest > LONGEST
    assert total > LONGEST
    longest, total = effect_of(lambda: work_beside(1.2 * LONGEST))
    assert longest < LONGEST
    assert total > LONGEST


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

    longest, seconds = effect_of(attempt)
    assert longest < LONGEST
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
    longest, seconds = effect_of(use)
    assert longest < LONGEST
    assert seconds < SECONDS
