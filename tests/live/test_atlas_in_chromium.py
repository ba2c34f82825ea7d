"""The page Atlas of a site in a real browser: its data are files of the site, so it needs no model and no network."""

import csv
import re
import shutil
from http.server import ThreadingHTTPServer
from pathlib import Path
from urllib.parse import quote

import numpy as np
import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from headlight.command import main
from model.atlas.atlas import Atlas, open_atlas
from model.inference.opening import open_checkpoint
from model.inference.translate import translate
from tests.browser.accessibility import AXE
from tests.conftest import BUNDLED
from tests.live.conftest import LINES, MARKUP, PUBLISHED, Open
from tests.live.hosts import address_of, serve
from tests.live.test_page_in_chromium import AXE_RUN, PHONE, go, ready
from tests.live.test_versions_in_chromium import WAITS, until

SHOWN = "[data-part='atlas head']"
KEPT = """async () => {
    const stores = await Promise.all((await caches.keys()).map((name) => caches.open(name)));
    const kept = (await Promise.all(stores.map((store) => store.keys()))).flat().map(({ url }) => url);
    return kept.flatMap((url) => url.match(/\\/atlas\\/([^/]*)\\.[\\da-f]{16}\\.json$/)?.[1] ?? []);
}"""
HEAD = "#atlas?atlas_head=encoder.1.2"


@pytest.fixture(scope="module")
def atlas(measured: Path) -> Atlas:
    return open_atlas(measured / "atlas")


@pytest.fixture(scope="module")
def site(measured: Path, folder: Path) -> str:
    """The path on the host of a site with two checkpoints, where only the first has an atlas; and a single file."""
    other = shutil.copytree(BUNDLED / "gru-de-en", folder / "gru-de-en", ignore=shutil.ignore_patterns("atlas"))
    assert main(["publish", str(measured), str(other), "--atlas", "--out", str(folder / "with")]) == 0
    assert main(["publish", str(measured), "--atlas", "--out", str(folder / "atlas.html")]) == 0
    return "/with/"


@pytest.fixture
def open_atlas_page(visit: Open, host: ThreadingHTTPServer, site: str) -> Open:
    def open_page(link: str = "#atlas", **options: object) -> Page:
        return visit(link, address=f"{address_of(host)}{site}", **options)

    return open_page


def test_the_page_loads_the_table_and_the_head_that_is_shown_and_no_model(
    chromium: Browser, host: ThreadingHTTPServer, site: str
) -> None:
    page = chromium.new_context().new_page()
    asked: list[str] = []
    page.on("request", lambda one: asked.append(one.url.rsplit("/", 1)[1].rsplit(".", 2)[0]))
    page.goto(f"{address_of(host)}{site}#atlas")
    page.wait_for_selector("html[data-ready]")
    assert {"table", "atlas"} <= set(asked)
    go(page, HEAD)
    assert "encoder.1.2" in asked
    assert not {"model", "tokenizer", "cross.1.1"} & set(asked)
    page.context.close()


def test_links_lead_from_a_head_and_a_cell_to_the_atlas_and_back(open_atlas_page: Open) -> None:
    page = open_atlas_page("#translate?text=The dog sees you.&kind=encoder&layer=2&head=3")
    page.locator("[data-part=map] [data-cell='1,0']").click()
    like = page.get_by_role("link", name="Places like this in the atlas")
    assert "atlas_like=first%3Efirst%40-1" in str(like.get_attribute("href"))
    page.locator("[data-part=map] svg.map").focus()
    for key in ("ArrowDown", "ArrowRight", "Enter"):
        page.keyboard.press(key)
    ready(page, like.click)
    assert re.search(r"#atlas\?.*atlas_head=encoder\.2\.3.*atlas_like=first%3E", page.url)
    expect(page.locator(SHOWN)).to_be_visible()
    ready(page, lambda: page.go_back())
    ready(page, page.get_by_role("link", name="In the atlas").click)
    assert "atlas_head=encoder.2.3" in page.url
    assert "atlas_like" not in page.url
    go(page, "#inside?text=The dog sees you.&kind=cross&layer=3&head=1&query=1")
    line = page.locator(".like")
    expect(line).to_contain_text("Hund → dog: ")
    assert "atlas_like=first%3Efirst" in str(line.get_by_role("link").get_attribute("href"))
    ready(page, lambda: page.get_by_role("link", name="Translate").click())
    ready(page, lambda: page.get_by_role("combobox", name="Head").select_option("mean"))
    assert page.get_by_role("link", name="In the atlas").count() == 0, "it has no mean of the heads"


def test_a_checkpoint_without_an_atlas_has_no_such_page(open_atlas_page: Open, visit: Open) -> None:
    page = open_atlas_page("#translate?checkpoint=gru-de-en")
    assert page.get_by_role("link", name="Atlas").count() == page.locator("a.to-atlas").count() == 0
    go(page, "#atlas?checkpoint=gru-de-en")
    expect(page.locator(".page .note")).to_contain_text("gru-de-en has no atlas on this page.")
    page = visit("#atlas")  # of a site without any
    expect(page.locator("main")).to_contain_text("The link asks for what this page does not have: atlas.")


