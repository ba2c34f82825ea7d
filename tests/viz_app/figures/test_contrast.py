"""All text is legible on its background: a contrast of at least 4.5:1, computed from the palettes (WCAG 2.2)."""

import re

import numpy as np
import pytest

from tests.conftest import ROOT
from tests.viz_app.widgets.test_chips import contrast, over, rgb
from viz_app.figures.colours import ACCENT, DARK, LIGHT, LINES, MASKED, Theme, ink, legible, palette
from viz_app.figures.heads import head_grids
from viz_app.figures.words import stacked_shares, word_grid
from viz_app.widgets.marked_text import STYLE


@pytest.mark.parametrize("colour", [*LINES, MASKED, ACCENT, "#000000", "#ffffff", "#757575"])
def test_ink_is_legible_on_every_colour(colour: str) -> None:
    assert contrast(rgb(ink(colour)), rgb(colour)) >= 4.5


@pytest.mark.parametrize("signed", [False, True])
def test_numbers_in_cells_are_legible_on_the_whole_scale(signed: bool) -> None:
    values = np.linspace(-1.0 if signed else 0.0, 1.0, 256, dtype=np.float32)[None]
    (texts,) = legible([["0.5"] * 256], values, low=float(values.min()), high=1.0, signed=signed)
    for text, cell in zip(texts, palette(signed=signed), strict=True):
        colour = re.search("color:(#[0-9a-f]{6})", text)
        assert colour
        assert contrast(rgb(colour[1]), tuple(cell[:3])) >= 4.5


def test_the_figures_use_legible_ink() -> None:
    grid = np.linspace(0, 1, 6, dtype=np.float32).reshape(2, 3)
    words = word_grid(
        [["a", "b", "c"]] * 2,
        grid,
        **{"rows": ["x", "y"], "columns": ["1", "2", "3"], "row_title": "row", "column_title": "column"},
        **{"notes": [["", "", ""]] * 2, "height": 200},
    )
    numbers = head_grids({"cross": grid}, unit="nats", height=200)
    for picture in (words, numbers):
        (trace,) = picture.figure.data
        assert trace.textfont.size >= 14
        assert all("<span style=" in text for line in trace.text for text in line)
        inks = {text.partition(">")[0] for line in trace.text for text in line}
        assert len(inks) == 2, "black on bright cells, white on dark ones"
    for bar in stacked_shares({"one": [0.4], "two": [0.6]}, ["a"], title="word", height=200).figure.data:
        assert contrast(rgb(bar.textfont.color), rgb(bar.marker.color)) >= 4.5


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_text_under_the_pointer_is_legible(theme: Theme) -> None:
    text, page = rgb(theme.text), rgb(theme.page)
    # live/ui/lines.js fills a chip with 15 to 55 % of the accent. An active head has 35 % of the primary colour.
    shades = [(rgb(ACCENT), share) for share in (0.15, 0.22, 0.55)]
    shades += [(rgb(theme.primary), share) for share in (0.28, 0.35)]
    for front, share in shades:
        assert contrast(text, over(front, share, page)) >= 4.5
    assert contrast((255.0, 255.0, 255.0), rgb(LIGHT.text)) >= 4.5  # the other candidates of a chip


def test_lines_between_words_stand_out_in_both_themes() -> None:
    inks = re.search(r"\.hl-looks line\{stroke:(#\w+);stroke:light-dark\((#\w+),(#\w+)\)", STYLE)
    opacity = re.search(
        r'"stroke-opacity": \(([\d.]+) \+ [\d.]+ \* weight', (ROOT / "live" / "ui" / "lines.js").read_text()
    )
    assert inks
    assert opacity
    old_browsers, light, dark = map(rgb, inks.groups())
    for theme, line in ((LIGHT, light), (DARK, dark)):
        page = rgb(theme.page)
        assert contrast(over(line, float(opacity[1]), page), page) >= 3
        assert contrast(old_browsers, page) >= 3


def test_a_primary_button_is_legible() -> None:
    style = (ROOT / "live" / "streamlit" / "streamlit.css").read_text(encoding="utf-8")
    rules = re.findall(
        r'button\[kind\^="primary"\][^{]*\{ background: (#[0-9a-f]{6});[^}]* color: (#[0-9a-f]{6});', style
    )
    assert len(rules) == 2
    for background, words in rules:
        assert contrast(rgb(words), rgb(background)) >= 4.5
