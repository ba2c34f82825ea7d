"""Charts stay readable when a visitor changes the theme while the page is open."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import settle
from viz_app.figures.colours import DARK, LIGHT, translucent

Visit = Callable[..., Page]
LABELS = ".js-plotly-plot :is(.xtick, .ytick, .g-xtitle, .g-ytitle, .cbaxis, .legend, .annotation) text"
FOLLOWS = """([labels, colour]) => {
    const texts = [...document.querySelectorAll(labels)];
    return texts.length && texts.every(text => getComputedStyle(text).fill === colour);
}"""


def css(colour: str) -> str:
    """A colour as a browser writes it."""
    return translucent(colour, 1).replace("rgba", "rgb").replace(",1.000", "").replace(",", ", ")


@pytest.mark.parametrize("path", ["positions?", "inside?inside_tab=read"])
def test_the_text_of_charts_follows_the_theme(visit: Visit, path: str) -> None:
    page = visit(path, scheme="light")
    settle(page)
    assert page.locator(LABELS).count() > 10
    for scheme, theme in (("light", LIGHT), ("dark", DARK), ("light", LIGHT)):
        page.emulate_media(color_scheme=scheme)
        expect(page.locator("body")).to_have_css("color", css(theme.text))
        # Streamlit draws the charts again; until then there are none.
        page.wait_for_function(FOLLOWS, arg=[LABELS, css(theme.text)])


def test_text_on_a_bar_keeps_the_colour_that_is_legible_there(visit: Visit) -> None:
    page = visit("inside?inside_tab=read", scheme="light")
    settle(page)
    texts = page.locator(".js-plotly-plot .bars text")
    before = texts.evaluate_all("all => all.map(one => getComputedStyle(one).fill)")
    page.emulate_media(color_scheme="dark")
    expect(page.locator("body")).to_have_css("color", css(DARK.text))
    assert {*before} == {"rgb(0, 0, 0)", "rgb(255, 255, 255)"}
    assert texts.evaluate_all("all => all.map(one => getComputedStyle(one).fill)") == before
