"""The Firefox of the system, over WebDriver BiDi: Playwright drives only a Firefox of its own."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from websockets.sync.client import ClientConnection, connect

from tests.programs import FIREFOX

WAIT = 60  # seconds for what a page is expected to show, on a machine with other work
SETTINGS = {
    # A proxy that nobody serves, for all hosts but this one: no other host is found.
    "network.proxy.type": 1,
    "network.proxy.http": "127.0.0.1",
    "network.proxy.http_port": 9,
    "network.proxy.ssl": "127.0.0.1",
    "network.proxy.ssl_port": 9,
    # A mouse: without a screen Firefox has no pointer.
    "ui.primaryPointerCapabilities": 6,
    "ui.allPointerCapabilities": 6,
}
ENTER = "\ue007"
# The first visible element with this name, if one is given, also inside the components.
FIND = """(selector, name) => {
    const within = (root) => [...root.querySelectorAll('*')].flatMap(
        (one) => [one, ...(one.shadowRoot ? within(one.shadowRoot) : [])]);
    return within(document).find((one) => one.matches(selector) && one.checkVisibility()
        && (!name || (one.ariaLabel ?? one.textContent).trim() === name));
}"""


@dataclass(kw_only=True)
class Firefox:
    """A running Firefox.

    Attributes:
        problems: The errors in the console: of scripts, and of the policy of a page.
    """

    socket: ClientConnection
    sent: int = 0
    problems: list[str] = field(default_factory=list)

    def send(self, method: str, **params: object) -> dict[str, Any]:
        """The answer to a command of WebDriver BiDi."""
        self.sent += 1
        self.socket.send(json.dumps({"id": self.sent, "method": method, "params": params}))
        while True:
            message = json.loads(self.socket.recv(timeout=WAIT))
            if message.get("method") == "log.entryAdded" and message["params"]["level"] == "error":
                self.problems.append(message["params"]["text"])
            if message.get("id") == self.sent:
                assert message["type"] == "success", f"{method}: {message}"
                return message["result"]


@dataclass(frozen=True, kw_only=True)
class Tab:
    """A tab of Firefox."""

    firefox: Firefox
    context: str

    def send(self, method: str, **params: object) -> dict[str, Any]:
        return self.firefox.send(method, context=self.context, **params)

    def open(self, address: str) -> None:
        """Load a page, also where only what follows # in its address is new."""
        for each in ("about:blank", address):
            self.send("browsingContext.navigate", url=each, wait="complete")

    def reload(self) -> None:
        self.send("browsingContext.reload", wait="complete")

    def set_offline(self, offline: bool) -> None:
        conditions = {"type": "offline"} if offline else None
        self.firefox.send("emulation.setNetworkConditions", contexts=[self.context], networkConditions=conditions)

    def call(self, function: str, *values: object) -> Any:
        """What a JavaScript function returns for values; all have a JSON form."""
        result = self.returned(f"async (given) => JSON.stringify(await ({function})(...JSON.parse(given)))", *values)
        return json.loads(result.get("value", "null"))

    def returned(self, declaration: str, *values: object) -> dict[str, Any]:
        """What BiDi tells about the result of a function that reads its values as JSON."""
        answer = self.firefox.send(
            "script.callFunction",
            functionDeclaration=declaration,
            arguments=[{"type": "string", "value": json.dumps(values)}],
            target={"context": self.context},
            awaitPromise=True,
        )
        assert answer["type"] == "success", answer["exceptionDetails"]["text"]
        return answer["result"]

    def wait(self, function: str, *values: object) -> None:
        """Until a JavaScript function returns something truthy."""
        deadline = time.monotonic() + WAIT
        while not self.call(f"async (...values) => Boolean(await ({function})(...values))", *values):
            assert time.monotonic() < deadline, f"This never came: {function} {values}"
            time.sleep(0.05)

    def element(self, selector: str, name: str = "") -> dict[str, Any]:
        """BiDi's name of an element that is there or comes, in the middle of the screen."""
        self.wait(FIND, selector, name)
        shown = f"""(given) => {{
            const one = ({FIND})(...JSON.parse(given));
            one.scrollIntoView({{ block: 'center', behavior: 'instant' }});
            return one;
        }}"""
        return {"sharedId": self.returned(shown, selector, name)["sharedId"]}

    def click(self, selector: str, name: str = "") -> None:
        origin = {"type": "element", "element": self.element(selector, name)}
        move = {"type": "pointerMove", "x": 0, "y": 0, "origin": origin}
        actions = [move, {"type": "pointerDown", "button": 0}, {"type": "pointerUp", "button": 0}]
        self.send("input.performActions", actions=[{"type": "pointer", "id": "mouse", "actions": actions}])

    def press(self, keys: str) -> None:
        actions = [{"type": kind, "value": key} for key in keys for kind in ("keyDown", "keyUp")]
        self.send("input.performActions", actions=[{"type": "key", "id": "keys", "actions": actions}])

    def choose(self, selector: str, *paths: Path) -> None:
        """Choose files in a field."""
        self.wait("(selector) => document.querySelector(selector)", selector)
        field = self.returned("(given) => document.querySelector(...JSON.parse(given))", selector)
        files = [str(path) for path in paths]
        self.send("input.setFiles", element={"sharedId": field["sharedId"]}, files=files)


@contextmanager
def launch(profile: Path) -> Iterator[Firefox]:
    """Firefox with a new profile in an empty folder, while the block runs."""
    lines = [f"user_pref({json.dumps(name)}, {json.dumps(value)});" for name, value in SETTINGS.items()]
    (profile / "user.js").write_text("\n".join(lines))
    program = next(filter(None, map(shutil.which, FIREFOX)), FIREFOX[0])
    command = [program, "--headless", "--no-remote", "--remote-debugging-port=0", "--profile", str(profile)]
    home = os.environ | {"HOME": str(profile)}  # root may not run Firefox in the home of another user
    with (profile / "log").open("w") as log, subprocess.Popen(command, env=home, stdout=log, stderr=log) as process:
        try:
            with connect(address_of(profile, process), max_size=None) as socket:
                browser = Firefox(socket=socket)
                browser.send("session.new", capabilities={})
                browser.send("session.subscribe", events=["log.entryAdded"])
                yield browser
        finally:
            process.terminate()


def address_of(profile: Path, process: subprocess.Popen[bytes]) -> str:
    """Where a Firefox that starts listens: it writes this into a file."""
    file, deadline = profile / "WebDriverBiDiServer.json", time.monotonic() + WAIT
    while not (file.exists() and file.read_text().endswith("}")):
        if process.poll() is not None or time.monotonic() > deadline:
            raise OSError(f"Firefox did not start: {(profile / 'log').read_text()}")
        time.sleep(0.1)
    place = json.loads(file.read_text())
    return f"ws://{place['ws_host']}:{place['ws_port']}/session"


@pytest.fixture(scope="session")
def firefox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Firefox]:
    if not any(map(shutil.which, FIREFOX)):
        reason = "Firefox is not installed."
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)
    with launch(tmp_path_factory.mktemp("firefox")) as browser:
        yield browser


@pytest.fixture
def tab(firefox: Firefox) -> Iterator[Tab]:
    """A new tab of the size of a laptop. Its pages must report no problem."""
    tab = Tab(firefox=firefox, context=firefox.send("browsingContext.create", type="tab")["context"])
    tab.send("browsingContext.setViewport", viewport={"width": 1280, "height": 720})
    yield tab
    tab.send("browsingContext.close")
    problems, firefox.problems = firefox.problems, []
    assert not problems, problems
