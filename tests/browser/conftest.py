"""A real Chromium before the real app, with every other host blocked."""

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Error, Page, Playwright, Request, Route, expect, sync_playwright

ROOT = Path(__file__).parents[2]
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
expect.set_options(timeout=30_000)
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]


@dataclass
class App:
    """The running server, and what pages asked of other hosts."""

    url: str
    foreign: list[str] = field(default_factory=list)


@pytest.fixture(scope="session")
def app() -> Iterator[App]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "streamlit", "run", "streamlit_app.py", "--server.headless=true"]
    environment = {k: v for k, v in os.environ.items() if k != "HEADLIGHT_CHECKPOINTS"}
    server = subprocess.Popen(
        [*command, f"--server.port={port}"],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    url = f"http://localhost:{port}"
    deadline = time.monotonic() + 60
    while True:
        try:
            urllib.request.urlopen(f"{url}/_stcore/health", timeout=2).close()
            break
        except OSError:
            assert server.poll() is None, "streamlit ended at once"
            assert time.monotonic() < deadline, "streamlit did not start"
            time.sleep(0.2)
    yield App(url=url)
    server.terminate()
    server.wait(timeout=20)


def launch(playwright: Playwright) -> Browser:
    """An installed Chromium or Chrome, else Playwright's own, fetched if need be."""
    installed = next(filter(None, map(shutil.which, NAMES)), None)
    if installed:
        return playwright.chromium.launch(executable_path=installed, args=FLAGS)
    try:
        return playwright.chromium.launch(args=FLAGS)
    except Error:
        subprocess.run([sys.executable, "-m", "playwright", "install", "chromium"], check=True, timeout=600)
        return playwright.chromium.launch(args=FLAGS)


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        try:
            browser = launch(playwright)
        except (Error, subprocess.SubprocessError, OSError) as error:
            reason = f"No Chromium or Chrome is installed, and Playwright's own could not be fetched: {error}"
            if os.environ.get("CI") == "true":
                pytest.fail(reason)
            pytest.skip(reason)
        yield browser
        browser.close()


@pytest.fixture
def visit(app: App, chromium: Browser) -> Iterator[Callable[..., Page]]:
    """Open a page as a visitor of their own: `visit("masks?layer=1", scheme="dark")`."""
    contexts = []

    def guard(route: Route, request: Request) -> None:
        if request.url.startswith((app.url, "data:", "blob:")):
            route.continue_()
        else:
            app.foreign.append(request.url)
            route.abort()

    def open_page(path: str = "", *, scheme: str = "light") -> Page:
        context = chromium.new_context(viewport={"width": 1280, "height": 800}, color_scheme=scheme)
        context.set_default_timeout(30_000)
        contexts.append(context)
        context.route("**/*", guard)
        page = context.new_page()
        page.goto(f"{app.url}/{path}")
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert app.foreign == []