def test_the_page_works_offline_and_in_one_file(open_atlas_page: Open, visit: Open, folder: Path, atlas: Atlas) -> None:
    page = open_atlas_page(HEAD)
    shown = page.locator(SHOWN).inner_text()
    page.wait_for_function("() => navigator.serviceWorker.controller")
    until(lambda: len(page.evaluate(KEPT)) == len(atlas.heads) + 1)
    page.context.set_offline(True)
    page.reload()
    page.wait_for_selector("html[data-ready]")
    expect(page.locator(SHOWN)).to_have_text(shown, use_inner_text=True)
    go(page, "#atlas?atlas_head=cross.3.4")  # which nobody has opened
    expect(page.locator(f"{SHOWN} h3")).to_have_text("Cross, layer 3, head 4")
    page = visit(HEAD, address=(folder / "atlas.html").as_uri())
    expect(page.locator(SHOWN)).to_have_text(shown, use_inner_text=True)


def test_a_new_version_keeps_the_heads_that_were_shown(
    chromium: Browser, measured: Path, folder: Path, site: str
) -> None:
    """Published again with another checkpoint, each head has other contents: it names similar heads there."""
    shutil.copytree(measured, folder / "copied", dirs_exist_ok=True)
    new = folder / "newer"
    assert main(["publish", str(measured), str(folder / "copied"), "--atlas", "--out", str(new)]) == 0
    (head,) = (new / "checkpoints" / PUBLISHED / "atlas").glob("encoder.1.2.*")
    with serve() as host:
        host.files = files_in(folder / "with")
        context = chromium.new_context()
        page = context.new_page()
        page.goto(f"{host.url}{HEAD}")
        page.wait_for_selector("html[data-ready]")
        page.wait_for_function("() => navigator.serviceWorker.controller")
        host.files = files_in(new)
        page.evaluate("async () => { await (await navigator.serviceWorker.getRegistration()).update(); }")
        until(lambda: page.evaluate(WAITS))
        assert any(path.endswith(head.name) for path in host.asked)
        fresh = chromium.new_context(service_workers="block").new_page()
        fresh.goto(f"{host.url}{HEAD}&atlas_second=cross.1.1")
        fresh.wait_for_selector("html[data-ready]")
        similar = fresh.get_by_title("Open the atlas of copied").first
        layer, number = re.findall(r"\d+", similar.inner_text())[:2]
        ready(fresh, similar.click)
        assert {f"atlas_head=encoder.{layer}.{number}", "checkpoint=copied"} <= set(fresh.url.split("?")[1].split("&"))
        assert "atlas_second" not in fresh.url
        expect(fresh.locator(f"{SHOWN} h3")).to_have_text(f"Encoder self, layer {layer}, head {number}")
        fresh.context.close()
        context.close()


def files_in(site: Path) -> dict[str, bytes]:
    return {path.relative_to(site).as_posix(): path.read_bytes() for path in site.rglob("*") if path.is_file()}


def test_a_head_that_cannot_be_loaded_leaves_what_is_shown_and_can_be_tried_again(
    chromium: Browser, folder: Path, site: str
) -> None:
    files = files_in(folder / "with")
    with serve() as host:
        host.files = {name: content for name, content in files.items() if "cross.3.1" not in name}
        page = chromium.new_context(service_workers="block").new_page()
        page.goto(f"{host.url}{HEAD}")
        page.wait_for_selector("html[data-ready]")
        shown = page.locator(SHOWN).inner_text()
        go(page, "#atlas?atlas_head=cross.3.1")
        expect(page.locator("main [role=status] .problem")).to_contain_text("cross.3.1")
        assert page.locator(SHOWN).inner_text() == shown
        host.files = files
        ready(page, page.get_by_role("button", name="Try again").click)
        expect(page.locator(SHOWN)).not_to_have_text(shown, use_inner_text=True)
        expect(page.locator("main .problem")).to_have_count(0)
        page.context.close()


def test_the_saved_table_has_the_numbers_of_the_atlas(open_atlas_page: Open, atlas: Atlas) -> None:
    page = open_atlas_page()
    with page.expect_download() as download:
        page.get_by_role("button", name="Save the table as CSV").click()
    assert download.value.suggested_filename == f"headlight-atlas-{PUBLISHED}.csv"
    rows = list(csv.DictReader(download.value.path().read_text(encoding="utf-8").splitlines()))
    assert [(row["kind"], int(row["layer"]) - 1, int(row["head"]) - 1) for row in rows] == [
        (head.kind, head.layer, head.head) for head in atlas.heads
    ]
    names = ("entropy", "previous", "previous_low", "previous_high", "alignment")
    for name, column in atlas.numbers(*names).items():
        saved = np.array([float(row[name] or "nan") for row in rows])
        np.testing.assert_allclose(saved, column, rtol=1e-6)


