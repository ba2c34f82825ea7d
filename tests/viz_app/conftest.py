"""The app as Streamlit's own test harness runs it, with the bundled checkpoints."""

import base64
import json
import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np
import pytest
from streamlit.components.v2 import manifest_scanner
from streamlit.testing.v1 import AppTest, local_script_runner
from streamlit.testing.v1.local_script_runner import LocalScriptRunner

from model.checkpoints.checkpoint import Checkpoint, load_checkpoint
from tests.conftest import BUNDLED, PATIENCE, ROOT
from tests.copies import WaitingCopy
from viz_app.content.examples import EVERYDAY
from viz_app.server import training_jobs
from viz_app.session.choice_forms import OLD_TABS

NAME = "everyday-de-en"
TEXT = EVERYDAY["de"][0]


@pytest.fixture(autouse=True)
def no_page_fails(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """A page that fails shows a sentence and no exception; the log knows. A test that wants this clears the log."""
    yield
    assert [record.exc_text or record.getMessage() for record in caplog.records if record.name == "headlight"] == []


@pytest.fixture(scope="session", autouse=True)
def packages_scanned_once() -> Iterator[None]:
    """Each new app of the harness looks for components in all installed packages, which takes longer than a page."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(manifest_scanner, "scan_component_manifests", cache(manifest_scanner.scan_component_manifests))
        yield


@pytest.fixture(scope="session", autouse=True)
def scripts_are_waited_for() -> Iterator[None]:
    """The harness looks every millisecond whether the script has ended, which takes a fifth of its time."""
    ask = local_script_runner.require_widgets_deltas

    def wait(runner: LocalScriptRunner, timeout: float = PATIENCE) -> None:
        assert runner._script_thread is not None
        runner._script_thread.join(timeout)
        ask(runner, timeout if runner.script_stopped() else 0)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(local_script_runner, "require_widgets_deltas", wait)
        yield


@pytest.fixture(scope="session", autouse=True)
def processes_start_at_once() -> Iterator[None]:
    """No process waits for the button of the page Train one here, and one that runs is a copy of what has started."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(training_jobs.SPARE, "prepare", lambda: None)
        patch.setattr(training_jobs, "start_process", WaitingCopy)
        yield


@pytest.fixture
def open_app(monkeypatch: pytest.MonkeyPatch) -> Callable[..., AppTest]:
    """Open a page by the name of its file, with query parameters."""
    monkeypatch.delenv("HEADLIGHT_CHECKPOINTS", raising=False)
    monkeypatch.chdir(ROOT)

    def open_page(page: str = "translate", **query: str) -> AppTest:
        app = AppTest.from_file(str(ROOT / "streamlit_app.py"), default_timeout=PATIENCE)
        for name, value in query.items():
            app.query_params[name] = value
        if page != "translate":
            app.switch_page(f"viz_app/pages/{page}.py")  # before it runs: no page has another address than its file
        app.run()
        assert not app.exception, app.exception
        return app

    return open_page


def charts(app: AppTest) -> list[dict[str, Any]]:
    """The Plotly figures of a page as they go to the browser."""
    return [json.loads(element.proto.spec) for element in app.get("plotly_chart")]


def array(value: Any) -> np.ndarray:
    """A Plotly array, binary or plain."""
    if isinstance(value, dict):
        shape = [int(n) for n in str(value.get("shape", "")).split(",") if n.strip()]
        flat = np.frombuffer(base64.b64decode(value["bdata"]), dtype=value["dtype"])
        return flat.reshape(shape) if shape else flat
    return np.array(value)


def html(app: AppTest) -> str:
    return "".join(element.proto.body for element in app.get("html"))


def compared_lines(app: AppTest) -> list[str]:
    """The texts that a page compares, without their marks."""
    return [re.sub("<[^>]+>", "", line) for line in re.findall("<bdi[^>]*>(.*?)</bdi>", html(app))]


def components(app: AppTest, name: str) -> list[dict[str, Any]]:
    """What each component of ours with this name was given."""
    found = (element.proto for element in app.get("bidi_component"))
    return [json.loads(proto.json) for proto in found if proto.component_name.endswith(name)]


def component_data(app: AppTest, name: str) -> dict[str, Any]:
    """What the only component of ours with this name was given."""
    (data,) = components(app, name)
    return data


def maps(app: AppTest) -> list[np.ndarray]:
    """The large maps (T, S) of a page, NaN where the mask forbids."""
    found = []
    for data in components(app, "attention_map"):
        flat = np.frombuffer(base64.b64decode(data["weights"]), dtype="<f4")
        found.append(np.where(np.isneginf(flat), np.nan, flat).reshape(len(data["queries"]), len(data["keys"])))
    return found


def head_map(app: AppTest) -> np.ndarray:
    """The only large map (T, S) of a page, NaN where the mask forbids."""
    (shown,) = maps(app)
    return shown


def tab(app: AppTest, key: str, name: str) -> AppTest:
    app.session_state[key] = OLD_TABS.get(name, name)
    app.run()
    assert not app.exception, app.exception
    return app


@pytest.fixture(scope="session")
def checkpoint() -> Checkpoint:
    return load_checkpoint(BUNDLED / NAME)


def in_url(app: AppTest, name: str) -> str | None:
    value = app.query_params.get(name)
    return value[0] if isinstance(value, list) else value
