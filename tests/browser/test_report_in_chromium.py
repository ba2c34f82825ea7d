"""The one HTML file: taken from the page, opened as a file without a network, clicked and walked by keys."""

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
from playwright.sync_api import Browser, Page, expect

from model.checkpoints.checkpoint import load_checkpoint
from model.inference.translate import translate
from tests.browser.accessibility import check
from tests.browser.conftest import settle
from tests.conftest import BUNDLED
from viz_app.components.bundle import COMPONENT_STYLES, asset
from viz_app.components.data.maps import attention_maps_data
from viz_app.export import report
from viz_app.figures.style import Axes

Visit = Callable[..., Page]
TEXT = "A dog </script> runs & barks."


def test_a_report_shows_every_number_without_a_network(visit: Visit, chromium: Browser, tmp_path: Path) -> None:
    page = visit(f"?checkpoint=everyday-en-de&text={TEXT.replace('&', '%26')}")
    settle(page)
    page.get_by_role("button", name="Download").click()
    with page.expect_download() as download:
        page.get_by_role("button", name="One HTML file").click()
    file = tmp_path / "report.html"
    download.value.save_as(file)

    found = translate(load_checkpoint(BUNDLED / "everyday-en-de"), TEXT)
    context = chromium.new_context(offline=True, color_scheme="dark")
    home, problems = context.new_page(), []
    home.on("pageerror", lambda error: problems.append(str(error)))
    home.on("request", lambda request: problems.append(request.url) if not request.url.startswith("file:") else None)
    home.goto(file.as_uri())
    expect(home.get_by_role("heading", level=1)).to_have_text(f"{TEXT} → {found.text}")
    home.get_by_role("button", name="layer 2, head 3", exact=True).first.click()
    cells = home.locator(".map").first
    cells.locator("[data-cell='1,2']").hover()
    says = home.locator("output.says").first
    expect(says).to_have_text(
        f"{found.written[1].text} → {found.source[2].text}: {found.maps['cross'][1, 2, 1, 2]:.6f}"
    )
    home.mouse.move(1, 1)
    cells.focus()
    cells.press("ArrowRight")
    expect(says).to_have_text(re.compile(f"{found.maps['cross'][1, 2, 1, 3]:.6f}$"))

    for form in ("PNG", "SVG"):
        home.locator(".hl-save summary").first.click()
        with home.expect_download() as saved:
            home.locator(".hl-save").first.get_by_role("button", name=form).click()
        picture = Path(saved.value.path()).read_bytes()
        assert picture.startswith({"PNG": b"\x89PNG", "SVG": b"<?xml"}[form])
    assert "A dog &lt;/script&gt; runs &amp; barks." in picture.decode()
    assert "Cross-attention, layer 2, head 3" in picture.decode()

    home.get_by_text("Attention: decoder self, masked").click()
    masked = home.locator("details", has=home.get_by_text("Attention: decoder self, masked")).locator(".map")
    masked.locator("[data-cell='0,1']").hover()
    expect(home.get_by_text("masked: weight exactly 0")).to_be_visible()

    home.get_by_text("Step by step").click()
    home.get_by_role("button", name="Next step").click()
    expect(home.get_by_text("step 2 of")).to_be_visible()
    expect(home.locator(".candidate.written .word")).to_have_text(found.written[1].text)
    home.get_by_text("As lines").first.click()
    expect(home.locator("svg[data-lines] line").first).to_be_attached()
    check(home)
    assert problems == []
    context.close()


# The median of the time that a map takes for a move of the pointer, in milliseconds, its layout included.
MOVES = """() => {
    const cells = [...document.querySelectorAll("[data-cell]")], times = [];
    for (let i = 0; i < 41; i++) {
        const start = performance.now();
        const moved = new PointerEvent("pointerover", { bubbles: true, composed: true });
        cells[(i * 997) % cells.length].dispatchEvent(moved);
        document.body.getBoundingClientRect();
        times.push(performance.now() - start);
    }
    return times.sort((a, b) => a - b)[20];
}"""


def test_a_map_of_a_long_text_answers_the_pointer_within_one_frame(chromium: Browser, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    maps = rng.dirichlet(np.ones(94), size=(4, 6, 44)).astype(np.float32)  # (L, H, T, S)
    queries, keys = ([f"{name}{i}" for i in range(count)] for name, count in (("q", 44), ("k", 94)))
    axes = Axes(queries=queries, keys=keys, query_title="query", key_title="key")
    body = report.picture(
        "attention_maps",
        attention_maps_data(maps, np.ones((4, 44, 94), dtype=bool), axes, kind="cross", chosen=7),
        "maps",
    )
    file = tmp_path / "map.html"
    style = asset("report.css", *COMPONENT_STYLES)
    page_of = report.PAGE.format(
        title="", heading="", style=style, chips="", body=body, origin="", language="en", script=report.script()
    )
    file.write_text(page_of, encoding="utf-8")
    page = chromium.new_page()
    page.goto(file.as_uri())
    page.locator("[data-cell='3,5']").hover()
    expect(page.locator("output.says")).to_have_text(f"q3 → k5: {maps[1, 1, 3, 5]:.6f}")
    assert page.evaluate(MOVES) < 16
    page.close()
