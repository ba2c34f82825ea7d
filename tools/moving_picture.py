"""Make `docs/headlight.webp`, the moving picture of the READMEs, from the app itself: `python -m tools.moving_picture`.

A sentence is typed, its translation and its maps appear, a head is silenced, and the translation loses its subject.
"""

import io
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from PIL import Image
from playwright.sync_api import Error, Page, expect, sync_playwright

from tests.browser.conftest import settle
from tests.chromium import launch

ROOT = Path(__file__).parent.parent
PICTURE = ROOT / "docs" / "headlight.webp"
SENTENCE = "My father is cooking and my mother is reading a newspaper."
LAYER, HEAD = 1, 3  # of the cross-attention: without it the mother is left out
SEEN, SAVED = (1280, 720), (1120, 630)  # pixels of the window, and of the picture
WAIT = 120_000  # milliseconds until the script gives up
POINTER = """([x, y]) => {
    document.querySelector("#pointer")?.remove();
    const ring = document.createElement("div");
    ring.id = "pointer";
    ring.style = `position: fixed; left: ${x - 14}px; top: ${y - 14}px; width: 22px; height: 22px; z-index: 1e9;
        border: 4px solid #d55e00; border-radius: 50%; pointer-events: none`;
    document.body.append(ring);
}"""


class Film:
    """Pictures of a page, each with the milliseconds that it stays."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.pictures: list[Image.Image] = []
        self.times: list[int] = []

    def take(self, milliseconds: int) -> None:
        with Image.open(io.BytesIO(self.page.screenshot())) as shot:
            self.pictures.append(shot.convert("RGB").resize(SAVED, Image.Resampling.LANCZOS))
        self.times.append(milliseconds)

    def save(self, path: Path) -> None:
        first, *others = self.pictures
        first.save(path, save_all=True, append_images=others, duration=self.times, loop=0, quality=70, method=6)


@contextmanager
def running_app() -> Iterator[str]:
    """The address of an app that ends with the block."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "streamlit", "run", "streamlit_app.py", "--server.headless=true"]
    with subprocess.Popen([*command, f"--server.port={port}"], cwd=ROOT, stdout=subprocess.DEVNULL) as server:
        try:
            yield f"http://localhost:{port}"
        finally:
            server.terminate()


def play(page: Page) -> Film:
    """Walk through the app as a visitor does."""
    film = Film(page)
    field = page.get_by_label(re.compile("Type a sentence"))
    page.get_by_role("button", name="No, thanks").click()
    settle(page)
    field.click()
    for end in range(0, len(SENTENCE) + 3, 3):
        field.fill(SENTENCE[:end])
        film.take(80)
    field.press("Enter")
    expect(page.locator(".hl-text")).to_contain_text("meine Mutter")
    settle(page)
    film.take(2500)
    point_and_click(film, page, "button", f"layer {LAYER}, head {HEAD}")
    film.take(2500)
    page.evaluate("document.querySelector('#pointer').remove()")
    page.get_by_role("link", name="Heads", exact=True).click()
    head = f"cross-attention, layer {LAYER}, head {HEAD}"
    expect(page.get_by_role("switch", name=head)).to_be_visible()
    settle(page)
    film.take(2000)
    point_and_click(film, page, "switch", head)
    expect(page.get_by_role("switch", name=f"{head}: silenced")).to_be_visible()
    film.take(5000)
    return film


def point_and_click(film: Film, page: Page, role: Literal["button", "switch"], name: str) -> None:
    """Click a button, with a ring where the pointer is."""
    button = page.get_by_role(role, name=re.compile(f"^{name}\\b"))
    box = button.bounding_box()
    assert box is not None
    place = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.evaluate(POINTER, place)
    film.take(800)
    button.click()
    page.wait_for_timeout(1000)
    settle(page)


def main() -> None:
    expect.set_options(timeout=WAIT)
    with running_app() as address, sync_playwright() as playwright:
        browser = launch(playwright)
        page = browser.new_page(viewport={"width": SEEN[0], "height": SEEN[1]}, color_scheme="light", locale="en")
        page.set_default_timeout(WAIT)
        open_when_ready(page, address)
        film = play(page)
        browser.close()
    film.save(PICTURE)
    print(f"{PICTURE.name}: {len(film.pictures)} pictures, {PICTURE.stat().st_size / 1e6:.1f} MB")


def open_when_ready(page: Page, address: str) -> None:
    for _ in range(WAIT // 500):
        try:
            page.goto(address, wait_until="commit")
            return
        except Error:  # the server does not answer yet
            page.wait_for_timeout(500)


if __name__ == "__main__":
    main()
