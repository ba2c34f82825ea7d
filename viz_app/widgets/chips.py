"""Tokens as chips: small boxes, shaded by probability, with the other candidates in a tooltip."""

from collections.abc import Mapping, Sequence
from html import escape

from model.inference.tokens import Token
from viz_app.content.plain import percent, visible
from viz_app.figures.colours import LIGHT, translucent
from viz_app.widgets.marked_text import lang_attribute

__all__ = ["MAX_CHIPS", "STYLE", "chips", "rows_of_chips"]

STYLE = """<style>
.hl-row{display:grid;grid-template-columns:3.4rem 1fr;align-items:baseline;line-height:1.35;margin:0 0 3px}
.hl-row .hl-name{opacity:.75;font-size:14px}
.hl-row .hl-chips{display:flex;flex-wrap:wrap;gap:3px 4px}
.hl-chip{position:relative;border-radius:5px;padding:1px 7px;border:1px solid rgba(128,128,128,.35);
 font-size:14px;cursor:default;white-space:pre;max-width:20rem;overflow-x:clip;text-overflow:ellipsis}
.hl-chip.hl-special{font-style:italic}
.hl-chip.hl-unknown{border-style:dashed;text-decoration:underline dotted}
.hl-chip .hl-tip{display:none;position:absolute;z-index:1000;top:115%;left:0;background:#1b2530;color:#fff;
 border-radius:6px;padding:6px 10px;font-size:max(14px,.8rem);font-style:normal;box-shadow:0 2px 10px rgba(0,0,0,.35);
 min-width:9.5rem}
.hl-chip:hover,.hl-chip:focus{overflow:visible;outline:none}
.hl-chip:hover .hl-tip,.hl-chip:focus .hl-tip{display:block}
.hl-tip div{display:flex;justify-content:space-between;gap:14px}
.hl-share{display:block;height:4px;border-radius:2px;background:#e69f00;margin:1px 0 2px;
 overflow:hidden;outline:1px solid #fff}
.hl-share span{display:block;height:100%;background:#0072b2}
.hl-heading{font-size:1.1rem!important;margin:0!important;padding:0!important;line-height:1.3}
.hl-section h2{display:inline;font-size:1rem!important;font-weight:600;margin:0!important;padding:0!important}
.hl-section span{opacity:.9;font-size:.9rem}
.hl-heading span{font-size:.95rem;font-weight:400;opacity:.85;margin-left:.5rem}
.hl-looks{position:relative;isolation:isolate}
.hl-looks.hl-lined .hl-row+.hl-row{margin-top:26px;position:relative}
@media (pointer:coarse){.hl-looks.hl-lined .hl-row+.hl-row{margin-top:44px}}
.hl-looks>svg{position:absolute;inset:0;z-index:-1;pointer-events:none;overflow:visible}
.hl-looks line{stroke:#e8590c;stroke:light-dark(#c2410c,#ff8f52);stroke-linecap:round}
.hl-chip.hl-looked{box-shadow:inset 0 0 0 2px #e8590c;
 background:color-mix(in srgb,#e8590c var(--hl-weight,0%),transparent)!important}
.hl-chip.hl-asks{outline:2px solid #e8590c}
.hl-text{overflow-wrap:anywhere;font-size:1.12rem;font-weight:600;margin:2px 0 0;max-height:40vh;overflow:auto}
.hl-words{line-height:1.9;max-height:15rem;overflow-y:auto}
.hl-word{border-radius:4px;padding:1px 3px;display:inline-block}
.hl-lines{display:grid;grid-template-columns:fit-content(24rem) 1fr;gap:0 1.5rem;line-height:1.6}
.hl-lines .hl-name{opacity:.7}
.hl-lines mark{background:rgba(232,89,12,.28);color:inherit;border-radius:3px;padding:0 2px}
.hl-lines mark.hl-gone{margin-left:3px}
.hl-lines mark.hl-gone::before{content:"[…]"}
.hl-batch{overflow-x:auto;border:1px solid rgba(128,128,128,.35);border-radius:6px}
.hl-batch table{border-collapse:collapse;font-size:14px;white-space:pre;margin:0}
.hl-batch th{font-weight:400;text-align:left;opacity:.8}
.hl-batch td,.hl-batch th{padding:3px 10px;border-right:1px solid rgba(128,128,128,.25);line-height:1.3}
.hl-batch td span{display:block;opacity:.8;font-size:14px}
.hl-batch .hl-pad{background:rgba(128,128,128,.22);font-style:italic}
.hl-terms{max-height:60vh;overflow-y:auto}
.hl-terms dl,.hl-definitions dl{margin:0}
.hl-terms dt,.hl-definitions dt{font-weight:600}
.hl-terms dd,.hl-definitions dd{margin:0 0 .6rem}
.hl-more{opacity:.7;font-size:.85rem}
</style>"""
MAX_CHIPS = 80


def chips(name: str, tokens: Sequence[Token], *, shares: Sequence[float] = (), lang: str = "") -> str:
    """HTML of one row of chips. Everything from outside is escaped.

    Args:
        name: The label before the row.
        tokens: Written tokens are shaded by their probability.
        shares: For each token the share that came from the source, 0 to 1, drawn as a bar below it; or none.
        lang: The language of the tokens, see `languages.tag`.
    """
    padded = (*shares, *(None for _ in tokens[len(shares) :]))
    shown = enumerate(zip(tokens[:MAX_CHIPS], padded, strict=False))
    boxes = "".join(chip(token, share, number=i, lang=lang) for i, (token, share) in shown)
    more = f'<span class="hl-more">and {len(tokens) - MAX_CHIPS} more</span>' if len(tokens) > MAX_CHIPS else ""
    label = f'<span class="hl-name">{escape(name)}</span>'
    return f'<div class="hl-row" data-row="{escape(name)}">{label}<div class="hl-chips">{boxes}{more}</div></div>'


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
    title = ' title="Not in the vocabulary. The model reads &lt;unk&gt; instead."' if token.unknown else ""
    own = "" if token.special else lang_attribute(lang)
    text = f"<bdi{own}>{escape(visible(token.text))}</bdi>"
    if not token.candidates:
        return f'<span class="hl-chip{special}" data-i="{number}"{title}>{text}</span>'
    rows = "".join(
        f"<div><bdi{lang_attribute(lang)}>{escape(visible(c.token))}</bdi><span>{percent(c.probability)}</span></div>"
        for c in token.candidates[:5]
    )
    label = f"{visible(token.text)}, probability {percent(token.probability)}"
    bar = ""
    if share is not None:
        label = f"{visible(token.text)}, probability {percent(token.probability)}, {percent(share)} from the source"
        bar = f'<span class="hl-share"><span style="width:{100 * share:.1f}%"></span></span>'
        rows += f"<div><em>from the source</em><span>{percent(share)}</span></div>"
    return (
        f'<span class="hl-chip{special}" data-i="{number}" tabindex="0" role="group" '
        f'aria-label="{escape(label, quote=True)}" '
        f'style="background:{translucent(LIGHT.primary, 0.08 + 0.6 * token.probability)}">'
        f'{text}{bar}<span class="hl-tip">{rows}</span></span>'
    )
