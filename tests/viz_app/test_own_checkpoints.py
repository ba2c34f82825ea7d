"""What visitors bring belongs to their browser; who may name a folder of the machine: nobody from elsewhere."""

import gc
import shutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
from streamlit.testing.v1 import AppTest

from model.checkpoint import CheckpointError
from tests.conftest import BUNDLED
from tests.viz_app.conftest import NAME, head_map
from viz_app import own_checkpoints, presence
from viz_app.own_checkpoints import MOST, OWN, Own, Upload
from viz_app.presence import Visitor
from viz_app.uploads import Room

SIZE = 10_000  # bytes of the weights of a small folder


@pytest.mark.parametrize(
    ("listens", "asked", "processes", "alone"),
    [
        ("localhost", "localhost:8501", None, True),
        ("127.0.0.1", "127.0.0.1:8501", None, True),
        ("::1", "[::1]:8501", None, True),
        ("localhost", None, None, True),
        ("localhost", "headlight.example.org", None, False),  # a host, or somebody's nginx
        ("localhost", "localhost.example.org:8501", None, False),
        ("localhost", "localhost:8501", "4", False),
        ("0.0.0.0", "localhost:8501", None, False),
        (None, "localhost:8501", None, False),
    ],
)
def test_folders_are_for_who_sits_at_the_machine(
    monkeypatch: pytest.MonkeyPatch, listens: str | None, asked: str | None, processes: str | None, alone: bool
) -> None:
    monkeypatch.delenv("HEADLIGHT_PROCESSES", raising=False)
    if processes:
        monkeypatch.setenv("HEADLIGHT_PROCESSES", processes)
    context = SimpleNamespace(headers={"Host": asked} if asked else {})
    monkeypatch.setattr(own_checkpoints, "st", SimpleNamespace(context=context, get_option=lambda _: listens))
    assert own_checkpoints.alone() == alone


def test_no_folders_for_whom_another_server_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HEADLIGHT_PROCESSES", raising=False)
    for headers, alone in (
        ({"Host": "localhost:8501", "Origin": "http://localhost:8501"}, True),
        ({"Host": "localhost:8501", "Origin": "https://school.example"}, False),
        ({"Host": "localhost:8501", "X-Forwarded-For": "10.0.0.7"}, False),
        ({"Host": "[::1]:8501"}, True),
    ):
        context = SimpleNamespace(headers=headers)
        monkeypatch.setattr(own_checkpoints, "st", SimpleNamespace(context=context, get_option=lambda _: "localhost"))
        assert own_checkpoints.alone() == alone, headers


class Browser:
    """Whose tab asks just now."""

    def __init__(self) -> None:
        self.visitor = self.another()

    def another(self) -> Visitor:
        self.visitor = Visitor()
        self.visitor.seen("a session")
        return self.visitor


@pytest.fixture
def browser(monkeypatch: pytest.MonkeyPatch) -> Browser:
    browser = Browser()
    monkeypatch.setattr(own_checkpoints, "visitor", lambda: browser.visitor)
    monkeypatch.setattr(own_checkpoints, "open_now", lambda name: None)  # there is no page here
    return browser


@pytest.fixture
def small(tmp_path: Path) -> Path:
    folder = tmp_path / "small"
    folder.mkdir()
    shutil.copy(BUNDLED / NAME / "config.json", folder)
    (folder / "model.safetensors").write_bytes(bytes(SIZE))
    return folder


def keep(name: str, folder: Path) -> None:
    own_checkpoints.add_copy(name, folder, but="training", taken=())


def test_a_browser_has_a_few_uploads_however_many_tabs_and_others_see_none(
    browser: Browser, small: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(own_checkpoints, "ROOM", Room(1 << 20))
    for number in range(MOST + 2):  # each from a tab of its own
        keep(f"copy-{number}", small)
    found = own_checkpoints.own_checkpoints()
    assert list(found) == [f"copy-{number}" for number in range(2, MOST + 2)]
    gc.collect()
    assert (1 << 20) - own_checkpoints.ROOM._left == MOST * own_checkpoints.size_of(small)
    browser.another()  # the last session of the first one is forgotten
    assert own_checkpoints.own_checkpoints() == {}
    gc.collect()
    assert own_checkpoints.ROOM._left == 1 << 20
    assert not any(folder.exists() for folder in found.values())


def test_who_has_left_makes_room_for_who_comes(browser: Browser, small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own_checkpoints, "ROOM", Room(2 * SIZE))
    left = browser.visitor
    keep("first", small)
    browser.another()
    with pytest.raises(CheckpointError, match="fill the room"):
        keep("second", small)
    left._tabs.clear()
    keep("second", small)
    assert list(own_checkpoints.own_checkpoints()) == ["second"]
    assert left not in OWN


def test_a_reload_keeps_what_was_brought(
    open_app: Callable[..., AppTest], small: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(presence, "secret_of_browser", lambda: b"a secret of 16 B")
    app = open_app()

    def fill(folder: Path) -> int:
        shutil.copytree(BUNDLED / NAME, folder, dirs_exist_ok=True)
        return 0

    OWN[app.session_state["visitor"]] = Own(uploads=(Upload("kept-here", fill, most=0),))
    again = open_app(checkpoint="kept-here", text="Ein Hund.")
    assert again.session_state["checkpoint"] == "kept-here"
    assert not again.error
    assert head_map(again).size
