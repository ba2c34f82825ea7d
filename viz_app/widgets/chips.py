"""Tokens as chips: small boxes, shaded by probability, with the other candidates in a tooltip."""

from collections.abc import Mapping, Sequence
from html import escape
from math import isfinite

from model.inference.tokens import Token
from viz_app.components.bundle import asset
from viz_app.content.direction import dir_attribute
from viz_app.content.limits import MAX_CHIPS
from viz_app.content.numbers import percent
from viz_app.content.plain import visible
from viz_app.content.translation import N_, t
from viz_app.figures.colours import LIGHT, translucent
from viz_app.widgets.marked_text import lang_attribute, part_names

__all__ = ["STYLE", "chips", "rows_of_chips"]

STYLE = f"<style>\n{asset('chips.css')}</style>"
ROWS = {"reads": N_("reads"), "writes": N_("writes")}


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
