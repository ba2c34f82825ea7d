"""The page of Headlight Live as HTML: its policy, its style sheet, its words, and all of it as one file.

A site has checkpoints, and a report has recorded answers. Both are this page.
"""

import base64
import hashlib
import json
import re
from collections.abc import Mapping
from functools import cache
from html import escape

from viz_app.components.bundle import COMPONENT_STYLES, asset
from viz_app.content.catalogues import ENGLISH, LANGUAGES, catalogue
from viz_app.export.site_scripts import LIVE, bundled, modules, texts_of

__all__ = ["POLICY", "all_words", "compact", "data_block", "one_file", "page", "style", "translated", "words_of"]

STYLES = (*COMPONENT_STYLES, "chips.css")
POLICY = (
    "default-src 'none'; style-src {style}; img-src 'self' data: blob:; connect-src 'self'; worker-src 'self'; "
    "manifest-src 'self'; base-uri 'none'; form-action 'none'; script-src {script}"
)


def page(policy: str, **parts: str) -> str:
    """The HTML of the page, from the template `live/index.html`. No part can change another one."""
    template, named = (LIVE / "index.html").read_text(encoding="utf-8"), {"policy": policy, **parts}
    return re.sub(r"\{(\w+)\}", lambda match: named[match[1]], template)


def one_file(blocks: Mapping[str, str], *, about: str, report: bool = False) -> str:
    """The page as one HTML file, which opens from a disk and asks nobody for anything.

    Args:
        blocks: The names of the data and their JSON, see `data_block`.
        about: The elements that describe the page.
        report: The page shows recorded answers.
    """
    policy, head, script, icon = frame(report=report)
    body = "\n".join((*(data_block(name, text) for name, text in blocks.items()), script))
    return page(policy, about=about, head=head, body=body, icon=icon)


@cache
def frame(*, report: bool) -> tuple[str, str, str, str]:
    """What all single files share: the policy, the head, the script and the icon."""
    script = f"{bundled('app.js', report=report)}\n".replace("</", "<\\/")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    common = POLICY.replace("'self' ", "").replace("'self'", "'none'")
    policy = common.format(style="'unsafe-inline'", script=f"'sha256-{digest}'")
    icon = "data:image/svg+xml;base64," + base64.b64encode(asset("icon.svg").encode()).decode()
    head = f'<link rel="icon" href="{icon}">\n<style>\n{style()}</style>'
    return policy, head, f'<script type="module">{script}</script>', icon


def data_block(name: str, text: str) -> str:
    """Data in the page, which no text in them can end."""
    return f'<script type="application/json" id="{escape(name)}">{text.replace("<", chr(92) + "u003c")}</script>'


def compact(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def style() -> str:
    """The style sheets of the components and of the page, without comments."""
    sheets = asset(*STYLES) + (LIVE / "live.css").read_text(encoding="utf-8")
    return "\n".join(line.strip() for line in sheets.splitlines() if not line.startswith("/*")) + "\n"


def translated(scripts: Mapping[str, str]) -> list[str]:
    """The languages besides English in which most of the page is translated."""
    texts = texts_of(scripts)
    return [code for code in LANGUAGES if code != ENGLISH and len(words_of(code, scripts)) > 0.9 * len(texts)]


def words_of(code: str, scripts: Mapping[str, str]) -> dict[str, str]:
    """English text → its translation, for the texts that have one."""
    known = catalogue(code)
    return {text: word for text in texts_of(scripts) if (word := known.text(text)) != text}


@cache
def all_words(*, report: bool = False) -> Mapping[str, Mapping[str, str]]:
    """Language → the words of the page as one file."""
    scripts = modules("app.js", report=report)
    return {code: words_of(code, scripts) for code in translated(scripts)}
