"""Every word that stands on a colour of ours can be read: 4.5:1, computed from the palettes."""

import re

import numpy as np
import pytest

from tests.conftest import ROOT
from tests.viz_app.widgets.test_chips import THEME, contrast, over, rgb
from viz_app.figures.colours import ACCENT, LINES, MASKED, ink, legible, palette
from viz_app.figures.heads import head_grids
from viz_app.figures.words import stacked_shares, word_grid
from viz_app.widgets.chips import STYLE


@pytest.mark.parametrize("colour", [*LINES, MASKED, ACCENT, "#000000", "#ffffff", "#757575"])
def test_ink_is_read_on_every_colour(colour: str) -> None:
    assert contrast(rgb(ink(colour)), rgb(colour)) >= 4.5


@pytest.mark.parametrize("signed", [False, True])
def test_numbers_in_the_cells_of_a_heatmap_are_read_on_all_of_its_scale(signed: bool) -> None:
    values = np.linspace(-1.0 if signed else 0.0, 1.0, 256, dtype=np.float32)[None]
    (texts,) = legible([["0.5"] * 256], values, low=float(values.min()), high=1.0, signed=signed)
    for text, cell in zip(texts, palette(signed=signed), strict=True):
        colour = re.search("color:(#[0-9a-f]{6})", text)
        assert colour
        assert contrast(rgb(colour[1]), tuple(cell[:3])) >= 4.5


def test_the_figures_use_it() -> None:
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
        assert all("<span style=" in text for line in trace.text for text in line)
        inks = {text.partition(">")[0] for line in trace.text for text in line}
        assert len(inks) == 2, "black on what is bright, white on what is dark"
    for bar in stacked_shares({"one": [0.4], "two": [0.6]}, ["a"], title="word", height=200).figure.data:
        assert contrast(rgb(bar.textfont.color), rgb(bar.marker.color)) >= 4.5


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_what_is_pointed_at_can_be_read(scheme: str) -> None:
    text, page = rgb(THEME[scheme]["textColor"]), rgb(THEME[scheme]["backgroundColor"])
    # look.js lights a chip by 15 to 55 % of the accent; a switched-on head has 35 % of the primary colour.
    primary = rgb(THEME[scheme].get("primaryColor", THEME["primaryColor"]))
    shades = [(rgb(ACCENT), share) for share in (0.15, 0.22, 0.55)] + [(primary, share) for share in (0.28, 0.35)]
    for front, share in shades:
        assert contrast(text, over(front, share, page)) >= 4.5
    assert contrast((255.0, 255.0, 255.0), rgb("#1b2530")) >= 4.5  # the runners-up of a chip


def test_lines_between_words_stand_out_from_either_ground() -> None:
    inks = re.search(r"\.hl-looks line\{stroke:light-dark\((#\w+),(#\w+)\)", STYLE)
    opacity = re.search(
        r'"stroke-opacity": \(([\d.]+) \+', (ROOT / "viz_app" / "components" / "assets" / "look.js").read_text()
    )
    assert inks
    assert opacity
    for scheme, line in zip(("light", "dark"), inks.groups(), strict=True):
        page = rgb(THEME[scheme]["backgroundColor"])
        assert contrast(over(rgb(line), float(opacity[1]), page), page) >= 3


def test_the_button_that_matters_most_can_be_read() -> None:
    style = (ROOT / "viz_app" / "components" / "assets" / "page.css").read_text(encoding="utf-8")
    rules = re.findall(
        r'button\[kind\^="primary"\][^{]*\{ background: (#[0-9a-f]{6});[^}]* color: (#[0-9a-f]{6});', style
    )
    assert len(rules) == 2
    for background, words in rules:
        assert contrast(rgb(words), rgb(background)) >= 4.5
