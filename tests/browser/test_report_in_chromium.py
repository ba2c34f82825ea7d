"""The one HTML file: taken from the page, opened as a file without a network, clicked and walked by keys."""

import re
from collections.abc import Callable
from datetime import date
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Browser, Page, expect

from model.checkpoints.checkpoint import load_checkpoint
from model.inference.opening import open_checkpoint
from model.inference.run import Result, Run, Token
from model.inference.translate import compute, translate
from model.interventions import Intervention
from tests.browser.accessibility import check
from tests.browser.conftest import settle
from tests.conftest import BUNDLED
from viz_app.export.report import report

Visit = Callable[..., Page]
TEXT = "A dog </script> runs & {icon} barks."
MENU = ["Translate", "Step by step", "Masks"]  # without changes
CHANGES = "off.cross.3.1-2~paint.encoder.1.4.2.3.0.75"


class Opened:
    """A report in a browser without a network, and what went wrong in it."""

    def __init__(self, chromium: Browser, file: Path) -> None:
        self.context = chromium.new_context(offline=True, color_scheme="dark", viewport={"width": 1280, "height": 720})
        self.page, self.file = self.context.new_page(), file
        self.problems: list[str] = []
        self.page.on("pageerror", lambda error: self.problems.append(str(error)))
        self.page.on("console", lambda line: self.problems.append(line.text) if line.type == "error" else None)
        self.page.on("request", lambda one: None if one.url.startswith("file:") else self.problems.append(one.url))
        self.go("")

    def go(self, link: str) -> None:
        self.page.goto(self.file.as_uri() + link)
        self.page.wait_for_selector("html[data-ready]")

    def menu(self, name: str) -> None:
        self.page.get_by_role("link", name=name, exact=True).click()
        expect(self.page.get_by_role("heading", level=1)).to_have_text(name)

    def end(self) -> None:
        assert self.problems == []
        self.context.close()


def test_a_report_shows_every_number_and_change_without_a_network(
    visit: Visit, chromium: Browser, tmp_path: Path
) -> None:
    query = TEXT.replace("&", "%26")
    page = visit(f"?checkpoint=everyday-en-de&text={query}&layer=2&head=3&intervention={CHANGES}")
    settle(page)
    page.get_by_role("button", name="Download").click()
    with page.expect_download() as download:
        page.get_by_role("button", name="One HTML file").click()
    file = tmp_path / "report.html"
    download.value.save_as(file)

    checkpoint = load_checkpoint(BUNDLED / "everyday-en-de")
    found = translate(checkpoint, TEXT)
    home = Opened(chromium, file)
    expect(home.page.locator(".recorded")).to_have_text(TEXT)
    expect(home.page.locator(".written")).to_have_text(found.text)
    large = home.page.locator("[data-part=map]")
    large.locator("[data-cell='1,2']").hover()
    expect(large.locator("output.says")).to_contain_text(f"writes “{found.written[1].text}”")
    expect(large.locator("output.says")).to_have_text(re.compile(f"{found.maps['cross'][1, 2, 1, 2]:.6f}$"))
    home.page.mouse.move(1, 1)
    large.locator(".map").focus()
    large.locator(".map").press("ArrowRight")
    expect(large.locator("output.says")).to_have_text(re.compile(f"{found.maps['cross'][1, 2, 1, 3]:.6f}"))
    check(home.page)

    for form in ("PNG", "SVG"):
        large.locator(".hl-save summary").click()
        with home.page.expect_download() as saved:
            large.get_by_role("button", name=form).click()
        picture = Path(saved.value.path()).read_bytes()
        assert picture.startswith({"PNG": b"\x89PNG", "SVG": b"<?xml"}[form])
    assert "A dog &lt;/script&gt; runs &amp; {icon} barks." in picture.decode()
    assert "Cross-attention, layer 2, head 3" in picture.decode()

    home.menu("Step by step")
    home.page.get_by_role("button", name="Next step").click()
    expect(home.page.get_by_text("step 2 of")).to_be_visible()
    expect(home.page.locator(".candidate.written .word")).to_have_text(found.written[1].text)

    home.menu("Heads")
    changed = translate(checkpoint, TEXT, edits=Intervention.from_code(CHANGES).edits())
    expect(home.page.locator(".hl-lines bdi").nth(1)).to_have_text(changed.text)
    rescored = translate(checkpoint, TEXT, forced=found.as_forced, edits=Intervention.from_code(CHANGES).edits())
    expect(home.page.get_by_text(f"gives it {rescored.log_prob:.2f}".replace("-", "−"))).to_be_visible()
    expect(home.page.get_by_text("encoder self, layer 1, head 4, row 2, column 3: 0.75")).to_be_visible()

    home.menu("Masks")
    home.page.locator("[data-part='mask decoder'] [data-cell='0,1']").hover()
    expect(home.page.locator("[data-part='mask decoder'] output")).to_contain_text("masked")
    home.menu("Positional encoding")
    expect(home.page.get_by_role("button", name="In a sentence")).to_have_count(0)
    home.end()


