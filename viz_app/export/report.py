"""One translation as one HTML file with its tokens, maps, lines and steps, for any browser.

The file contains the components of the app and asks no host for anything.
"""

import json
from datetime import date
from html import escape

from model.config.kinds import KINDS
from model.inference.translation import Translation
from model.messages import MessageError
from viz_app.components.attention_view import view
from viz_app.components.bundle import COMPONENT_STYLES, asset, bundle
from viz_app.components.data.attention_lines import AttentionLines
from viz_app.components.data.encoding import Data
from viz_app.components.data.maps import attention_maps_data
from viz_app.components.data.stepper import stepper_data
from viz_app.components.words import words_of
from viz_app.content.direction import isolated
from viz_app.content.numbers import day, html_language
from viz_app.content.plain import visible
from viz_app.content.translation import N_, t
from viz_app.widgets.chips import STYLE, rows_of_chips
from viz_app.widgets.marked_text import lang_attribute, sentence

__all__ = ["MAX_TOKENS", "TooLongError", "report"]

MAX_TOKENS = 120  # on each side; larger files open too slowly in a browser
ORDER = ("cross", "encoder", "decoder")  # the first one is open


TOO_LONG = N_("This text has {n} tokens. One HTML file can hold {limit}. Shorten the text.")


class TooLongError(MessageError, ValueError):
    """The text has too many tokens for a report. The message names both numbers."""


def report(translation: Translation, *, text: str, name: str, made: date, note: str = "") -> str:
    """An HTML page with everything that a model did for one text, in the language of this thread.

    Args:
        translation: A translation with its maps.
        text: The source as typed. Markup in it is escaped.
        name: The name of the checkpoint.
        made: The date in the page.
        note: A note about forced words, or "".

    Raises:
        TooLongError: the text has more than `MAX_TOKENS` tokens.
    """
    longest = max(len(translation.source), len(translation.read))
    if longest > MAX_TOKENS:
        raise TooLongError(TOO_LONG, n=longest, limit=MAX_TOKENS)
    given = translation.prompt_length
    rows = {"reads": translation.source or translation.read[: given + 1], "writes": translation.written[given:]}
    titles = {text: translation.languages[0]}
    if translation.source and translation.written:
        titles[translation.text] = translation.languages[1]
    kinds = [kind for kind in ORDER if kind in translation.maps]
    parts = [
        rows_of_chips(rows, languages=translation.languages, lined=False),
        sentence(translation.text, translation.languages[1]) if translation.text else "",
        f"<p><strong>{escape(visible(note))}</strong></p>" if note else "",
        *(attention(translation, kind, is_open=kind == kinds[0]) for kind in kinds),
    ]
    if translation.written and (kind := next((kind for kind in ("cross", "decoder") if kind in kinds), "")):
        parts.append(
            folded(t("Step by step"), picture("stepper", stepper_data(translation, kind=kind, fixed=True), "steps"))
        )
    facts = {t("Checkpoint"): name, t("Sentence"): text, t("Translation"): translation.text, t("Note"): note}
    shown = [(fact, visible(value)) for fact, value in facts.items() if value]
    parts.append(picture("save_pictures", {"facts": shown}, "facts"))
    origin = t(
        "Made with Headlight on {day} from the checkpoint {name}. Every number is the model's own.",
        day=day(made),
        name=isolated(visible(name)),
    )
    return PAGE.format(
        title=escape(visible(" → ".join(titles))),
        heading=" → ".join(f"<bdi{lang_attribute(lang)}>{escape(visible(one))}</bdi>" for one, lang in titles.items()),
        style=asset("report.css", *COMPONENT_STYLES),
        chips=STYLE,
        body="\n".join(parts),
        origin=escape(origin),
        language=html_language(),
        script=script(),
    )


def attention(translation: Translation, kind: str, *, is_open: bool) -> str:
    """All heads of one kind of attention, as maps and as lines."""
    shown = view(translation, kind, merge=False, hide_special=False)
    layers, heads = shown.maps.shape[:2]
    first = (layers - 1) * heads
    lines = AttentionLines(
        maps=shown.maps,
        axes=shown.axes,
        kind=kind,
        rows=[t("layer {layer}", layer=i + 1) for i in range(layers)],
        chosen=[first],
        largest=1.0,
        alt=t("Lines between keys and queries: {kind}", kind=t(KINDS[kind].full_name)),
    )
    numbers = attention_maps_data(shown.maps, shown.allowed, shown.axes, kind=kind, chosen=first)
    maps = picture("attention_maps", numbers, f"maps-{kind}")
    drawn = folded(t("As lines"), picture("attention_lines", lines.data(), f"lines-{kind}"))
    title = t("Attention: {kind}", kind=t(KINDS[kind].title))
    return folded(title, f"<p>{escape(t(KINDS[kind].shows))}</p>{maps}{drawn}", is_open=is_open)


def folded(title: str, body: str, *, is_open: bool = False) -> str:
    return f"<details{' open' if is_open else ''}><summary>{escape(title)}</summary>{body}</details>"


def picture(component: str, data: Data, name: str) -> str:
    """A place for a component, with its data in a script that no text can end."""
    numbers = json.dumps(data, ensure_ascii=False, allow_nan=False).replace("<", "\\u003c")
    return (
        f'<div data-component="{component}" data-numbers="{name}"><div class="root"></div></div>'
        f'<script type="application/json" id="{name}">{numbers}</script>'
    )


def script() -> str:
    """The components, their words, and the call that draws them."""
    words = json.dumps(words_of("report"), ensure_ascii=False).replace("<", "\\u003c")
    return f"{bundle('report')}\nmodules.words.useWords({words});\nmodules.report.buildReport();"


PAGE = """<!doctype html>
<html lang="{language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy"
  content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:">
<title>{title}</title>
<style>{style}</style>
{chips}
</head>
<body>
<h1>{heading}</h1>
{body}
<footer>{origin}</footer>
<script type="module">{script}</script>
</body>
</html>
"""
