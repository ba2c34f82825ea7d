"""The page of Headlight Live as HTML: its policy, its style sheet, its words, and all of it as one file.

A site has checkpoints, and a report has recorded answers. Both are this page.
"""

import base64
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from html import escape

from model.files import finite
from viz_app.components.bundle import COMPONENT_STYLES, LIVE, asset, modules
from viz_app.content.catalogues import ENGLISH, LANGUAGES, catalogue
from viz_app.content.translation import N_
from viz_app.export.site_scripts import INSTEAD, Form, minified, script_of, shared_names, texts_of

__all__ = [
    "PageCode",
    "code_of_page",
    "compact",
    "data_block",
    "integrity",
    "lesson_style",
    "one_file",
    "page",
    "site_policy",
    "style",
]

RECURRENT = "engine/network/recurrent.js"
REPORT = "report_texts.js"  # what only a report shows
INLINED = "inlined.js"  # reads the checkpoints that one file holds
LESSONS = "course/course.js"  # the module from which a site loads the lessons
# The pages show translators, translate with greedy search, and show no code.
UNUSED = frozenset(
    {
        "engine/network/classifier.js",
        "engine/inference/classify.js",
        "engine/decoding/beam.js",
        "engine/decoding/sampling.js",
        "assets/code_listing.js",
    }
)
CSS_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
RULE = re.compile(r"([^{}@;]+)\{([^{}]*)\}")  # selectors, declarations
SELECTOR_END = re.compile(r",(?![^(]*\))")
AROUND = re.compile(r"\s*([:;,])\s*")  # between the parts of a declaration
CLASS = re.compile(r"\.([A-Za-z][\w-]*)")
NAMED = re.compile(r"(?<=[\"'`\s}])[\w-]+(?=[\"'`\s$])")  # a class in a script is a word in a string
WITHOUT_SCRIPT = N_("This page computes in your browser. Allow JavaScript for it.")
STYLES = (*COMPONENT_STYLES, "chips.css")
POLICY = (
    "default-src 'none'; style-src {style}; img-src 'self' data: blob:; connect-src 'self'; worker-src 'self'; "
    "manifest-src 'self'; base-uri 'none'; form-action 'none'; script-src {script}"
)


def page(policy: str, **parts: str) -> str:
    """The HTML of the page, from the template `live/index.html`. No part can change another one."""
    script, words = start_code()
    start = f"{data_block('start', compact(words))}\n<script>{script}</script>"
    named = {"policy": policy, "start": start, "without_script": without_script(), **parts}
    template = (LIVE / "index.html").read_text(encoding="utf-8")
    return re.sub(r"\{(\w+)\}", lambda match: named[match[1]], template)


@cache
def start_code() -> tuple[str, Mapping[str, list[str]]]:
    """The script that says why a page cannot start, and its words, as in `PageCode`."""
    scripts = modules("start.js")
    texts = texts_of(scripts)
    return script_of(scripts, texts), words_of(texts)


def without_script() -> str:
    """What a browser shows that runs no scripts, in every language."""
    return "".join(f'<p lang="{code}">{escape(catalogue(code).text(WITHOUT_SCRIPT))}</p>' for code in LANGUAGES)


def words_of(texts: Sequence[str]) -> dict[str, list[str]]:
    """Language → the translations of texts, for English and each language that has most of them."""
    words = {code: [catalogue(code).text(text) for text in texts] for code in LANGUAGES}
    offered = [code for code in LANGUAGES if sum(map(str.__eq__, words[code], texts)) < 0.1 * len(texts)]
    return {code: words[code] for code in (ENGLISH, *offered)}


