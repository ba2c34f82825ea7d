"""A published page in a real browser: it translates as the model does, offline, from a folder or from one file."""

import re
import time
from collections.abc import Callable
from http.server import ThreadingHTTPServer
from pathlib import Path
from urllib.parse import quote

import numpy as np
import pytest
from playwright.sync_api import Browser, Page, expect

from headlight.command import main
from model.checkpoints.checkpoint import Checkpoint, load_checkpoint
from model.inference.translate import translate
from model.interventions import Head, Intervention
from tests.browser.accessibility import AXE
from tests.conftest import BUNDLED, PATIENCE
from tests.live.conftest import PUBLISHED, Open

TEXT = "The dog sleeps because it is tired."
KEPT = """async () => {
    const stores = await Promise.all((await caches.keys()).map((name) => caches.open(name)));
    const kept = (await Promise.all(stores.map((store) => store.keys()))).flat().map(({ url }) => url);
    return ['/index.', '/model.'].every((part) => kept.some((url) => url.includes(part)));
}"""
AXE_RUN = """async () => (await axe.run({ resultTypes: ['violations'] })).violations
    .flatMap(({ id, nodes }) => nodes.map(({ target, failureSummary }) => `${id}: ${target} ${failureSummary}`))"""
WORD = "a" * 100  # wider than a phone
WORDS_OF_PAGE = """() => [...document.querySelectorAll('main *, nav *')].flatMap((one) => [
    ...[...one.attributes].filter(({ name }) => /title|label|alt/.test(name)).map(({ value }) => value),
    ...[...one.childNodes].filter(({ nodeType }) => nodeType === Node.TEXT_NODE).map(({ data }) => data)])"""
WIDE = """() => [...document.querySelectorAll('svg, table')]
    .filter((one) => one.checkVisibility() && one.getBoundingClientRect().right > innerWidth + 1)
    .map(({ outerHTML }) => outerHTML.slice(0, 80))"""
PHONE = {"viewport": {"width": 390, "height": 844}, "is_mobile": True, "has_touch": True}


@pytest.fixture(scope="module")
def checkpoint() -> Checkpoint:
    return load_checkpoint(BUNDLED / PUBLISHED)


def shown_map(page: Page) -> np.ndarray:
    """The exact numbers of the large map, from its table; NaN where masked."""
    page.locator("details.numbers").evaluate("(table) => { table.open = true; }")
    page.wait_for_selector("details.numbers tbody tr")
    rows = page.evaluate(
        "() => [...document.querySelectorAll('details.numbers tbody tr')]"
        ".map((row) => [...row.querySelectorAll('td')].map((cell) => Number(cell.textContent.replace('–', 'NaN'))))"
    )
    return np.array(rows, dtype=float)


def ready(page: Page, act: Callable[[], object]) -> None:
    """Do something, and wait until the page has drawn its effect."""
    before = page.evaluate("() => document.documentElement.dataset.ready")
    act()
    page.wait_for_function("(before) => document.documentElement.dataset.ready !== before", arg=before)


def test_what_few_visitors_want_is_loaded_when_they_want_it(visit: Open) -> None:
    """The scripts of a saved picture, of two pages and of the page of the model; each once, and each page works."""
    page = visit(f"#translate?text={quote(TEXT)}")
    asked: list[str] = page.evaluate("() => performance.getEntriesByType('resource').map(({ name }) => name)")
    assert not [one for one in asked if re.search(r"/(foreign|lessons|own|positions|saving|steps)\.", one)]
    later: list[str] = []
    page.on("request", lambda one: later.append(one.url.rsplit("/", 1)[1].split(".")[0]))
    for _ in range(2):
        page.locator(".hl-save summary").first.click()
        with page.expect_download() as download:
            page.get_by_role("button", name="SVG").click()
        drawing = download.value.path().read_text(encoding="utf-8")
        assert "<svg" in drawing
        assert TEXT in drawing, "a fact about the picture"
        ready(page, lambda: page.get_by_role("link", name="Step by step").click())
        expect(page.locator(".hl-candidates, .candidates").first).to_be_visible()
        ready(page, lambda: page.get_by_role("link", name="Positional encoding").click())
        expect(page.locator("[data-part=matrix] image")).to_be_visible()
        ready(page, lambda: page.get_by_role("button", name="Open your own model").click())
        expect(page.get_by_text("About this model")).to_be_visible()
        ready(page, lambda: page.get_by_role("link", name="Translate").click())
    assert [later.count(name) for name in ("saving", "steps", "positions", "own", "foreign")] == [1, 1, 1, 1, 0]


