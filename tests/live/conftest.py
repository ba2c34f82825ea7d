"""A published site on a host of its own, and pages of it in Chromium."""

import shutil
from collections.abc import Callable, Iterator
from functools import partial
from http.server import ThreadingHTTPServer
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from headlight.command import main
from model.atlas.corpus import open_corpus
from model.atlas.work import make_atlas
from model.inference.opening import open_checkpoint
from tests.conftest import BUNDLED
from tests.live.hosts import Quiet, address_of, serving

PUBLISHED = "everyday-en-de"
expect.set_options(timeout=30_000)  # on a machine with other work
Open = Callable[..., Page]
MARKUP = "Tom <script>document.title = 'changed'</script> sees <b>12 cats</b> & you."  # a line of the corpus
LINES = [
    *(f"{one} {other}." for one in ("The dog", "My sister", "Tom", "Nobody") for other in ("sees you", "has 2 cats")),
    *(["The station is old, and the train is new.", MARKUP] * 2),
]


@pytest.fixture(scope="session")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a checkpoint with an atlas."""
    folder = tmp_path_factory.mktemp("measured") / PUBLISHED
    shutil.copytree(BUNDLED / PUBLISHED, folder, ignore=shutil.ignore_patterns("atlas"))
    (corpus := folder.with_name("texts.txt")).write_text("\n".join(LINES) + "\n")
    make_atlas(open_checkpoint(folder), open_corpus(corpus), folder / "atlas")
    return folder


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A host whose subfolder `class/live` has the site, and beside it the single file."""
    host = tmp_path_factory.mktemp("host")
    assert main(["publish", PUBLISHED, "--out", str(host / "class" / "live")]) == 0
    assert main(["publish", PUBLISHED, "--out", str(host / "one.html")]) == 0
    return host


@pytest.fixture(scope="session")
def host(folder: Path) -> Iterator[ThreadingHTTPServer]:
    with serving(partial(Quiet, directory=str(folder))) as server:
        yield server


@pytest.fixture
def visit(chromium: Browser, host: ThreadingHTTPServer) -> Iterator[Open]:
    """Open a page of the site; it must report no problem, and ask no other address for anything."""
    pages: list[Page] = []
    root = f"{address_of(host)}/class/live/"
    problems: list[str] = []

    def open_page(link: str = "", *, address: str = root, **options: object) -> Page:
        page = chromium.new_context(**{"viewport": {"width": 1280, "height": 720}} | options).new_page()  # type: ignore[arg-type]
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("console", lambda line: problems.append(line.text) if line.type == "error" else None)
        page.on(
            "request", lambda one: None if one.url.startswith((address, "data:", "blob:")) else problems.append(one.url)
        )
        page.goto(f"{address}{link}")
        page.wait_for_selector("html[data-ready]")
        pages.append(page)
        return page

    yield open_page
    for page in pages:
        page.context.close()
    assert problems == []
