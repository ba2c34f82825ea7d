"""One Chromium for all tests that a process runs. Playwright is imported late: the short set does without it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.programs import BROWSERS

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Playwright

# No other host is found. Playwright could refuse requests too, but then the browser would keep nothing that it fetched.
ALONE = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE localhost, EXCLUDE 127.0.0.1"
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", ALONE]


def launch(playwright: Playwright) -> Browser:
    """An installed Chromium or Chrome, else Playwright's own, fetched if need be."""
    from playwright.sync_api import Error

    installed = next(filter(None, map(shutil.which, BROWSERS)), None)
    if installed:
        return playwright.chromium.launch(executable_path=installed, args=FLAGS)
    try:
        return playwright.chromium.launch(args=FLAGS)
    except Error:
        subprocess.run([sys.executable, "-m", "playwright", "install", "chromium"], check=True, timeout=600)
        return playwright.chromium.launch(args=FLAGS)


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    from playwright.sync_api import Error, sync_playwright

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
