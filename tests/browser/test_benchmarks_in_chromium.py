"""The benchmarks that need a server run before the one of the tests, once, so that their figures mean nothing."""

import asyncio
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from playwright.sync_api import Browser

from benchmarks import classroom, course
from benchmarks.page import PAGES, measure
from benchmarks.server import Server
from tests.browser.conftest import App
from viz_app.course.catalogue import lesson_named


def test_a_class_is_measured(app: App, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--url", app.url, "--visitors", "1", "--seconds", "0.5", "--rounds", "1"]
    monkeypatch.setattr(sys, "argv", ["classroom.py", *options])
    with ThreadPoolExecutor(1) as thread:  # Playwright has an event loop in this one
        thread.submit(classroom.main).result()
    name, _opened, _p50, _p95, answers, _missed, errors, *_ = capsys.readouterr().out.splitlines()[1].split()
    assert (name, errors) == ("Headlight", "0")
    assert int(answers) >= 1


def test_the_teacher_sees_every_student_once_although_one_reloads(app: App) -> None:
    with ThreadPoolExecutor(1) as thread:
        wrong = thread.submit(
            lambda: asyncio.run(course.attend(Server(url=app.url), lesson_named("query-key-value"), 2))
        ).result()
    assert wrong == []


def test_a_page_is_timed(app: App, chromium: Browser) -> None:
    with chromium.new_context(base_url=f"{app.url}/") as context:
        (milliseconds,), kilobytes = measure(context.new_page(), PAGES[0], 1)
    assert milliseconds > 1
    assert kilobytes > 1
