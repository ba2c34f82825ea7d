"""What all commands share with the console."""

import io
import os
from pathlib import Path

import pytest

from model.checkpoints.checkpoint import checkpoint_name
from model.cli.main import COMMANDS, main, run_in_console
from model.files import CheckpointError, replace_file


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "latin-1"])
def test_a_console_without_a_character_shows_its_number(encoding: str, monkeypatch: pytest.MonkeyPatch) -> None:
    console = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    monkeypatch.setattr("sys.stdout", console)
    monkeypatch.setattr("sys.stderr", console)
    for command in COMMANDS:
        with pytest.raises(SystemExit, match="0"):
            main([command, "--help"])
    assert main(["translate", "车站", "Hello"]) == 1  # the error names the checkpoint
    assert run_in_console([], lambda: console.writelines(["车站\n"])) == 0
    shown = console.buffer.getvalue().decode(encoding)  # type: ignore[attr-defined]
    assert shown.endswith("\\u8f66\\u7ad9\n")
    assert "There is no checkpoint '\\u8f66\\u7ad9'" in shown


def test_bytes_that_are_not_utf_8_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["translate", "everyday-de-en", os.fsdecode(b"M\xe4dchen")]) == 1
    assert "is not UTF-8: byte 0xe4" in capsys.readouterr().err


def test_the_help_ends_at_a_closed_pipe_and_a_command_at_ctrl_c(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def stop() -> None:
        raise KeyboardInterrupt

    assert run_in_console([], stop) == 130
    reading, writing = os.pipe()
    os.close(reading)
    with open(writing, "w", encoding="utf-8") as closed:
        monkeypatch.setattr("sys.stdout", closed)
        assert main(["--help"]) == 141
    assert capsys.readouterr().err == ""


def test_a_file_that_cannot_be_written_is_kept_only_if_there_was_one(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match=r"there is no folder .*missing\. Create it") as error:
        replace_file(tmp_path / "missing" / "maps.npz", "")
    assert "kept" not in str(error.value)
    (tmp_path / "maps.npz").mkdir()
    with pytest.raises(CheckpointError, match="earlier file is kept"):
        replace_file(tmp_path / "maps.npz", "")


def test_the_folder_of_the_console_has_its_own_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my-model").mkdir()
    monkeypatch.chdir(tmp_path / "my-model")
    assert checkpoint_name(Path()) == "my-model"
