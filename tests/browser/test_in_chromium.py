"""The main path as a visitor walks it: type, see the translation change, click a tile, see that head."""

import io
import re
from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
from PIL import Image
from playwright.sync_api import Page, expect
from plotly.colors import get_colorscale, hex_to_rgb

from model.checkpoints.checkpoint import load_checkpoint
from model.config.kinds import KINDS
from model.inference.export import maps_csv
from model.inference.run import Result
from model.inference.translate import translate
from tests.browser.accessibility import check
from tests.browser.conftest import cell, settle, tile
from tests.conftest import BUNDLED
from viz_app.content.examples import EVERYDAY
from viz_app.content.numbers import percent
from viz_app.figures.colours import DARK, MASKED, SEQUENTIAL
from viz_app.widgets.checkpoint_choice import DEFAULT_CHECKPOINT

Visit = Callable[..., Page]
FIRST_TEXT, SENTENCE = EVERYDAY["en"][0], "Two women are reading a newspaper."
# Whether the cells of the large map have these colours, red, green and blue each, except for rounding.
SHOWS = """([wanted, masked]) => {
    const root = [...document.querySelectorAll('.st-key-head_map *')].find(one => one.shadowRoot)?.shadowRoot;
    const fills = [...root?.querySelectorAll('[data-cell]') ?? []].map(one => one.getAttribute('fill'));
    const same = (fill, colour) => fill.match(/\\d+/g).every((part, c) => Math.abs(Number(part) - colour[c]) <= 1);
    return fills.length === wanted.length
        && fills.every((fill, i) => fill === masked ? !wanted[i] : same(fill, wanted[i]));
}"""


# What a screen reader is given to say from now on.
LISTEN = """() => {
    window.heard = [];
    const ear = document.querySelector('[data-announcer]');
    const all = { childList: true, characterData: true, subtree: true };
    new MutationObserver(() => heard.push(ear.textContent)).observe(ear, all);
}"""


def expected_translation(text: str, name: str = DEFAULT_CHECKPOINT) -> Result:
    return translate(load_checkpoint(BUNDLED / name), text)


def wait_for_map(page: Page, weights: np.ndarray) -> None:
    """Until the large map has the colours of these weights (T, S), and grey where a mask made them 0."""
    stops = np.array([hex_to_rgb(colour) for _, colour in get_colorscale(SEQUENTIAL)], dtype=float)
    places = np.linspace(0, 1, len(stops))
    colours = np.stack([np.interp(weights.ravel(), places, channel) for channel in stops.T], axis=1)
    wanted = [colour if weight else None for colour, weight in zip(colours.round().tolist(), weights.flat, strict=True)]
    page.wait_for_function(SHOWS, arg=[wanted, MASKED])


def wait_for_head(page: Page, layer: int, head: int | str) -> None:
    title = f"Layer {layer} · {head}." if isinstance(head, str) else f"Layer {layer} · head {head}."
    expect(page.get_by_text(title)).to_be_visible()
    expect(cell(page, 0, 0)).to_be_visible()
    settle(page)


def type_sentence(page: Page, text: str) -> None:
    field = page.get_by_label(re.compile("Type a sentence"))
    field.fill(text)
    field.press("Enter")


def test_type_translate_click_a_tile_and_see_that_head(visit: Visit) -> None:
    page = visit()
    wait_for_head(page, 3, 1)
    before = page.locator(".hl-text").inner_text()
    page.evaluate(LISTEN)
    type_sentence(page, SENTENCE)
    expected = expected_translation(SENTENCE)
    expect(page.locator(".hl-text")).to_have_text([expected.text])
    assert before != expected.text
    assert page.locator(".hl-text bdi").get_attribute("lang") == "de"
    assert page.get_by_label(re.compile("Type a sentence")).get_attribute("lang") == "en"
    wait_for_map(page, expected.maps["cross"][2, 0])
    tile(page, layer=1, head=6).click()
    wait_for_head(page, 1, 6)
    wait_for_map(page, expected.maps["cross"][0, 5])
    page.get_by_text("encoder self", exact=True).click()
    expect(page.get_by_text(KINDS["encoder"].shows)).to_be_visible()
    wait_for_map(page, expected.maps["encoder"][0, 5])
    expect(page).to_have_url(re.compile("layer=1.*head=6"))
    assert page.evaluate("heard") == [f"Written: {expected.text}"], "once, not at every run"


