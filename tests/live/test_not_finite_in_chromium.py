"""A published checkpoint with a weight that is not a number, in a real browser."""

import math
import shutil
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Browser, expect
from safetensors.torch import load_file, save_file

from headlight.command import main
from tests.conftest import BUNDLED

BROKEN = "decoder.layers.2.cross_attention.query_projection.bias"
COLOUR = "rgb(255, 47, 179)"
FILL = "(element) => getComputedStyle(element).fill"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = shutil.copytree(BUNDLED / "everyday-de-en", tmp_path_factory.mktemp("broken") / "broken")
    weights = load_file(folder / "model.safetensors")
    weights[BROKEN][0] = math.nan
    save_file(weights, folder / "model.safetensors")
    page = folder.parent / "page.html"
    assert main(["publish", str(folder), "--out", str(page)]) == 0
    return page


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_shows_what_is_not_a_number(chromium: Browser, site: Path, scheme: Literal["light", "dark"]) -> None:
    page = chromium.new_context(color_scheme=scheme).new_page()
    problems: list[str] = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.goto(f"{site.as_uri()}#translate?kind=cross&layer=3&head=1")
    expect(page.locator(".empty")).to_contain_text(f"weights that are not finite: {BROKEN} (1)", timeout=60_000)
    expect(page.locator("svg.map .legend")).to_have_text("not a number")
    assert page.locator('svg.map [data-cell="0,0"]').evaluate(FILL) == COLOUR
    page.locator('svg.map [data-cell="0,0"]').hover()
    expect(page.locator(".says").last).to_contain_text("not a number")
    expect(page.locator(".hl-row[data-row=writes] .hl-chip.hl-broken")).to_have_count(1)
    page.get_by_role("button", name="layer 3, head 2", exact=True).click()  # this head comes beside the broken one
    expect(page.locator("svg.map .legend")).to_have_count(0)
    assert page.locator('svg.map [data-cell="0,0"]').evaluate(FILL) != COLOUR
    for name in ("steps", "heads", "inside", "masks"):
        page.goto(f"{site.as_uri()}#{name}?kind=cross&layer=3&head=1")
        page.wait_for_selector("html[data-ready]")
        expect(page.locator(".page > *").first).to_be_visible(timeout=60_000)
        expect(page.locator(".problem")).to_have_count(0)
    assert problems == []
    page.context.close()
