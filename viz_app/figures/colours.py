"""Every colour of the app: two themes, the palettes of the pictures, and black or white ink on them.

The style sheets, the scripts and `.streamlit/config.toml` cannot import this file and repeat some values.
`tests/viz_app/figures/test_colours.py` fails where they use another colour.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray
from plotly.colors import get_colorscale, hex_to_rgb, unlabel_rgb

__all__ = [
    "ACCENT",
    "ALLOWED",
    "CLEAR",
    "DARK",
    "DIVERGING",
    "FAINT",
    "FALLS",
    "LEVELS",
    "LIGHT",
    "LINES",
    "MASKED",
    "NOT_A_NUMBER",
    "RISES",
    "SEQUENTIAL",
    "THEME_TEXT",
    "ZERO",
    "Theme",
    "ink",
    "legible",
    "palette",
    "translucent",
]


@dataclass(frozen=True, kw_only=True)
class Theme:
    """The colours of a page."""

    text: str
    page: str
    panel: str  # the sidebar and other areas that stand out from the page
    primary: str  # links, sliders, the focus


LIGHT = Theme(text="#1b2530", page="#ffffff", panel="#f3f5f8", primary="#2f6fb0")
DARK = Theme(text="#e6ebf1", page="#10151c", panel="#1a222d", primary="#6aa8e8")
# Only style sheets use these two. This file is the list of all colours.
PRIMARY_HOVER = "#285f98"  # a primary button under the pointer, in both themes
LOOKS = ("#c2410c", "#ff8f52")  # lines between words, in the light and the dark theme

THEME_TEXT = "#000037"  # Streamlit's chart theme replaces it by the text colour of the page
CLEAR = "rgba(0,0,0,0)"
FAINT = "rgba(128,128,128,.25)"  # grid lines

SEQUENTIAL = "Viridis"  # weights, 0 to 1, everywhere
# Signed numbers, white at 0. Written out, because the browser's scale of this name has other colours.
DIVERGING = get_colorscale("RdBu_r")
RISES, FALLS = "#b2182b", "#2166ac"  # a word that raises or lowers a number, from the scale of signed numbers
MASKED = "#8c8c8c"  # a cell that its query may not attend to
NOT_A_NUMBER = "#ff2fb3"  # a cell whose number is NaN or infinite
ALLOWED = "#56b4e9"  # any other cell of a mask
ZERO = "#dfe6ee"  # a cell with the digit 0
ACCENT = "#e8590c"  # what the visitor chose
LINES = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442", "#999999")  # Okabe and Ito 2008
LEVELS = 256  # colours of a palette


@cache
def palette(*, signed: bool = False) -> NDArray[np.uint8]:
    """The colours of a scale from its lower to its upper end, (LEVELS, 4): red, green, blue, opacity.

    Args:
        signed: The scale of signed numbers instead of the scale of weights.
    """
    shares, colours = zip(*(DIVERGING if signed else get_colorscale(SEQUENTIAL)), strict=True)
    channels = np.array([unlabel_rgb(c) if c.startswith("rgb") else hex_to_rgb(c) for c in colours])  # (N, 3)
    levels = np.linspace(0, 1, LEVELS)
    mixed = np.stack([np.interp(levels, shares, channel) for channel in channels.T], axis=-1).round()
    return np.concatenate([mixed, np.full((LEVELS, 1), 255)], axis=-1).astype(np.uint8)


def translucent(colour: str, opacity: float) -> str:
    """A colour such as "#2f6fb0" in CSS, with an opacity from 0 to 1."""
    red, green, blue = hex_to_rgb(colour)
    return f"rgba({red},{green},{blue},{opacity:.3f})"


def ink(background: str) -> str:
    """Black or white: the one with more contrast to a colour such as "#e69f00" (WCAG 2.2, relative luminance)."""
    red, green, blue = (
        (share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4)
        for share in (channel / 255 for channel in hex_to_rgb(background))
    )
    # The contrast is 4.58:1 with both where (L + 0.05)² = 1.05 · 0.05.
    return "#000000" if 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.179 else "#ffffff"


@cache
def inks(*, signed: bool) -> Sequence[str]:
    """Black or white for each colour of `palette`."""
    return [ink("#" + bytes(colour[:3]).hex()) for colour in palette(signed=signed)]


def legible(
    texts: Sequence[Sequence[str]], values: NDArray[np.float32], *, low: float, high: float, signed: bool = False
) -> list[list[str]]:
    """Write the texts of a heatmap's cells in black or white, so that it is legible on the colour of the cell.

    Args:
        texts: (R, C), escaped for Plotly.
        values: (R, C), NaN where a cell is empty.
        low: Lower end of the colour scale.
        high: Upper end of the colour scale.
        signed: The scale of signed numbers, see `palette`.
    """
    colours = inks(signed=signed)
    shares = np.clip((np.nan_to_num(values, nan=low) - low) / (high - low), 0, 1)
    cells = (shares * (LEVELS - 1)).round().astype(int).tolist()  # R × C
    return [
        [f'<span style="color:{colours[cell]}">{text}</span>' if text else "" for text, cell in zip(*row, strict=True)]
        for row in zip(texts, cells, strict=True)
    ]