@pytest.mark.parametrize(
    ("name", "text", "pages"),
    [
        (
            "multi30k-de-en-words",
            "Ein Hund sieht ein Xylophonkonzert.",
            MENU,
        ),
        ("gru-de-en-plain", "Ein Hund läuft.", ["Translate"]),
        ("imdb-sentiment", "A wonderful film.", ["Classify a text", "Positional encoding", "Masks"]),
    ],
)
def test_a_report_needs_no_engine_for_its_model(
    name: str, text: str, pages: list[str], chromium: Browser, tmp_path: Path
) -> None:
    checkpoint = open_checkpoint(BUNDLED / name)
    found, file = compute(checkpoint, Run(text=text)), tmp_path / "report.html"
    page = report(found, text=text, name=name, made=date(2026, 1, 1), sizes=checkpoint.config.model)
    file.write_text(page, encoding="utf-8")
    home = Opened(chromium, file)
    assert home.page.locator("nav a").all_inner_texts() == pages
    for one in pages:
        home.menu(one)
        expect(home.page.locator(".problem")).to_have_count(0)
    home.menu(pages[0])
    expect(home.page.locator(".written")).to_have_text(found.text)
    home.end()


def continuation(maps: np.ndarray, masks: np.ndarray) -> Result:
    """A language model with windows that has read two words and written four."""
    words = [f"w{i}" for i in range(7)]
    tokens = [Token(text=word, id=i, word=i, probability=0.5, entropy=1.0) for i, word in enumerate(words)]
    return Result(
        text="w3 w4 w5 w6",
        source=(),
        read=tuple(tokens[:6]),
        written=tuple(tokens[1:]),
        maps={"decoder": maps},
        masks={"decoder": masks},
        finished=True,
        dropped=0,
        prompt_length=2,
    )


def test_a_report_of_a_language_model_has_its_own_masks_and_prompt(chromium: Browser, tmp_path: Path) -> None:
    window = np.tri(6, dtype=bool) & ~np.tri(6, k=-3, dtype=bool)
    maps = (window / window.sum(axis=-1, keepdims=True)).astype(np.float32)[None, None]  # (L, H, T, T)
    file = tmp_path / "report.html"
    file.write_text(
        report(continuation(maps, window[None]), text="w1 w2", name="gpt", made=date(2026, 1, 1)), encoding="utf-8"
    )
    home = Opened(chromium, file)
    assert home.page.locator("[data-row=reads] [data-i]").all_inner_texts() == ["w0", "w1", "w2"]
    assert len(home.page.locator("[data-row=writes] [data-i]").all()) == 4
    large = home.page.locator("[data-part=map]")
    for cell, says in (("5,2", "masked"), ("2,5", "masked"), ("5,3", f"{1 / 3:.6f}")):
        large.locator(f"[data-cell='{cell}']").hover()
        expect(large.locator("output.says")).to_contain_text(says)
    home.menu("Step by step")
    home.page.get_by_label("Step", exact=True).fill("1")
    expect(home.page.get_by_text("belongs to the text that you typed")).to_be_visible()
    home.end()


def test_a_report_in_a_frame_without_an_address_follows_its_visitor(chromium: Browser) -> None:
    """A notebook shows a report in such a frame."""
    checkpoint = load_checkpoint(BUNDLED / "everyday-en-de")
    found = translate(checkpoint, "A dog runs.")
    html = report(found, text="A dog runs.", name="everyday-en-de", made=date(2026, 1, 1))
    page = chromium.new_page()
    page.set_content("<iframe width=1100 height=620></iframe>")
    page.locator("iframe").evaluate("(frame, html) => { frame.srcdoc = html; }", html)
    frame = page.frame_locator("iframe")
    frame.get_by_role("link", name="Step by step").click()
    expect(frame.locator(".candidate.written .word")).to_have_text(found.written[0].text)
    page.close()


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
    source, written = (
        tuple(Token(text=f"{name}{i}", id=i, word=i, probability=0.5, entropy=1.0) for i in range(count))
        for name, count in (("k", 94), ("q", 44))
    )
    long = Result(text="", source=source, read=written, written=written, maps={"cross": maps}, finished=True, dropped=0)
    file = tmp_path / "map.html"
    file.write_text(report(long, text="", name="", made=date(2026, 1, 1)), encoding="utf-8")
    page = chromium.new_page()
    page.goto(f"{file.as_uri()}#translate?layer=2&head=2")
    large = page.locator("[data-part=map]")
    large.locator("[data-cell='3,5']").hover()
    expect(large.locator("output.says")).to_have_text(
        f"query: after reading “q2”, writes “q3”; key: k5; attention weight: {maps[1, 1, 3, 5]:.6f}"
    )
    assert page.evaluate(MOVES) < 16
    page.close()
