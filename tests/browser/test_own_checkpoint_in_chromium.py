"""An own checkpoint: nobody else sees it, and it is removed after its visitor leaves."""

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import settle
from tests.foreign_folders import make_folder

Visit = Callable[..., Page]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_folder(tmp_path_factory.mktemp("mine") / "my gpt <b>", "gpt2")


def submit(page: Page, *, files: int) -> None:
    """Open what was chosen, once the page lists it; from then on the button waits for the last byte by itself."""
    expect(page.get_by_test_id("stFileChip")).to_have_count(files)
    page.get_by_test_id("stExpanderDetails").get_by_role("button", name="Open", exact=True).click()


def test_only_the_visitor_who_uploaded_a_checkpoint_sees_it(visit: Visit, folder: Path) -> None:
    mine, other = visit("checkpoints"), visit("checkpoints")
    mine.get_by_text("Open your own", exact=True).click()
    mine.locator("input[type=file]").set_input_files(folder)
    submit(mine, files=len(list(folder.iterdir())))
    expect(mine.get_by_test_id("stSidebar").get_by_text("continues texts")).to_be_visible()
    expect(mine.get_by_role("heading", name="my-gpt-b")).to_be_visible()
    expect(mine).to_have_url(re.compile("checkpoint=my-gpt-b"))  # the page writes it at its end
    mine.goto(mine.url.replace("/checkpoints", "/"))  # a new session of the same browser keeps it
    settle(mine)
    expect(mine.get_by_test_id("stSidebar").get_by_text("continues texts")).to_be_visible()
    other.reload()
    settle(other)
    assert "my-gpt-b" not in other.locator("body").inner_text()


def test_an_archive_continues_a_text_and_one_without_a_checkpoint_gets_a_message(
    visit: Visit, folder: Path, tmp_path: Path
) -> None:
    page = visit("checkpoints")
    page.get_by_text("Open your own", exact=True).click()
    page.get_by_text("A .zip or single files").click()
    expect(page.get_by_text("A .zip, or config.json, weights and tokenizer")).to_be_visible()
    chooser = page.get_by_test_id("stFileUploader").filter(has_text="A .zip, or").locator("input[type=file]")
    (tmp_path / "notes.txt").write_text("hello")
    chooser.set_input_files(tmp_path / "notes.txt")
    submit(page, files=1)
    expect(page.get_by_text("is not a checkpoint: it has no config.json")).to_be_visible()
    chooser.set_input_files(shutil.make_archive(str(tmp_path / "zipped"), "zip", folder.parent))
    submit(page, files=1)
    expect(page.get_by_role("heading", name="zipped")).to_be_visible()
    page.get_by_test_id("stSidebarNavLink").filter(has_text="Translate").click()
    settle(page)
    expect(page.get_by_label("Type the beginning of a text and press Enter")).to_be_visible()
    expect(page.locator(".st-key-head_map svg.map")).to_be_visible()