def rows_of(page: Page) -> Locator:
    return page.get_by_role("region", name="Table of heads").locator("tbody tr")


def test_a_rule_in_the_link_chooses_heads_and_a_rule_that_is_typed_gets_into_the_link(
    open_atlas_page: Open, atlas: Atlas
) -> None:
    found = atlas.numbers("previous", "sinks")
    layers = np.array([head.layer + 1 for head in atlas.heads])
    first = int(((found["previous"] > 0.5) & (layers <= 2)).sum())
    page = open_atlas_page(f"#atlas?atlas_rule={quote('previous > 0.5 and layer <= 2')}")
    expect(rows_of(page)).to_have_count(first)
    expect(page.locator("main")).to_contain_text(f"{first} of 72 heads")
    field = page.get_by_role("textbox", name="Rule")
    field.fill("sinks > 0.6")
    ready(page, lambda: field.press("Enter"))
    second = int((found["sinks"] > 0.6).sum())
    assert 0 < first != second < 40
    expect(rows_of(page)).to_have_count(second)
    other = open_atlas_page(page.evaluate("() => location.hash"))
    expect(rows_of(other)).to_have_count(second)


def test_a_head_of_the_table_opens_with_its_sentences_and_back_closes_it(open_atlas_page: Open) -> None:
    page = open_atlas_page()
    assert page.locator(SHOWN).count() == 0
    ready(page, rows_of(page).get_by_role("button").first.click)
    assert "atlas_head=" in page.url
    shown = page.locator(SHOWN)
    expect(shown).to_be_visible()
    expect(shown).to_contain_text("sees")
    ready(page, lambda: page.go_back())
    assert page.locator(SHOWN).count() == 0


def test_a_sentence_of_the_atlas_opens_on_translate_with_the_head(open_atlas_page: Open) -> None:
    page = open_atlas_page("#atlas?atlas_head=cross.2.5")
    ready(page, page.get_by_role("button", name="See all maps of this sentence").first.click)
    assert {"kind=cross", "layer=2", "head=5"} <= set(page.url.split("?")[1].split("&"))
    assert page.locator("input[name=text]").input_value() in [*LINES, MARKUP]
    expect(page.locator(".written")).to_be_visible()


def test_two_heads_are_drawn_for_the_sentence_of_the_visitor(open_atlas_page: Open, measured: Path) -> None:
    page = open_atlas_page("#atlas?atlas_head=cross.3.1&atlas_second=encoder.1.2")
    assert page.locator("input[name=text]").count() == 0
    ready(page, page.get_by_role("button", name="Open the model").click)
    field = page.locator("input[name=text]")
    field.fill("A dog runs.")
    ready(page, lambda: field.press("Enter"))
    both = page.locator(".both svg.map")
    expect(both).to_have_count(2)
    written = [token.text for token in translate(open_checkpoint(measured), "A dog runs.").written]  # type: ignore[arg-type]
    for token in written:
        expect(both.first).to_contain_text(token)
    expect(both.last).to_contain_text("runs")


def test_markup_in_a_sentence_of_the_atlas_is_text(open_atlas_page: Open) -> None:
    page = open_atlas_page("#atlas?atlas_head=encoder.1.1")
    shown = page.locator(SHOWN)
    for part in ("script", "12"):
        expect(shown).to_contain_text(part)
    assert page.locator("main script, main b").count() == 0
    assert "Atlas" in page.title()
    page = open_atlas_page(f"#atlas?atlas_head=cross.9.9&atlas_rule={quote('<img src=x onerror=alert()>')}")
    expect(page.locator(".notes")).to_contain_text("This model has no head cross.9.9.")
    assert page.locator("main img").count() == 0


@pytest.mark.parametrize("phone", [False, True], ids=["a laptop, light", "a phone, dark"])
def test_axe_finds_nothing_and_the_page_is_not_wider_than_the_screen(open_atlas_page: Open, phone: bool) -> None:
    page = open_atlas_page(
        "#atlas?atlas_head=encoder.1.2&atlas_second=decoder.1.1",
        color_scheme="dark" if phone else "light",
        **(PHONE if phone else {}),
    )
    page.evaluate(AXE)
    assert page.evaluate(AXE_RUN) == []
    assert page.evaluate("() => document.documentElement.scrollWidth <= document.documentElement.clientWidth")


def test_heads_that_are_opened_one_after_the_other_do_not_fill_the_memory(open_atlas_page: Open, atlas: Atlas) -> None:
    page = open_atlas_page()
    browser = page.context.new_cdp_session(page)

    def used_after(names: list[str]) -> int:
        for name in names:
            go(page, f"#atlas?atlas_head={name}")
        browser.send("HeapProfiler.collectGarbage")
        return int(browser.send("Runtime.getHeapUsage")["usedSize"])

    names = [head.code for head in atlas.heads]
    before, after = used_after(names[:20]), used_after(names[20:60])
    assert after - before < 4e5
