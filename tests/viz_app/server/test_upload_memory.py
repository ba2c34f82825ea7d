"""Files in memory have a common limit, and files on the disk are removed with their server."""

import fcntl
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest
from starlette.exceptions import HTTPException
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.uploaded_file_manager import UploadedFileRec

from tests.conftest import PATIENCE, ROOT
from viz_app.server import presence, temporary, uploads

QUARTER = 25 << 20  # of what one visitor may send


def test_the_files_of_a_visitor_and_of_all_are_bounded_in_sum() -> None:
    store, data = MemoryUploadedFileManager("/upload"), bytes(QUARTER)

    def send(visitor: str, number: int) -> None:
        store.add_file(visitor, UploadedFileRec(file_id=str(number), name="a.bin", type="", data=data))

    uploads.bounded(store)
    uploads.bounded(store)  # every page calls it
    for visitor in ("anna", "ben", "carl", "dora"):
        for number in range(4):
            send(visitor, number)
        with pytest.raises(HTTPException, match="413"):
            send(visitor, 4)
    with pytest.raises(HTTPException, match="413"):
        send("emil", 0)
    store.remove_session_files("anna")
    send("emil", 0)
    assert sum(map(len, store.file_storage.values())) == 13


def test_the_tabs_of_one_browser_share_one_limit_and_a_reload_frees_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    store, anna, connected = MemoryUploadedFileManager("/upload"), presence.Visitor(), {"one": 1, "two": 1, "ben": 1}
    monkeypatch.setattr(presence, "connection_of", connected.get)
    monkeypatch.setitem(presence.VISITORS, b"the secret of Anna", anna)
    for session in ("one", "two", "three"):
        anna.seen(session)

    def send(session: str, number: int) -> None:
        store.add_file(session, UploadedFileRec(file_id=str(number), name="a.bin", type="", data=bytes(QUARTER)))

    uploads.bounded(store)
    for number in range(4):
        send(("one", "two")[number % 2], number)
    for session in ("one", "two", "three"):
        with pytest.raises(HTTPException, match="413"):
            send(session, 4)
    send("ben", 0)
    del connected["one"]  # the page is loaded again, in a new session
    connected["three"] = 1
    send("three", 4)
    assert {session: len(those) for session, those in store.file_storage.items() if those} == {
        "two": 2,
        "three": 1,
        "ben": 1,
    }


class Leaving:
    """A file: while somebody looks at its size, another visitor leaves."""

    file_id = "0"

    def __init__(self, store: MemoryUploadedFileManager) -> None:
        self.store = store

    @property
    def data(self) -> bytes:
        self.store.remove_session_files("ben")
        return b""


def test_a_visitor_may_leave_while_the_files_are_counted() -> None:
    store, last = MemoryUploadedFileManager("/upload"), UploadedFileRec(file_id="1", name="a.bin", type="", data=b"1")
    store.file_storage["anna"]["0"] = Leaving(store)  # type: ignore[assignment]
    store.file_storage["ben"]["0"] = last
    uploads.bounded(store)
    store.add_file("carl", last)
    assert set(store.file_storage) == {"anna", "carl"}


@pytest.fixture
def server() -> Iterator["subprocess.Popen[str]"]:
    """A process that has written an upload, and waits."""
    code = "from viz_app.server.temporary import new_folder; print(new_folder(), flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", code], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        yield process
        process.kill()


def test_only_the_leftovers_of_a_killed_server_are_removed(server: "subprocess.Popen[str]") -> None:
    assert server.stdout
    folder = Path(server.stdout.readline().strip())
    assert folder.is_relative_to(tempfile.gettempdir())
    temporary.remove_leftovers()
    assert folder.is_dir()  # its server lives
    server.send_signal(signal.SIGKILL)
    server.wait(PATIENCE)
    temporary.remove_leftovers()
    assert not list(folder.parent.parent.glob(f"{folder.parent.name}*"))


def test_the_leftovers_of_a_server_killed_at_its_start_are_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed before it made its folder, and before it locked its file."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    temporary.locked_file().close()
    temporary.remove_leftovers()
    assert list(tmp_path.iterdir()) == []


def test_a_file_removed_as_a_leftover_before_its_lock_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    lock, early = fcntl.flock, [temporary.remove_leftovers]

    def flock(file: Any, how: int) -> None:
        if early:
            early.pop()()  # another server looks just now
        lock(file, how)

    monkeypatch.setattr(temporary.fcntl, "flock", flock)
    with temporary.locked_file() as file:
        temporary.remove_leftovers()
        assert [str(path) for path in tmp_path.iterdir()] == [file.name]


@pytest.mark.parametrize("lost", ["folder", "file"])
def test_a_server_continues_when_another_program_removes_its_folder_or_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lost: str
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(temporary, "home", cache(temporary.home.__wrapped__))
    ends = list[Callable[[], None]]()
    monkeypatch.setattr(temporary.atexit, "register", lambda *entry: ends.append(partial(*entry)))
    before = temporary.new_folder()
    home, file = temporary.home()
    if lost == "folder":
        shutil.rmtree(home)
    else:
        Path(file.name).unlink()
    after = temporary.new_folder()
    assert after.is_dir()
    assert after.parent != home
    assert before.exists() == (lost == "file")  # somebody may still use it
    assert temporary.new_folder().parent == after.parent
    for end in ends:
        end()
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_still_open_on_windows_does_not_fail_the_end_of_a_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unlink(path: Path, missing_ok: bool = False) -> None:
        raise PermissionError(13, "The process cannot access the file", str(path))

    monkeypatch.setattr(Path, "unlink", unlink)
    temporary.remove(tmp_path / f"{temporary.PREFIX}x{temporary.ALIVE}")


def test_a_server_that_ends_removes_its_folder(server: "subprocess.Popen[str]") -> None:
    assert server.stdout
    folder = Path(server.stdout.readline().strip())
    server.communicate("\n", timeout=PATIENCE)
    assert not list(folder.parent.parent.glob(f"{folder.parent.name}*"))