def go(page: Page, link: str) -> None:
    """Follow a link in the page that is open."""
    ready(page, lambda: page.evaluate("(link) => { location.hash = link; }", link))


def test_translation_and_maps_are_those_of_pytorch_and_a_link_opens_the_same_state(
    visit: Open, checkpoint: Checkpoint
) -> None:
    page = visit()
    field = page.get_by_label("Type a sentence in English and press Enter")
    field.fill(TEXT)
    ready(page, lambda: field.press("Enter"))
    ours = translate(checkpoint, TEXT)
    assert page.locator(".written").text_content() == ours.text
    ready(page, lambda: page.get_by_role("button", name="layer 2, head 5").click())
    np.testing.assert_allclose(shown_map(page), ours.maps["cross"][1, 4], atol=6e-5)
    ready(page, lambda: page.get_by_role("button", name="decoder self, masked").click())
    drawn = shown_map(page)
    np.testing.assert_allclose(np.nan_to_num(drawn), ours.maps["decoder"][1, 4], atol=6e-5)
    assert np.isnan(drawn).sum() == len(drawn) * (len(drawn) - 1) / 2
    written = page.locator("[data-row=writes] [data-i]").nth(2)
    expect(written).to_contain_text(f"{100 * ours.written[2].probability:.1f}")
    other = visit(page.evaluate("() => location.hash"))
    np.testing.assert_array_equal(shown_map(other), drawn)


def test_a_forced_word_and_a_silenced_head_change_the_translation_as_in_pytorch(
    visit: Open, checkpoint: Checkpoint
) -> None:
    page = visit(f"#steps?text={quote(TEXT)}&step=2")
    candidate = page.locator(".candidate:not(.written)").first
    token = int(str(candidate.get_attribute("data-id")))
    ready(page, candidate.click)
    assert page.locator(".written").first.text_content() == translate(checkpoint, TEXT, forced={1: token}).text
    code = "off.cross.3.1-2-3-4-5-6-7-8"
    page = visit(f"#heads?text={quote(TEXT)}&intervention={code}")
    silenced = Intervention(ablated=frozenset(Head("cross", 2, head) for head in range(8)))
    changed = translate(checkpoint, TEXT, edits=silenced.edits()).text
    assert page.locator(".hl-lines bdi").nth(1).text_content().strip() == changed  # type: ignore[union-attr]
    ready(page, lambda: page.get_by_role("switch", name="cross-attention, layer 3, head 1").click())
    assert "off.cross.3.2-3-4-5-6-7-8" in page.evaluate("() => location.hash")


@pytest.mark.parametrize(
    ("link", "pictures"),
    [
        ("translate", {"Lines": "[data-part=lines] svg", "Heatmaps": "[data-part=grid] .sheet"}),
        (
            "positions",
            {
                "Waves": "[data-part=waves] path",
                "In a sentence": ".hl-lines",
                "The matrix": "[data-part=matrix] image",
            },
        ),
    ],
)
def test_every_view_of_a_page_opens_after_every_other_one(visit: Open, link: str, pictures: dict[str, str]) -> None:
    page = visit(f"#{link}")
    views = page.get_by_role("group", name="View")
    for chosen in [*pictures, *pictures, *reversed(pictures)]:
        ready(page, views.get_by_role("button", name=chosen).click)
        assert page.get_by_role("alert").count() == 0
        for one, picture in pictures.items():
            assert bool(page.locator(f"main .page {picture}").count()) == (one == chosen), (chosen, one)


@pytest.mark.parametrize("key", ["Enter", "Space"])
def test_a_weight_is_painted_with_the_keyboard(visit: Open, key: str) -> None:
    page = visit(f"#heads?text={quote(TEXT)}&kind=cross&layer=1&head=1&painted_weight=0.5")
    large = page.locator("[data-part=map] svg.map")
    for arrow in ("ArrowDown", "ArrowDown", "ArrowRight"):
        large.press(arrow)
    scrolled = page.evaluate("() => scrollY")
    ready(page, lambda: large.press(key))
    assert "paint.cross.1.1.2.2.0.5" in page.evaluate("() => location.hash")
    expect(large).to_be_focused()
    assert page.evaluate("() => scrollY") == scrolled


