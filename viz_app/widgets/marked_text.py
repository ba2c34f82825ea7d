"""Texts and tokens as HTML: large, compared with others, shaded, or as chips. Everything from outside is escaped."""

from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from html import escape
from itertools import cycle
from math import isfinite

from model.inference.run import Token
from viz_app.components.bundle import asset
from viz_app.content.numbers import decimal, percent
from viz_app.content.plain import dir_attribute, visible
from viz_app.content.shared import MAX_CHIPS
from viz_app.content.translation import N_, t
from viz_app.figures.colours import FALLS, LIGHT, RISES, translucent

__all__ = ["STYLE", "changed_text", "chips", "compared", "lang_attribute", "rows_of_chips", "sentence", "weighted_text"]

MAX_SHARED = 30  # words of a shared beginning that are shown
STYLE = f"<style>\n{asset('ui/chips.css')}</style>"
ROWS = {"reads": N_("reads"), "writes": N_("writes")}


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


def chips(name: str, tokens: Sequence[Token], *, shares: Sequence[float] = (), lang: str = "") -> str:
    """HTML of one row of chips. Everything from outside is escaped.

    Args:
        name: The name of the row, one of `ROWS`.
        tokens: Written tokens are shaded by their probability.
        shares: For each token the share that came from the source, 0 to 1, drawn as a bar below it; or none.
        lang: The language of the tokens, see `languages.tag`.
    """
    padded = (*shares, *(None for _ in tokens[len(shares) :]))
    shown = enumerate(zip(tokens[:MAX_CHIPS], padded[:MAX_CHIPS], strict=True))
    names = part_names([token.part for token in tokens])
    boxes = "".join(names[i] + chip(token, share, number=i, lang=lang) for i, (token, share) in shown)
    left_out = len(tokens) - MAX_CHIPS
    more = f'<span class="hl-more">{escape(t("and {n} more", n=left_out))}</span>' if left_out > 0 else ""
    direction = dir_attribute(token.text for token in tokens if not token.special)
    label = f'<span class="hl-name">{escape(t(ROWS[name]))}</span>'
    row = f'<div class="hl-chips"{direction}>{boxes}{more}</div>'
    return f'<div class="hl-row" data-row="{escape(name)}">{label}{row}</div>'


def rows_of_chips(
    rows: Mapping[str, Sequence[Token]],
    *,
    languages: tuple[str, str],
    shares: Sequence[float] = (),
    lined: bool = True,
) -> str:
    """HTML of the tokens that a model reads and writes.

    Args:
        rows: "reads" and "writes" → tokens.
        languages: The languages of the two rows.
        shares: See `chips`, for the written tokens.
        lined: Leave space between the rows, for lines.
    """
    html = (
        chips(name, tokens, shares=shares if name == "writes" else (), lang=languages[name == "writes"])
        for name, tokens in rows.items()
        if tokens
    )
    lines = " hl-lined" if lined and max(map(len, rows.values()), default=0) <= MAX_CHIPS else ""
    return f'<div class="hl-looks{lines}">{"".join(html)}</div>'


def chip(token: Token, share: float | None = None, *, number: int, lang: str = "") -> str:
    special = " hl-special" if token.special else " hl-unknown" if token.unknown else ""
    note = t("Not in the vocabulary. The model reads <unk> instead.") if token.unknown else ""
    title = f' title="{escape(note)}"' if note else ""
    own = "" if token.special else lang_attribute(lang)
    text = f"<bdi{own}>{escape(visible(token.text))}</bdi>"
    if not token.candidates:
        return f'<span class="hl-chip{special}" data-i="{number}"{title}>{text}</span>'
    rows = "".join(
        f"<div><bdi{lang_attribute(lang)}>{escape(visible(c.token))}</bdi><span>{percent(c.probability)}</span></div>"
        for c in token.candidates[:5]
    )
    values = {"token": visible(token.text), "probability": percent(token.probability)}
    known = isfinite(token.probability)
    label, bar = t("{token}, probability {probability}", **values), ""
    if share is not None:
        label = t("{token}, probability {probability}, {share} from the source", share=percent(share), **values)
        bar = f'<span class="hl-share"><span style="width:{100 * share if isfinite(share) else 0:.1f}%"></span></span>'
        rows += f"<div><em>{escape(t('from the source'))}</em><span>{percent(share)}</span></div>"
    return (
        f'<span class="hl-chip{special}" data-i="{number}" tabindex="0" role="group" '
        f'aria-label="{escape(label, quote=True)}" '
        f'style="background:{translucent(LIGHT.primary, 0.08 + 0.6 * (token.probability if known else 0))}">'
        f'{text}{bar}<span class="hl-tip">{rows}</span></span>'
    )
