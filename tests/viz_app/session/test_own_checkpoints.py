"""Own checkpoints belong to a browser. Only visitors at this computer may open its folders."""

import gc
import shutil
from collections.abc import Callable
from inspect import unwrap
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from weakref import WeakValueDictionary

import pytest
from streamlit.testing.v1 import AppTest

from model.checkpoints.checkpoint import CheckpointError
from tests.conftest import BUNDLED
from tests.viz_app.conftest import NAME, head_map
from viz_app.server import presence, resources, uploads
from viz_app.server.presence import Visitor
from viz_app.server.resources import throttled
from viz_app.server.temporary import DiskSpace
from viz_app.server.training_jobs import TRAININGS, Plan, Training
from viz_app.server.uploads import MOST, OWN, Upload
from viz_app.session import own_checkpoints

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
def test_only_visitors_at_this_computer_open_its_folders(
    monkeypatch: pytest.MonkeyPatch, listens: str | None, asked: str | None, processes: str | None, alone: bool
) -> None:
    monkeypatch.delenv("HEADLIGHT_PROCESSES", raising=False)
    if processes:
        monkeypatch.setenv("HEADLIGHT_PROCESSES", processes)
    context = SimpleNamespace(headers={"Host": asked} if asked else {})
    monkeypatch.setattr(own_checkpoints, "st", SimpleNamespace(context=context, get_option=lambda _: listens))
    assert own_checkpoints.only_this_computer() == alone


def test_visitors_behind_a_proxy_open_no_folders(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HEADLIGHT_PROCESSES", raising=False)
    for headers, alone in (
        ({"Host": "localhost:8501", "Origin": "http://localhost:8501"}, True),
        ({"Host": "localhost:8501", "Origin": "https://school.example"}, False),
        ({"Host": "localhost:8501", "X-Forwarded-For": "10.0.0.7"}, False),
        ({"Host": "[::1]:8501"}, True),
    ):
        context = SimpleNamespace(headers=headers)
        monkeypatch.setattr(own_checkpoints, "st", SimpleNamespace(context=context, get_option=lambda _: "localhost"))
        assert own_checkpoints.only_this_computer() == alone, headers


class Server:
    """Stands in for Streamlit and for the clock. A session is named by its browser and a number, such as "anna 1"."""

    def __init__(self) -> None:
        self.now, self.session = 1_000.0, ""
        self.states: dict[str, dict[str, Any]] = {}
        self.connections: dict[str, object] = {}

    def monotonic(self) -> float:
        return self.now

    @property
    def session_state(self) -> dict[str, Any]:
        return self.states[self.session]

    def draw(self, session: str) -> Visitor:
        """Draw a page in this session, which may be a new one."""
        self.session = session
        self.states.setdefault(session, {})
        self.connections[session] = self
        return presence.visitor()


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Server:
    server = Server()
    monkeypatch.setattr(presence, "VISITORS", WeakValueDictionary())
    monkeypatch.setattr(presence, "check_visitors", throttled(presence.REPEAT)(unwrap(presence.check_visitors)))
    monkeypatch.setattr(presence, "secret_of_browser", lambda: server.session.partition(" ")[0].encode())
    monkeypatch.setattr(presence, "session_id", lambda: server.session)
    monkeypatch.setattr(presence, "connection_of", server.connections.get)
    for module in (presence, resources):
        monkeypatch.setattr(module, "time", server)
    for module in (presence, own_checkpoints):
        monkeypatch.setattr(module, "st", server)
    monkeypatch.setattr(own_checkpoints, "set_choice", lambda name, value: None)  # there is no page here
    return server


@pytest.fixture
def small(tmp_path: Path) -> Path:
    folder = tmp_path / "small"
    folder.mkdir()
    shutil.copy(BUNDLED / NAME / "config.json", folder)
    (folder / "model.safetensors").write_bytes(bytes(SIZE))
    return folder


def keep(name: str, folder: Path) -> None:
    own_checkpoints.add_copy(name, folder, without="training", taken=())


def test_a_browser_has_a_few_uploads_for_all_tabs_and_others_see_none(
    server: Server, small: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(uploads, "DISK", DiskSpace(1 << 20))
    for number in range(MOST + 2):
        server.draw(f"anna {number}")
        keep(f"copy-{number}", small)
    found = own_checkpoints.own_checkpoints()
    assert list(found) == [f"copy-{number}" for number in range(2, MOST + 2)]
    gc.collect()
    assert (1 << 20) - uploads.DISK._left == MOST * sum(path.stat().st_size for path in small.iterdir())
    server.draw("ben 1")
    assert own_checkpoints.own_checkpoints() == {}
    assert all(folder.exists() for folder in found.values())


def test_uploads_end_with_the_last_session_even_if_the_training_run_stays(
    server: Server, small: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = Plan(toy="copy", longest=5, d_model=32, layers=1, heads=2)
    anna = server.draw("anna 1")
    monkeypatch.setitem(TRAININGS._trainings, anna, Training(plan))
    keep("uploaded", small)
    server.draw("anna 2")
    (folder,) = own_checkpoints.own_checkpoints().values()
    del server.states["anna 1"]
    gc.collect()
    assert folder.exists()
    del server.states["anna 2"]
    gc.collect()
    assert not folder.exists()
    assert server.draw("anna 3") is anna
    assert own_checkpoints.own_checkpoints() == {}


def test_the_space_of_absent_visitors_serves_new_visitors(
    server: Server, small: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server notices that the first visitor is absent when the second one needs the space."""
    monkeypatch.setattr(uploads, "DISK", DiskSpace(2 * SIZE))
    server.draw("anna 1")
    keep("first", small)
    server.draw("ben 1")
    server.now += 3600
    with pytest.raises(CheckpointError, match="all the disk space"):
        keep("second", small)  # the first visitor is still here
    server.now += presence.REPEAT
    del server.connections["anna 1"]
    server.draw("ben 1")
    server.now += presence.AFTER_SILENCE
    keep("second", small)
    assert list(own_checkpoints.own_checkpoints()) == ["second"]
    server.draw("anna 1")
    assert own_checkpoints.own_checkpoints() == {}


def test_a_reload_keeps_own_checkpoints(
    open_app: Callable[..., AppTest], small: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(presence, "secret_of_browser", lambda: b"a secret of 16 B")
    app = open_app()

    def fill(folder: Path) -> tuple[str, ...]:
        shutil.copytree(BUNDLED / NAME, folder, dirs_exist_ok=True)
        return ()

    OWN[app.session_state["visitor"]].uploads = (Upload("kept-here", fill, most=100 << 20),)
    again = open_app(checkpoint="kept-here", text="Ein Hund.")
    assert again.session_state["checkpoint"] == "kept-here"
    assert not again.error
    assert head_map(again).size
