"""The app uses only the colours of `viz_app/figures/colours.py`, also in files that cannot import it."""

import re
import tomllib
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import numpy as np

from tests.conftest import ROOT
from viz_app.figures.colours import DARK, LIGHT, LINES, MASKED, ink, palette, translucent

LIVE = ROOT / "live"
SOURCE = ROOT / "viz_app" / "figures" / "colours.py"
SCALES = LIVE / "ui" / "numbers.js"  # it has a test of its own
FILES = [
    *sorted((ROOT / "viz_app").rglob("*.py")),
    *(path for path in sorted(LIVE.rglob("*")) if path.suffix in (".js", ".css") and path != SCALES),
    ROOT / "streamlit_app.py",
    ROOT / ".streamlit" / "config.toml",
]
# Hexadecimal digits, three to eight, or three numbers with or without an opacity.
COLOUR = re.compile(r"#([0-9a-fA-F]{3,8})\b(?![-\w])|rgba?\((\d+), ?(\d+), ?(\d+)")


def written(path: Path) -> Iterator[str]:
    """Every colour in a file as six hexadecimal digits, without its opacity."""
    for digits, *channels in COLOUR.findall(path.read_text(encoding="utf-8")):
        if channels[0]:
            yield bytes(map(int, channels)).hex()
        elif len(digits) in (3, 4):
            yield "".join(2 * digit for digit in digits[:3]).lower()
        elif len(digits) in (6, 8):
            yield digits[:6].lower()


def is_grey(colour: str) -> bool:
    return colour[:2] == colour[2:4] == colour[4:]


def test_every_colour_is_from_the_one_list() -> None:
    scales = {bytes(colour[:3]).hex() for signed in (False, True) for colour in palette(signed=signed)}
    known = {*written(SOURCE), *scales}
    colours = [(path.relative_to(ROOT), colour) for path in FILES for colour in written(path)]
    unknown = {f"{path}: #{colour}" for path, colour in colours if colour not in known and not is_grey(colour)}
    assert colours
    assert unknown == set(), f"Use a colour of {SOURCE.name}, or add this one there."


def test_streamlit_has_the_same_themes() -> None:
    theme = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text(encoding="utf-8"))["theme"]
    names = {
        "textColor": "text",
        "backgroundColor": "page",
        "secondaryBackgroundColor": "panel",
        "primaryColor": "primary",
    }
    for scheme, ours in (("light", LIGHT), ("dark", DARK)):
        found = {names[name]: colour for name, colour in {**theme, **theme[scheme]}.items() if name in names}
        assert found == asdict(ours)


def test_a_published_page_and_a_saved_picture_have_the_themes_of_the_app() -> None:
    light, dark = (
        re.findall(r"--st-([\w-]+)-color: (#\w+);", part)
        for part in (LIVE / "app" / "live.css").read_text().split("@media screen and (prefers-color-scheme: dark)")
    )
    picture = re.findall(r'"--st-([\w-]+)-color": "(#\w+)"', (LIVE / "ui" / "picture_files.js").read_text())
    names = {"text": "text", "background": "page", "secondary-background": "panel", "primary": "primary"}
    assert {names[name]: colour for name, colour in light} == asdict(LIGHT)
    assert {names[name]: colour for name, colour in dark} == asdict(DARK)
    assert {names[name]: colour for name, colour in picture} == asdict(LIGHT)


def test_a_translucent_colour_keeps_its_channels() -> None:
    assert translucent("#2f6fb0", 0.5) == "rgba(47,111,176,0.500)"


def test_the_components_have_the_scales_and_the_lines_of_the_figures() -> None:
    script = SCALES.read_text(encoding="utf-8")
    for name, signed in (("WEIGHTS", False), ("SIGNED", True)):
        stops = re.findall(r"#\w{6}", script.partition(f"const {name} = ")[2].partition("],")[0])
        chosen = palette(signed=signed)[[round(i * 255 / (len(stops) - 1)) for i in range(len(stops))], :3]
        found = np.array([list(bytes.fromhex(stop[1:])) for stop in stops])
        assert abs(found - chosen.astype(int)).max() <= 2
    lines = re.findall(r'\["(#\w+)", "(#\w+)"\]', script)
    assert lines == [(colour, ink(colour)) for colour in LINES]
    assert f'masked: "{MASKED}"' in script