def test_every_tile_of_a_long_sentence_opens_its_head(visit: Visit) -> None:
    page = visit("?text=" + "+".join(["A man rides a horse"] * 8))
    wait_for_head(page, 3, 1)
    for layer, head in ((1, 1), (2, 6), (3, 4)):
        tile(page, layer=layer, head=head).click()
        wait_for_head(page, layer, head)


def test_a_link_shows_the_state_that_was_shared(visit: Visit) -> None:
    page = visit()
    wait_for_head(page, 3, 1)
    type_sentence(page, SENTENCE)
    expect(page.locator(".hl-text")).to_have_text([expected_translation(SENTENCE).text])
    settle(page)
    page.get_by_text("decoder self, masked", exact=True).click()
    expect(page).to_have_url(re.compile("kind=decoder"))
    shared = visit(page.url.split("/", 3)[3])
    wait_for_head(shared, 3, 1)
    expect(shared.get_by_label(re.compile("Type a sentence"))).to_have_value(SENTENCE)
    wait_for_map(shared, expected_translation(SENTENCE).maps["decoder"][2, 0])


def test_choices_follow_to_the_next_page_and_back(visit: Visit) -> None:
    page = visit("?layer=2&head=3&text=A+boy+jumps.")
    wait_for_head(page, 2, 3)
    page.get_by_role("link", name="Masks").click()
    expect(page.get_by_text("Combined decoder mask.")).to_be_visible()
    expect(page.get_by_label(re.compile("Scores before the mask: layer 2, head 3"))).to_have_count(1)
    settle(page)
    page.get_by_role("link", name="Translate").click()
    wait_for_head(page, 2, 3)
    expect(page.locator(".hl-text")).to_have_text([expected_translation("A boy jumps.").text])


def test_hovering_a_written_token_shows_the_runners_up(visit: Visit) -> None:
    page = visit()
    wait_for_head(page, 3, 1)
    chip = page.locator(".hl-chip[tabindex]").nth(1)
    tip = chip.locator(".hl-tip")
    expect(tip).to_be_hidden()
    chip.hover()
    expect(tip).to_be_visible()
    written = expected_translation(FIRST_TEXT).written[1]
    first, second = tip.locator("div").nth(0), tip.locator("div").nth(1)
    expect(first).to_contain_text(percent(written.candidates[0].probability))
    expect(second).to_contain_text(written.candidates[1].token)


def test_hovering_a_cell_names_query_key_and_weight(visit: Visit) -> None:
    page = visit()
    wait_for_head(page, 3, 1)
    cell(page, 0, 0).hover()
    expected = expected_translation(FIRST_TEXT)
    hover = page.locator(".st-key-head_map .says")
    expect(hover).to_contain_text(f"after reading “<s>”, writes “{expected.written[0].text}”")
    expect(hover).to_contain_text(f"key: {expected.source[0].text}")
    expect(hover).to_contain_text(f"{expected.maps['cross'][2, 0, 0, 0]:.6f}"[:7])
    assert page.locator("[aria-live=polite]").count() == 0, "every change is announced in one place"
    page.locator(".st-key-head_map svg.map").press("ArrowRight")
    announcement = re.compile(r"^query: after reading .+; key: .+; attention weight: [\d.e-]{1,7}$")
    expect(page.locator("[data-announcer]")).to_have_text(announcement)
    top = np.unravel_index(expected.maps["cross"][2, 0].argmax(), expected.maps["cross"][2, 0].shape)
    page.get_by_role("button", name="Numbers").nth(1).click()
    expect(page.get_by_role("region", name="Table of the numbers: Heatmap")).to_be_visible()
    query, key = expected.written[top[0]].text, expected.source[top[1]].text
    expect(page.get_by_text(f"{expected.maps['cross'][2, 0][top]:.3g} (query: {query}; key: {key}).")).to_be_visible()
    check(page)