def integrity(text: str) -> str:
    """The digest of a file, by which a browser refuses any other contents."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def site_policy() -> str:
    """The policy of a page with files beside it."""
    return POLICY.format(style="'self' 'unsafe-inline'", script=f"'self' '{integrity(start_code()[0])}'")


@dataclass(frozen=True, kw_only=True)
class PageCode:
    """The scripts of a page, and its words: language → texts. The scripts name each text by its number in these lists.

    Attributes:
        script: The one script of the page.
        lessons: The script that it loads with the first lesson; "" where it has no lessons, or holds their code.
        words: Language → texts.
    """

    script: str
    lessons: str
    words: Mapping[str, list[str]]


def one_file(
    blocks: Mapping[str, str], *, about: str, form: Form, recurrent: bool = True, lessons: bool = False
) -> str:
    """The page as one HTML file, which opens from a disk and asks nobody for anything.

    Args:
        blocks: The names of the data and their JSON, see `data_block`.
        about: The elements that describe the page.
        form: Of the page: "file" or "report".
        recurrent: A checkpoint may be a recurrent network.
        lessons: The page has lessons.
    """
    policy, head, script, icon = frame(form, recurrent=recurrent, lessons=lessons)
    body = "\n".join((*(data_block(name, text) for name, text in blocks.items()), script))
    return page(policy, about=about, head=head, body=body, icon=icon)


@cache
def frame(form: Form, *, recurrent: bool, lessons: bool) -> tuple[str, str, str, str]:
    """What all single files share: the policy, the head, the script and the icon."""
    script = code_of_page(form, recurrent=recurrent, lessons=lessons).script.replace("</", "<\\/")
    common = POLICY.replace("'self' ", "").replace("'self'", "'none'")
    policy = common.format(style="'unsafe-inline'", script=f"'{integrity(script)}' '{integrity(start_code()[0])}'")
    icon = "data:image/svg+xml;base64," + base64.b64encode(asset("icon.svg").encode()).decode()
    head = f'<link rel="icon" href="{icon}">\n<style>{style(script)}{lesson_style() if lessons else ""}</style>'
    return policy, head, f'<script type="module">{script}</script>', icon


def data_block(name: str, text: str) -> str:
    """Data in the page, which no text in them can end."""
    return f'<script type="application/json" id="{escape(name)}">{text.replace("<", chr(92) + "u003c")}</script>'


def compact(value: object) -> str:
    return json.dumps(finite(value), ensure_ascii=False, allow_nan=False, separators=(",", ":"))


@cache
def code_of_page(form: Form = "site", *, recurrent: bool = True, lessons: bool = False) -> PageCode:
    """The code of a page, without what it cannot use.

    Args:
        form: Of the page.
        recurrent: A checkpoint may be a recurrent network.
        lessons: The page has lessons.
    """
    left_out = {RECURRENT: not recurrent, "lessons.js": not lessons, REPORT: form != "report", INLINED: form == "site"}
    without = UNUSED.union(name for name, is_left_out in left_out.items() if is_left_out)
    scripts = modules("script.js", without=without, instead=INSTEAD[form])
    own = lessons and form == "site"  # the lessons are a script of their own
    others = modules(LESSONS, without=without.union(scripts), instead=INSTEAD[form]) if own else {}
    texts, shared = texts_of({**scripts, **others}), shared_names(others, scripts)
    second = script_of(others, texts, exported=["Course"], given=shared, source="../app.js") if own else ""
    return PageCode(script=script_of(scripts, texts, exported=shared), lessons=second, words=words_of(texts))


def lesson_style() -> str:
    """The style sheet of the lessons."""
    return minified((LIVE / "course" / "course.css").read_text(encoding="utf-8"), "text/css")


def style(script: str) -> str:
    """The style sheets of the components and of the page, without rules for classes that the script does not name."""
    sheets = asset(*STYLES) + (LIVE / "live.css").read_text(encoding="utf-8")
    named = set(NAMED.findall(script + (LIVE / "index.html").read_text(encoding="utf-8")))

    def used(rule: re.Match[str]) -> str:
        selectors = [one for one in SELECTOR_END.split(rule[1]) if named.issuperset(CLASS.findall(one))]
        declarations = AROUND.sub(r"\1", rule[2]).strip()  # the minifier leaves those in a container as they are
        return f"{','.join(selectors)}{{{declarations}}}" if selectors else ""

    return minified(RULE.sub(used, CSS_COMMENT.sub("", sheets)), "text/css")
