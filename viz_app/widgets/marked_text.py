"""Texts as HTML: large, compared with others, or with shaded words. Everything from outside is escaped."""

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from html import escape
from itertools import cycle
from math import isfinite

from viz_app.content.direction import dir_attribute
from viz_app.content.numbers import decimal
from viz_app.content.plain import visible
from viz_app.content.translation import t
from viz_app.figures.colours import FALLS, LIGHT, RISES, translucent

__all__ = ["changed_text", "compared", "lang_attribute", "part_names", "sentence", "weighted_text"]

MAX_SHARED = 30  # words of a shared beginning that are shown


def lang_attribute(lang: str) -> str:
    """The HTML attribute for the language of a text, with which a screen reader reads it aloud."""
    return f' lang="{escape(lang)}"' if lang else ""


def part_names(parts: Sequence[str]) -> list[str]:
    """HTML before each token: before the first one of a part of a pair the name of the part, else nothing."""
    names = [""] * len(parts)
    for part in filter(None, set(parts)):
        names[parts.index(part)] = f'<span class="hl-more">{part}:</span> '
    return names


def sentence(text: str, lang: str = "") -> str:
    """HTML of a large text. Markup in the text is escaped."""
    return f'<div class="hl-text"><bdi{lang_attribute(lang)}>{escape(visible(text))}</bdi></div>'


def compared(*groups: Sequence[tuple[str, str]], languages: Sequence[str] = ("",)) -> str:
    """HTML of named texts below each other. Marks show where a text differs from the first one of its group.

    A long beginning that all texts of a group share, such as a prompt, is shortened.

    Args:
        groups: (name, text) pairs.
        languages: The languages of all texts in their order, or one language for all.
    """
    rows = (
        f'<span class="hl-name">{escape(visible(name))}</span>'
        f"<bdi{lang_attribute(lang)}>{'… ' if cut else ''}{marked(first[cut:], words[cut:])}</bdi>"
        for (first, name, words, cut), lang in zip(
            (row for group in groups for row in words_of(group)),
            cycle(languages),
            strict=False,  # they never end
        )
    )
    return f'<div class="hl-lines">{"".join(rows)}</div>'


def words_of(group: Sequence[tuple[str, str]]) -> Iterator[tuple[list[str], str, list[str], int]]:
    """For each text of a group: the words of the first text, its own name and words, and how many are left out."""
    texts = [text.split() for _, text in group]
    # A text may end before the others.
    different = (i for i, words in enumerate(zip(*texts, strict=False)) if len(set(words)) > 1)
    shared = next(different, min(map(len, texts)))
    cut = shared - MAX_SHARED if shared > 2 * MAX_SHARED else 0
    for (name, _), words in zip(group, texts, strict=True):
        yield texts[0], name, words, cut


def marked(before: Sequence[str], after: Sequence[str]) -> str:
    if not after:
        return f"<em>{escape(t('(nothing)'))}</em>"
    html = ""
    for change, begin, stop, start, end in SequenceMatcher(a=before, b=after, autojunk=False).get_opcodes():
        words = escape(visible(" ".join(after[start:end])))
        if change == "delete":
            gone = escape(t("left out: {words}", words=visible(" ".join(before[begin:stop]))), quote=True)
            html += f'<mark class="hl-gone" role="img" aria-label="{gone}" title="{gone}"></mark>'
        else:
            html += (" " if start else "") + (words if change == "equal" else f"<mark>{words}</mark>")
    return html


def weighted_text(tokens: Sequence[str], weights: Sequence[float], lang: str = "", *, parts: Sequence[str]) -> str:
    """HTML of a text. Each word is shaded by its weight; its tooltip has the number. See `Token.part` for `parts`."""
    largest = max(filter(isfinite, weights), default=0.0) or 1.0
    words = "".join(
        f'{name}<span class="hl-word" title="{decimal(weight, digits=4)}" '
        f'style="background:{translucent(LIGHT.primary, 0.75 * weight / largest if isfinite(weight) else 0.0)}">'
        f"<bdi>{escape(visible(token))}</bdi></span> "
        for name, token, weight in zip(part_names(parts), tokens, weights, strict=True)
    )
    return f'<div class="hl-words"{lang_attribute(lang)}{dir_attribute(tokens)}>{words}</div>'


def changed_text(words: Sequence[str], changes: Sequence[float], lang: str = "", *, parts: Sequence[str]) -> str:
    """HTML of a text. Each word is coloured by the change of a number without this word; its tooltip has the change.

    Blue with a line below: the number falls. Red with a line above: it rises. See `Token.part` for `parts`.
    """
    largest = max(map(abs, filter(isfinite, changes)), default=0.0) or 1.0
    notes = [t("without it {change}", change=decimal(change, digits=4, signed=True)) for change in changes]
    spans = "".join(
        f'{name}<span class="hl-word" title="{escape(note)}" style="background:{colour};'
        f'border-{side}:3px solid {colour}"><bdi>{escape(visible(word))}</bdi></span> '
        for name, word, change, note in zip(part_names(parts), words, changes, notes, strict=True)
        for signed, side in [(RISES, "top") if change > 0 else (FALLS, "bottom")]
        for colour in [translucent(signed, 0.6 * abs(change) / largest if isfinite(change) else 0.0)]
    )
    return f'<div class="hl-words"{lang_attribute(lang)}{dir_attribute(words)}>{spans}</div>'