def test_the_measurement_of_all_heads_ends_with_its_page_and_goes_on_there(visit: Open) -> None:
    page = visit(f"#steps?text={quote(' '.join([TEXT] * 4))}")
    page.evaluate("""() => {
        window.asked = [];
        const { postMessage } = Worker.prototype;
        Worker.prototype.postMessage = function (message) {
            asked.push(message);
            return postMessage.call(this, message);
        };
    }""")
    menu = page.get_by_role("navigation")
    ready(page, menu.get_by_role("link", name="Heads").click)
    status = page.get_by_role("status").filter(has_text="is being measured")
    expect(status).to_contain_text(re.compile("(12|24|36|48|60) of"))
    ready(page, menu.get_by_role("link", name="Masks").click)
    measured = page.evaluate("() => asked.filter(({ method }) => method === 'silenceEachHead').at(-1).id")
    assert page.evaluate("(id) => asked.some((one) => one.id === id && one.method === 'cancel')", measured)
    ready(page, menu.get_by_role("link", name="Heads").click)
    assert page.evaluate("() => asked.filter(({ method }) => method === 'silenceEachHead').at(-1).values[1]") >= 12


def test_an_empty_sentence_and_another_script_get_the_notes_of_the_app(visit: Open) -> None:
    page = visit()
    field, note = page.get_by_label("Type a sentence in English and press Enter"), page.locator(".note")
    field.fill("  ")
    field.press("Enter")
    expect(note).to_have_text("Type a sentence above, or choose an example.")
    field.fill("Я тебя люблю.")
    ready(page, lambda: field.press("Enter"))
    expect(note).to_have_text("Most letters of this text are not English, and this model reads English.")


def test_sentences_keep_the_numbers_of_their_fields_and_their_maps_fit(visit: Open) -> None:
    long = " ".join([TEXT] * 2)
    page = visit(f"#masks?batch_en_1={quote(long)}&batch_en_2=&batch_en_3={quote(TEXT)}&batch_en_4=")
    assert page.get_by_role("group", name="Show sentence").get_by_role("button").all_text_contents() == ["1", "3"]
    assert page.locator(".hl-batch").first.get_by_role("rowheader").all_text_contents() == ["source 1", "source 3"]
    assert (
        page.locator(".page .scroll").evaluate_all(
            "(all) => all.filter((one) => one.scrollWidth > one.clientWidth).length"
        )
        == 0
    )


def test_the_derived_numbers_agree_with_the_models_own(visit: Open) -> None:
    page = visit("#inside?kind=decoder&layer=2&head=3&query=3")
    expect(page.locator(".agrees")).to_contain_text("only rounding")
    page.locator("details.numbers summary").click()
    page.wait_for_selector("details.numbers tbody tr")
    cells = page.locator("details.numbers tbody tr").evaluate_all(
        "(rows) => rows.map((row) => row.cells[4].textContent)"
    )
    assert sum(map(float, cells)) == pytest.approx(1, abs=1e-3)


def test_the_page_works_offline_after_the_first_visit(visit: Open) -> None:
    page = visit(f"#translate?text={quote(TEXT)}")
    text = page.locator(".written").text_content()
    deadline = time.monotonic() + PATIENCE
    while not page.evaluate(KEPT):  # `wait_for_function` does not wait for a promise
        assert time.monotonic() < deadline
        page.wait_for_timeout(100)
    page.context.set_offline(True)
    page.reload()
    page.wait_for_selector("html[data-ready]")
    assert page.locator(".written").text_content() == text


def test_one_file_works_from_a_disk(visit: Open, folder: Path, checkpoint: Checkpoint) -> None:
    page = visit(f"#translate?text={quote(TEXT)}", address=(folder / "one.html").as_uri())
    assert page.locator(".written").text_content() == translate(checkpoint, TEXT).text


def test_the_policy_of_a_page_lets_its_engine_run_webassembly(visit: Open, folder: Path) -> None:
    """Without it the engine would compute in plain JavaScript, and nothing else would show it."""
    empty = "() => new WebAssembly.Module(new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0])).constructor.name"
    (worker,) = visit("#translate").workers
    assert worker.evaluate(empty) == "Module"
    assert visit("#translate", address=(folder / "one.html").as_uri()).evaluate(empty) == "Module"


