"""Show input from outside as text, never as markup: a token, a link, a label, or another person's model card.

Arabic and Hebrew texts keep their direction, from right to left.
"""

import re
import unicodedata
from collections.abc import Iterable

from viz_app.content.translation import t

__all__ = ["as_sentence", "card", "dir_attribute", "is_right_to_left", "isolated", "plain", "visible"]

RIGHT_TO_LEFT = ("R", "AL")  # Unicode's directions of Hebrew and of Arabic


def visible(text: str) -> str:
    """Return the text on one line, with visible signs for line breaks and tabs."""
    return text.replace("\r", "␍").replace("\n", "↵").replace("\t", "⇥")


def plain(text: str) -> str:
    """Escape a text for Markdown. Every caption, message and label is Markdown, and shows the result literally."""
    return re.sub(r"([!-/:-@\[-`{-~])", r"\\\1", visible(text))


def as_sentence(text: str) -> str:
    """Return the text with a full stop, unless it already ends with a sentence mark."""
    return text if text.endswith((*".!?…。！？",)) else t("{sentence}.", sentence=text)


def is_right_to_left(text: str) -> bool:
    """Whether most letters of a text are of a script from right to left."""
    directions = [one for one in map(unicodedata.bidirectional, text) if one in ("L", *RIGHT_TO_LEFT)]
    return 2 * sum(one in RIGHT_TO_LEFT for one in directions) > len(directions)


def isolated(text: str) -> str:
    """A text in its own direction, whatever is around it. Only Arabic, Hebrew and similar texts need it."""
    return f"\u2068{text}\u2069" if any(unicodedata.bidirectional(one) in RIGHT_TO_LEFT for one in text) else text


def dir_attribute(words: Iterable[str]) -> str:
    """The HTML attribute for the direction of words that are elements of their own. `dir="auto"` does not see them."""
    return ' dir="rtl"' if is_right_to_left(" ".join(words)) else ""


def card(markdown: str) -> str:
    """Make another person's model card safe to show below the headings of the page.

    A picture becomes a link, because loading it would ask another host. A code block loses its language, because
    Streamlit would run some languages as diagrams.
    """
    return lower_headings(FENCE.sub(r"\1", markdown.replace("![", "!\u200b[")))


# The card may be hostile, so no pattern may scan a part of a line twice: `*+` and `{3,}+` never backtrack.
FENCE = re.compile(r"^([ \t>*+\-\d.]*+(?:`{3,}+|~{3,}+))[^`\n]*+$", re.MULTILINE)
CODE = re.compile(r"(^[ >]*+(?:`{3,}|~{3,}).*?(?:^[ >]*+(?:`{3,}|~{3,})|\Z))", re.MULTILINE | re.DOTALL)
UNDERLINED = re.compile(r"^(\S.*+)\n=+ *+$", re.MULTILINE)
HEADING = re.compile(r"^#{1,6}(?= )", re.MULTILINE)


def lower_headings(markdown: str) -> str:
    """Move all headings down until the highest is on the third level. A `#` inside code is not a heading."""
    parts = CODE.split(markdown)
    parts[::2] = [UNDERLINED.sub(r"# \1", part) for part in parts[::2]]
    highest = min((len(signs) for part in parts[::2] for signs in HEADING.findall(part)), default=3)
    deeper = "#" * max(0, 3 - highest)
    parts[::2] = [HEADING.sub(lambda match: (match[0] + deeper)[:6], part) for part in parts[::2]]
    return "".join(parts)