def test_a_word_highlights_the_words_that_it_attends_to_and_its_row_and_vice_versa(visit: Visit) -> None:
    page = visit("?layer=3&head=2")
    wait_for_head(page, 3, 2)
    expected = expected_translation(FIRST_TEXT)
    cross = expected.maps["cross"][2, 1]
    written, chips = 1, page.locator(".hl-row[data-row=writes] [data-i]")
    expect(page.locator(".hl-looks line")).to_have_count(int((cross >= 0.2).sum()))
    chips.nth(written).hover()
    expect(chips.nth(written)).to_have_class(re.compile("hl-asks"))
    looked = page.locator(".hl-row[data-row=reads] .hl-looked")
    expect(looked).to_have_count(int((cross[written] >= 0.02).sum()))
    mark = page.locator(".st-key-head_map .marked")
    expect(mark).to_be_visible()
    frame, first, last = (
        one.bounding_box() for one in (mark, cell(page, written, 0), cell(page, written, cross.shape[1] - 1))
    )
    assert frame
    assert first
    assert last
    assert frame["y"] == pytest.approx(first["y"], abs=3)
    assert frame["height"] == pytest.approx(first["height"], abs=5)  # the stroke of the frame lies on its edge
    assert frame["width"] == pytest.approx(last["x"] + last["width"] - first["x"], abs=5)

    page.mouse.move(2, 2)
    expect(page.locator(".hl-looked")).to_have_count(0)
    expect(mark).to_be_hidden()
    cell(page, 2, 1).hover()
    expect(chips.nth(2)).to_have_class(re.compile("hl-asks"))


def test_maps_can_be_downloaded(visit: Visit) -> None:
    page = visit()
    wait_for_head(page, 3, 1)
    expected = expected_translation(FIRST_TEXT)
    with page.expect_download() as download:
        page.get_by_role("button", name="Download").click()
        page.get_by_role("button", name="NPZ").click()
    with np.load(download.value.path(), allow_pickle=False) as file:
        for name in expected.maps:
            np.testing.assert_allclose(file[name], expected.maps[name], atol=1e-6)
    with page.expect_download() as download:
        page.get_by_role("button", name="CSV").click()
    facts = {"checkpoint": "everyday-en-de", "sentence": FIRST_TEXT, "translation": expected.text}
    table, wanted = pd.read_csv(download.value.path()), pd.read_csv(io.BytesIO(b"".join(maps_csv(expected, facts))))
    pd.testing.assert_frame_equal(table, wanted, atol=1e-6)


def test_typed_text_never_becomes_markup(visit: Visit) -> None:
    page = visit()
    wait_for_head(page, 3, 1)
    markup = ("</script><script>document.title='hacked'</script>", "<img src=x onerror=alert(1)>", "$x$ **b**")
    for text in (*markup, "🐕‍🦺", "مرحبا"):
        type_sentence(page, text)
        expect(page.locator(".hl-text")).to_have_text([expected_translation(text).text])
        settle(page)
        assert page.title() == "Translate" or "Headlight" in page.title()
        assert page.locator("img[src=x]").count() == 0
        assert page.locator("[data-testid=stException]").count() == 0


def test_two_visitors_do_not_disturb_each_other(visit: Visit) -> None:
    first, second = visit(), visit("?checkpoint=multi30k-de-en-words")
    wait_for_head(first, 3, 1)
    wait_for_head(second, 3, 1)
    type_sentence(first, SENTENCE)
    type_sentence(second, "Zwei Frauen lesen eine Zeitung.")
    expect(first.locator(".hl-text")).to_have_text([expected_translation(SENTENCE).text])
    expect(second.locator(".hl-text")).to_have_text(
        [expected_translation("Zwei Frauen lesen eine Zeitung.", "multi30k-de-en-words").text]
    )


# Words of drawings that reach over the edge of their drawing, which cuts them.
CUT = """() => {
    const cut = [];
    const look = (root) => root.querySelectorAll('*').forEach((one) => {
        if (one.shadowRoot) look(one.shadowRoot);
        if (!one.matches('svg text') || !one.textContent.trim()) return;
        const [words, drawing] = [one, one.closest('svg')].map((each) => each.getBoundingClientRect());
        const across = Math.max(drawing.left - words.left, words.right - drawing.right);
        const down = Math.max(drawing.top - words.top, words.bottom - drawing.bottom);
        if (words.width && Math.max(across, down) > 2) cut.push(one.textContent);
    });
    look(document.querySelector('.stMainBlockContainer'));
    return cut;
}"""
# What of each page is its first picture, and ends on the first screen of a projector.
FIRST_PICTURES = {
    "": "svg.map",
    "steps": ".candidates",
    "inside": ".js-plotly-plot",
    "positions": ".js-plotly-plot",
    "masks": ".js-plotly-plot",
    "heads": ".boards",
    "compare": "svg.map",
    "learning": ".sheet",
    "sentiment": ".hl-words",
    "checkpoints": "[data-testid=stDataFrame]",
}