def test_markup_in_a_sentence_and_in_a_link_is_text(visit: Open) -> None:
    hostile = '<img src=x onerror="document.title=1">{text}</script>'
    page = visit(
        f"#translate?text={quote(hostile)}&checkpoint=<b>&layer=99999999999&head=-1&intervention=off.x.1.1&kind=__proto__"
    )
    assert page.locator("main img[src=x]").count() == 0
    assert page.locator("input[name=text]").input_value() == hostile
    assert "Translate" in page.title()
    assert page.locator(".page svg.map").count() == 1
    page = visit(f"#positions?text={quote(hostile)}&position_tab=sentence")  # names the whole sentence
    expect(page.locator(".hl-lines")).to_contain_text(hostile)
    assert page.locator("main img[src=x]").count() == 0


def test_a_damaged_checkpoint_ends_in_a_sentence_in_the_language_of_the_visitor(
    visit: Open, chromium: Browser, host: ThreadingHTTPServer
) -> None:
    page = chromium.new_context(service_workers="block", locale="ko-KR").new_page()
    page.add_init_script("delete Crypto.prototype.subtle")  # an address that is not secure has no digests
    page.route("**/model.*.safetensors", lambda route: route.fulfill(body=b"\x00" * 100))
    page.goto(f"http://127.0.0.1:{host.server_port}/class/live/")
    problem = page.get_by_role("alert")
    expect(problem).to_contain_text("다시 시도")
    expect(problem).to_contain_text("가중치가 손상되었거나 safetensors 파일이 아닙니다.")
    page.context.close()


@pytest.mark.parametrize("phone", [False, True], ids=["a laptop, light", "a phone, dark"])
def test_axe_finds_nothing_and_no_page_is_wider_than_the_screen(visit: Open, phone: bool) -> None:
    page = visit(color_scheme="dark" if phone else "light", **PHONE if phone else {})
    page.evaluate(AXE)
    links = page.locator("nav a").evaluate_all("(links) => links.map((link) => link.getAttribute('href'))")
    assert len(links) == 8
    for link in links:
        go(page, link)
        assert page.evaluate(AXE_RUN) == [], link
        assert page.evaluate("() => document.documentElement.scrollWidth <= document.documentElement.clientWidth"), link


def test_back_leads_to_the_sentence_before_and_a_checkpoint_of_the_same_language_keeps_it(
    visit: Open, folder: Path, host: ThreadingHTTPServer
) -> None:
    assert main(["publish", PUBLISHED, "everyday-en-zh", "gru-de-en", "--out", str(folder / "three")]) == 0
    page = visit(address=f"http://127.0.0.1:{host.server_port}/three/")
    field, checkpoints = page.locator("input[name=text]"), page.get_by_label("Checkpoint")
    asked = ["I am hungry.", "Tom & Jerry = 100% + more? #1"]
    for text in asked:
        field.fill("")
        field.press_sequentially(text)
        ready(page, lambda: field.press("Enter"))
    ready(page, page.get_by_role("button", name="layer 2, head 5").click)
    ready(page, lambda: checkpoints.select_option("everyday-en-zh"))
    expect(field).to_have_value(asked[1])
    ready(page, lambda: checkpoints.select_option("gru-de-en"))
    expect(field).not_to_have_value(asked[1])
    for text in (asked[1], asked[1], asked[0], "Where is the station?"):
        ready(page, page.go_back)
        expect(field).to_have_value(text)
    assert page.url.endswith("/three/")


def test_what_a_link_asks_for_in_vain_is_named_until_the_visitor_chooses_something(visit: Open) -> None:
    note = "The link asks for what this page does not have: {}."
    for link, named in {
        "translate?head=rollout&method=beam&layer=1": "head=rollout, method=beam",
        "translate?checkpoint=constructor&lang=constructor&layer=77&intervention=off.cross.9.1": (
            "checkpoint=constructor, lang=constructor, layer=77, intervention=off.cross.9.1"
        ),
        "__proto__?lang=__proto__&kind=toString": "__proto__, kind=toString, lang=__proto__",
    }.items():
        page = visit(f"#{link}")
        expect(page.locator(".empty .note")).to_have_text(note.format(named))
        assert page.locator(".page svg.map").count() == 1
    ready(page, page.get_by_role("button", name="layer 2, head 5").click)
    assert page.locator(".empty .note").count() == 0
    assert visit("#translate?method=greedy&view=heatmaps&layer=2&head=max").locator(".empty .note").count() == 0


