"""Token chips and marked texts: their content, and their contrast."""

import re
import tomllib

import numpy as np
import pytest

from model.checkpoints.languages import tag
from model.inference.run import Candidate, Token
from tests.conftest import ROOT
from viz_app.components.bundle import asset
from viz_app.sections.masks.correct_masks import batch_table
from viz_app.widgets.marked_text import STYLE, chips, compared, rows_of_chips, sentence, weighted_text

Colour = tuple[float, float, float]
THEME = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text(encoding="utf-8"))["theme"]


def rgb(code: str) -> Colour:
    return tuple(int(code[i : i + 2], 16) for i in (1, 3, 5))  # type: ignore[return-value]


def over(front: Colour, share: float, back: Colour) -> Colour:
    return tuple(share * f + (1 - share) * b for f, b in zip(front, back, strict=True))  # type: ignore[return-value]


def contrast(first: Colour, second: Colour) -> float:
    """As WCAG 2.2 defines it, 1 to 21."""

    def luminance(colour: Colour) -> float:
        parts = [c / 255 for c in colour]
        r, g, b = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
        return 0.2126 * r + 0.7152 * g + 0.0722 * b

    bright, dark = sorted((luminance(first), luminance(second)), reverse=True)
    return (bright + 0.05) / (dark + 0.05)


def shade(html: str) -> tuple[Colour, float]:
    found = re.search(r"background:rgba\((\d+),(\d+),(\d+),([\d.]+)\)", html)
    assert found
    red, green, blue, share = map(float, found.groups())
    return (red, green, blue), share


def opacity(selector: str) -> float:
    rule = re.search(re.escape(selector) + r"\s*\{([^}]*)\}", STYLE + asset("streamlit/streamlit.css"))
    assert rule, selector
    found = re.search(r"opacity:\s*([\d.]+)", rule[1])
    return float(found[1]) if found else 1.0


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_everything_can_be_read_in_both_themes(scheme: str) -> None:
    text, page = rgb(THEME[scheme]["textColor"]), rgb(THEME[scheme]["backgroundColor"])
    certain = Token(text="Hund", id=9, word=0, probability=1.0, candidates=(Candidate("Hund", 1.0, 9),))
    for html in (chips("writes", [certain]), weighted_text(["good", "film"], [1.0, 0.1], parts=["", ""])):
        assert contrast(text, over(*shade(html), page)) >= 4.5
    assert contrast(text, over(*shade(STYLE), page)) >= 4.5  # a marked difference
    assert opacity(".hl-chip.hl-special") == 1.0, "it would fade the text and what is behind it"
    for selector in (".hl-row .hl-name", ".hl-lines .hl-name", ".hl-more", '[data-testid="stCaptionContainer"]'):
        assert contrast(over(text, opacity(selector), page), page) >= 4.5


def test_words_that_were_left_out_are_marked() -> None:
    html = compared([("before", "a big dog runs"), ("after", "a dog runs"), ("other", "a big cat"), ("none", "")])
    before, after, other, none = re.findall("<bdi>(.*?)</bdi>", html)
    assert before == "a big dog runs"
    assert re.sub("<[^>]+>", "", after) == "a dog runs"
    assert 'aria-label="left out: big"' in after
    assert other.startswith("a big <mark>cat</mark>")
    assert none == "<em>(nothing)</em>"


def test_a_long_beginning_that_all_texts_share_is_shortened() -> None:
    prompt = " ".join(f"w{i}" for i in range(100))
    before, after = re.findall("<bdi>(.*?)</bdi>", compared([("before", f"{prompt} cat"), ("after", f"{prompt} dog")]))
    assert before == f"… {' '.join(f'w{i}' for i in range(70, 100))} cat"
    assert after.endswith("w99 <mark>dog</mark>")
    assert "w69" not in after
    (alone,) = re.findall("<bdi>(.*?)</bdi>", compared([("before", "a b")]))
    assert alone == "a b"


def test_the_label_of_a_chip_contains_its_text() -> None:
    token = Token(text='"\n<b>', id=9, word=0, probability=0.5, candidates=(Candidate("x", 0.5, 9),))
    html = chips("writes", [token])
    label = re.search(r'aria-label="([^"]*)"', html)
    shown = re.search(r"<bdi>(.*?)</bdi>", html)
    assert label
    assert shown
    assert label[1].startswith(shown[1])


def test_every_word_names_its_language() -> None:
    word = Token(text="Hund", id=9, word=0, probability=0.5, candidates=(Candidate("Katze", 0.5, 9),))
    end = Token(text="</s>", id=2, word=-1)
    html = rows_of_chips({"reads": [word, end], "writes": [word]}, languages=("en", "de"))
    reads, writes = html.split('data-row="writes"')
    assert re.findall(r"<bdi([^>]*)>([^<]*)", reads) == [
        (' lang="en"', "Hund"),
        (' lang="en"', "Katze"),
        ("", "&lt;/s&gt;"),
    ]
    assert re.findall(r"<bdi([^>]*)>([^<]*)", writes) == [(' lang="de"', "Hund"), (' lang="de"', "Katze")]
    assert '<bdi lang="zh">' in sentence("你好", "zh")
    assert "lang" not in sentence("a b c")
    both = compared([("one", "a")], [("other", "b")], languages=["de", "fr"])
    assert re.findall('lang="(..)"', both) == ["de", "fr"]
    assert re.findall('lang="(..)"', compared([("one", "a"), ("two", "b")], languages=["de"])) == ["de", "de"]
    assert 'lang="de"' in batch_table("source", [["Hund"]], np.array([[7]]), np.array([[True]]), lang="de")


@pytest.mark.parametrize(
    ("code", "said"), [("de", "de"), ("deu_Latn", "de"), ("en_XX", "en"), ("zh", "zh"), ("letters", ""), ("", "")]
)
def test_languages_have_the_names_that_browsers_know(code: str, said: str) -> None:
    assert tag(code) == said