@pytest.mark.parametrize(
    ("path", "charts"),
    [
        ("", 0),
        ("steps", 0),
        ("inside", 5),
        ("positions", 3),
        ("masks", 6),
        ("heads", 0),
        ("compare", 0),
        ("learning", 0),
        ("training", 0),
        ("sentiment", 0),
        ("checkpoints", 0),
    ],
    ids=lambda v: str(v) or "translate",
)
def test_every_page_draws_for_everybody_without_another_host(visit: Visit, path: str, charts: int) -> None:
    page = visit(path)
    page.set_viewport_size({"width": 1280, "height": 720})
    expect(page.locator(".js-plotly-plot")).to_have_count(charts)
    settle(page)
    assert page.locator("[data-testid=stException], [data-testid=stAlertContentError]").count() == 0
    for chart in page.locator("[data-testid=stPlotlyChart]").all():
        assert chart.get_attribute("aria-label") or chart.locator("[aria-label]").count()
    if path in FIRST_PICTURES:
        ends = "one => one.getBoundingClientRect().bottom"
        assert page.locator(FIRST_PICTURES[path]).first.evaluate(ends) <= 720
    assert page.evaluate(CUT) == []
    if path == "training":  # the page with the least on it
        for _ in range(3):
            page.keyboard.press("Tab")
        expect(page.get_by_role("link", name="Start here")).to_be_focused()
        expect(page.get_by_role("link", name="Start here")).to_have_css("outline-style", "solid")
        page.get_by_role("button", name="Glossary").click()
        expect(page.get_by_role("region", name="Terms")).to_be_visible()
    check(page)
    for chart in page.locator(".js-plotly-plot, svg.map").all():
        # A chart that was not drawn would show only the background.
        colours = Image.open(io.BytesIO(chart.screenshot())).convert("RGB").getcolors(1 << 24)
        assert len(colours) > 20
    assert background(page) > 3 * 128
    page.emulate_media(color_scheme="dark")
    expect(page.locator("body")).to_have_css("color", f"rgb{hex_to_rgb(DARK.text)}")
    settle(page)
    check(page, colours_alone=True)
    assert background(page) < 3 * 128
    page.set_viewport_size({"width": 390, "height": 844})
    # Charts and tables that were drawn for a wide screen shrink to a telephone's a moment later.
    for place in ("document.documentElement", "document.querySelector('[data-testid=stMain]')"):
        page.wait_for_function(f"() => {place}.scrollWidth <= 390", timeout=60_000)
    assert page.evaluate(CUT) == []
    narrowest = "all => Math.min(44, ...all.map(one => one.getBoundingClientRect().width))"
    assert page.locator(".switches button").evaluate_all(narrowest) >= 24, "a finger finds every head"


def background(page: Page) -> int:
    """The sum of red, green and blue in the lower right corner of the screen."""
    return sum(Image.open(io.BytesIO(page.screenshot())).convert("RGB").getpixel((1270, 710)))


def test_the_first_picture_is_on_the_first_screen(visit: Visit) -> None:
    page = visit()
    wait_for_head(page, 3, 1)
    for picture in page.locator(".sheet, svg.map").all():
        box = picture.bounding_box()
        assert box
        assert box["y"] + box["height"] <= 800


def test_in_a_tall_window_a_picture_takes_the_height_that_is_left(visit: Visit) -> None:
    page = visit("positions")
    page.set_viewport_size({"width": 1920, "height": 1080})
    settle(page)
    # Below the picture stand the gap and the button of its numbers.
    page.wait_for_function(
        """() => {
            const places = [...document.querySelectorAll('[class*="st-key-fills_"]')];
            return places.length && places.every(place => {
                const [frame, picture] = [place, place.querySelector('.js-plotly-plot')].map(one => one?.offsetHeight);
                return place.getBoundingClientRect().bottom > innerHeight - 90 && frame - picture < 60;
            });
        }"""
    )