def test_a_text_that_is_cut_gets_a_note(visit: Open) -> None:
    page = visit()
    field = page.locator("input[name=text]")
    field.fill("x" * 2000)
    field.press("Enter")
    expect(page.locator(".empty .note")).to_have_text("The text has 2,000 characters. Only the first 1,000 were read.")
    page = visit(f"#masks?batch_en_1={quote('The dog sleeps. ' * 26)}&batch_en_2=&batch_en_3=&batch_en_4=")
    note = page.locator(".note").filter(has_text="The text has 416 characters. Only the first 400 were read.")
    expect(note).to_be_visible()


@pytest.mark.parametrize("link", ["translate?view=lines", "positions?position_tab=sentence", "steps", "masks"])
def test_after_a_change_of_the_language_every_word_is_in_it(visit: Open, link: str) -> None:
    page = visit(f"#{link}", locale="en-US")
    table = page.locator("details.numbers summary")
    if table.count():
        ready(page, table.click)
    ready(page, lambda: page.get_by_label("Language").select_option("ko"))
    direct = visit(f"#{link}{'&' if '?' in link else '?'}lang=ko")
    if table.count():
        ready(direct, direct.locator("details.numbers summary").click)
    assert page.evaluate(WORDS_OF_PAGE) == direct.evaluate(WORDS_OF_PAGE)


def test_a_phone_shows_long_words_and_the_probabilities_of_the_last_token(visit: Open) -> None:
    page = visit(f"#translate?text={WORD}", **PHONE)
    for link in ("heads", "positions?position_tab=sentence", "positions?position_tab=waves"):
        go(page, f"#{link}{'&' if '?' in link else '?'}text={WORD}")
        for width in (320, 390):
            page.set_viewport_size({"width": width, "height": 844})
            page.wait_for_function("(width) => document.documentElement.scrollWidth === width", arg=width)
            if "position_tab" in link:
                page.wait_for_function(f"() => !({WIDE})().length")
    go(page, "#translate?text=The dogs are sleeping in the garden because they are tired.")
    for width in (390, 320):
        page.set_viewport_size({"width": width, "height": 844})
        for chip in (page.locator("[data-row=writes] .hl-chip").first, page.locator("[data-row=writes] .hl-chip").last):
            chip.focus()
            box = chip.locator(".hl-tip").bounding_box()
            assert box is not None
            assert 0 <= box["x"] <= width - box["width"]
        page.wait_for_function("(width) => document.documentElement.scrollWidth === width", arg=width)


def test_a_printed_page_has_the_sentence_and_whole_pictures_in_dark_ink(visit: Open) -> None:
    long = " ".join([TEXT] * 5)
    for link in (f"translate?text={quote(long)}", f"masks?batch_en_1={quote(long)}", "positions"):
        page = visit(f"#{link}", color_scheme="dark")
        page.evaluate("() => { for (const table of document.querySelectorAll('details.numbers')) table.open = true; }")
        page.set_viewport_size({"width": 718, "height": 1000})  # A4 without its margins
        page.emulate_media(media="print")
        assert page.evaluate(WIDE) == [], link
        assert page.evaluate("() => getComputedStyle(document.body).color") == "rgb(27, 37, 48)"
        expect(page.locator(".printed")).to_be_visible()
        expect(page.locator(".printed")).to_contain_text(long if "translate" in link else PUBLISHED)


def test_the_model_card_is_in_the_site_and_in_the_file_in_three_languages(visit: Open, folder: Path) -> None:
    limits = {"en": "Limits", "zh": "局限", "ko": "한계"}
    for one in ({}, {"address": (folder / "one.html").as_uri()}):
        page = visit("#checkpoints?lang=ko", **one)
        for language, word in limits.items():
            go(page, f"#checkpoints?lang={language}")
            card = page.locator(".card")
            expect(card).to_contain_text("CC-BY")
            expect(card).to_contain_text(word)


def test_enter_works_in_a_frame_without_forms(chromium: Browser, folder: Path, host: ThreadingHTTPServer) -> None:
    (folder / "frame.html").write_text('<iframe sandbox="allow-scripts allow-same-origin" src="class/live/"></iframe>')
    page = chromium.new_context(service_workers="block").new_page()
    page.goto(f"http://127.0.0.1:{host.server_port}/frame.html")
    inside = page.frame_locator("iframe")
    inside.locator("html[data-ready]").wait_for(state="attached")
    inside.locator("input[name=text]").fill("I am hungry.")
    inside.locator("input[name=text]").press("Enter")
    expect(inside.locator(".written")).to_have_text("Ich habe Hunger.")
    page.context.close()
