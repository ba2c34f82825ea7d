"""The page of Headlight Live: its HTML, its policy with the hosts of a hub, its code in few characters, and its words.

A site has checkpoints, and a report has recorded answers. Both are this page.
"""

import base64
import hashlib
import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from html import escape
from typing import Literal
from urllib.parse import urlsplit

import minify

from model.config.kinds import KINDS
from model.config.section import ConfigError
from model.files import finite
from viz_app.components.bundle import (
    COMPONENT_STYLES,
    SAY,
    asset,
    exports_of,
    imports_of,
    joined,
    marked_in,
    modules,
    text_of,
)
from viz_app.content.catalogues import ENGLISH, LANGUAGES, catalogue
from viz_app.content.shared import CHOICES, LIMITS, PAGES, PUBLISHED_PAGES, SWITCHES, TASK_TITLES
from viz_app.content.translation import N_
from viz_app.services.attention_view import ONE_TEXT

__all__ = [
    "PART_STYLES",
    "Contents",
    "Form",
    "code_of_page",
    "compact",
    "data_block",
    "hub_hosts",
    "integrity",
    "numbered",
    "one_file",
    "page",
    "part_style",
    "script_of",
    "site_policy",
    "style",
    "texts_of",
    "words_of",
]

# What takes the place of a module: the page around the components is another one than that of the app.
OWN = {"streamlit/bridge.js": "app/bridge.js"}
IN_REPORT = {"app/answers.js": "app/recorded.js"}  # recorded answers in the place of an engine
# A batch and another model have no recorded answers, and nothing new is computed.
NOT_IN_REPORT = ("pages/masks.js", "pages/own_model.js", "engine/engine.js")
Form = Literal["site", "file", "report"]  # of a page: a folder, one file with the model, one file with recorded answers
FUNCTION = re.compile(
    r"^(export )?(async )?function (\w+)(\((?:(?!\) \{).)*\)) (\{(?:\n.*?^)?\})\n", re.MULTILINE | re.DOTALL
)
# What a script takes from the browser, where it is no property and no part of a word.
FOUND = re.compile(
    r"(?<![\w.$])(?:(?:Math|Number|Object|Array|JSON)\.\w+|document(?=\.)"
    r"|(?:String|Number|Float32Array|Uint8Array)(?=[.(]))"
)
REPEATED = 3  # times; a variable is longer than what stands less often
RECURRENT = "engine/network/recurrent.js"
LESSONS = "course/course.js"
ATLAS_PAGE = "pages/atlas.js"
# What a site loads when it is first wanted: the name of a script → its module, and what the module exports.
PARTS: Mapping[str, tuple[str, str]] = {
    "lessons": (LESSONS, "Course"),
    "foreign": ("engine/foreign/open.js", "FOREIGN"),
    "own": ("pages/own_model.js", "OwnModel"),
    "saving": ("ui/picture_files.js", "savePicture"),
    "steps": ("pages/steps.js", "showSteps"),
    "positions": ("pages/positions.js", "showPositions"),
    "atlas": (ATLAS_PAGE, "showAtlas"),
}
PART_STYLES: Mapping[str, str] = {"lessons": "course/course.css", "atlas": "ui/atlas.css"}  # of parts, by their names
OF_HUB = ("app/hub.js", "engine/remote.js", "pages/hub_model.js")
END_OF_SCRIPT = re.compile("</(script)", re.IGNORECASE)  # only in a text: a regular expression may end with "</"
CSS_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
RULE = re.compile(r"([^{}@;]+)\{([^{}]*)\}")  # selectors, declarations
SELECTOR_END = re.compile(r",(?![^(]*\))")
AROUND = re.compile(r"\s*([:;,])\s*")  # between the parts of a declaration
CLASS = re.compile(r"\.([A-Za-z][\w-]*)")
NAMED = re.compile(r"(?<=[\"'`\s}])[\w-]+(?=[\"'`\s$])")  # a class in a script is a word in a string
# The texts of pages, of tasks, of kinds of attention and of switches that a page holds; see `live/app/shared.js`.
NAMES: Mapping[str, Mapping[str, Mapping[str, str]]] = {
    "pages": {
        name: {text: own.get(text, PAGES[name][text]) for text in ("title", "instruction")}
        for name, own in PUBLISHED_PAGES.items()
    },
    "tasks": TASK_TITLES,
    "kinds": {
        name: {
            **{part: getattr(kind, part) for part in ("title", "full_name", "shows", "query", "key")},
            **{f"one_{part}": ONE_TEXT[getattr(kind, part)] for part in ("query", "key")},
        }
        for name, kind in KINDS.items()
    },
    "switches": {
        name: {text: switch[text] for text in ("label", "help")}
        for name, switch in SWITCHES.items()
        if "published" in switch
    },
}
WITHOUT_SCRIPT = N_("This page computes in your browser. Allow JavaScript for it.")
STYLES = (*(sheet for sheet in COMPONENT_STYLES if sheet not in PART_STYLES.values()), "ui/chips.css")
# The Hub, and the hosts to which it redirects requests for large files. It lists them in /.well-known/meta.json.
HUB = ("https://huggingface.co", "https://*.hf.co")
ADDRESS = re.compile(r"https?://(\*\.)?[\w.-]+(:\d{1,5})?(/[\w./-]*)?")  # with nothing that ends a rule of a policy
POLICY = (
    "default-src 'none'; style-src {style}; img-src 'self' data: blob:; connect-src 'self'{hosts}; worker-src 'self'; "
    "manifest-src 'self'; base-uri 'none'; form-action 'none'; script-src {script}"
)


def page(policy: str, **parts: str) -> str:
    """The HTML of the page, from the template `live/app/index.html`. No part can change another one."""
    script, words = start_code()
    start = f"{data_block('start', compact(words))}\n<script>{script}</script>"
    named = {"policy": policy, "start": start, "without_script": without_script(), **parts}
    template = asset("app/index.html")
    return re.sub(r"\{(\w+)\}", lambda match: named[match[1]], template)


@cache
def start_code() -> tuple[str, Mapping[str, list[str]]]:
    """The script that says why a page cannot start, and its words, as in `PageCode`."""
    scripts = modules("app/start.js")
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


def site_policy(hub: Sequence[str] = ()) -> str:
    """The policy of a page with files beside it, which may ask the hosts of a hub."""
    script = f"'self' '{integrity(start_code()[0])}'"
    return POLICY.format(style="'self' 'unsafe-inline'", script=script, hosts=named_hosts(hub))


def hub_hosts(addresses: Sequence[str]) -> tuple[str, ...]:
    """The addresses that a page asks for models: first the hub, then the hosts that have its files.

    Args:
        addresses: As they were typed; `HUB` without any.

    Raises:
        ConfigError: one of them is no address.
    """
    for place, address in enumerate(addresses):
        if not ADDRESS.fullmatch(address) or (place == 0 and "*" in address):
            raise ConfigError(
                "--hub {address} is no address such as https://huggingface.co. Write --hub after the checkpoints, "
                "alone or with addresses.",
                address=address,
            )
    return tuple(address.rstrip("/") for address in addresses) or HUB


def named_hosts(hub: Sequence[str]) -> str:
    """The hosts of a hub, as a policy names them: without paths, which would not hold for redirects."""
    return "".join(dict.fromkeys(f" {one.scheme}://{one.netloc}" for one in map(urlsplit, hub)))


@dataclass(frozen=True, kw_only=True)
class Contents:
    """What a page has, which decides the code that it needs.

    Attributes:
        form: Of the page.
        recurrent: A checkpoint may be a recurrent network.
        lessons: The page has lessons.
        atlas: A checkpoint has an atlas.
        hub: The hosts that it may ask for models, see `hub_hosts`.
    """

    form: Form
    recurrent: bool = True
    lessons: bool = False
    atlas: bool = False
    hub: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class PageCode:
    """The scripts of a page, and its words: language → texts. The scripts name each text by its number in these lists.

    Attributes:
        script: The script that begins the page.
        parts: The scripts that a site loads when they are first wanted, by the names in `PARTS`.
        words: Language → texts.
    """

    script: str
    parts: Mapping[str, str]
    words: Mapping[str, list[str]]

    def of_pages(self) -> str:
        """All scripts that draw with the style sheet of the page; the lessons have one of their own."""
        return "".join([self.script, *(script for name, script in self.parts.items() if name != "lessons")])

    def shared(self) -> Mapping[str, object]:
        """What the page shares with Python, with the number of each text in the place of the text."""
        numbers = {text: number for number, text in enumerate(self.words[ENGLISH])}
        names = {
            group: {name: {part: numbers[text] for part, text in texts.items()} for name, texts in named.items()}
            for group, named in NAMES.items()
        }
        published = {name: choice for name, choice in CHOICES.items() if choice.keys() & {"published", "always"}}
        choices = {name: {**choice, **names["switches"].get(name, {})} for name, choice in published.items()}
        return {"limits": LIMITS, "choices": choices, **{group: names[group] for group in ("pages", "tasks", "kinds")}}


def one_file(blocks: Mapping[str, str], contents: Contents, *, about: str) -> str:
    """The page as one HTML file, which opens from a disk and asks nobody for anything.

    Args:
        blocks: The names of the data and their JSON, see `data_block`.
        contents: Of the page, whose form is "file" or "report".
        about: The elements that describe the page.
    """
    policy, head, script, icon = frame(contents)
    body = "\n".join((*(data_block(name, text) for name, text in blocks.items()), script))
    return page(policy, about=about, head=head, body=body, icon=icon)


@cache
def frame(contents: Contents) -> tuple[str, str, str, str]:
    """What all single files share: the policy, the head, the script and the icon."""
    script = END_OF_SCRIPT.sub(r"<\\/\1", code_of_page(contents).script)
    common = POLICY.replace("'self'{hosts}", "{hosts}" if contents.hub else "'none'")
    common = common.replace("'self' ", "").replace("'self'", "'none'")
    scripts = [f"'{integrity(script)}'", f"'{integrity(start_code()[0])}'"]
    if contents.form == "file":  # the engine runs in the page; in a folder it runs in a worker, which has no policy
        scripts.append("'wasm-unsafe-eval'")  # allows WebAssembly, and no text as a script
    policy = common.format(style="'unsafe-inline'", script=" ".join(scripts), hosts=named_hosts(contents.hub))
    icon = "data:image/svg+xml;base64," + base64.b64encode(asset("ui/icon.svg").encode()).decode()
    styles = [part_style(name) for name in PART_STYLES if getattr(contents, name)]
    head = f'<link rel="icon" href="{icon}">\n<style>{style(script)}{"".join(styles)}</style>'
    return policy, head, f'<script type="module">{script}</script>', icon


def data_block(name: str, text: str) -> str:
    """Data in the page, which no text in them can end."""
    return f'<script type="application/json" id="{escape(name)}">{text.replace("<", chr(92) + "u003c")}</script>'


def compact(value: object) -> str:
    return json.dumps(finite(value), ensure_ascii=False, allow_nan=False, separators=(",", ":"))


@cache
def code_of_page(contents: Contents) -> PageCode:
    """The code of a page, without what it cannot use."""
    form, has_hub = contents.form, bool(contents.hub)
    used = {RECURRENT: contents.recurrent, LESSONS: contents.lessons, ATLAS_PAGE: contents.atlas}
    without = {name for name, is_used in {**used, **dict.fromkeys(OF_HUB, has_hub)}.items() if not is_used}
    without = without.union(NOT_IN_REPORT if form == "report" else ())
    instead = OWN | IN_REPORT if form == "report" else OWN
    parts = {name: part for name, part in PARTS.items() if form == "site" and part[0] not in without}
    scripts = modules("app/script.js", without=without.union(module for module, _ in parts.values()), instead=instead)
    without = without.union(scripts)
    others = {name: modules(module, without=without, instead=instead) for name, (module, _) in parts.items()}
    require_once(others)
    all_others = {name: text for each in others.values() for name, text in each.items()}
    names = (text for named in NAMES.values() for texts in named.values() for text in texts.values())
    texts = list(dict.fromkeys([*texts_of({**scripts, **all_others}), *names]))
    shared = shared_names(all_others, scripts)
    return PageCode(
        script=script_of(scripts, texts, exported=shared),
        parts={
            name: script_of(others[name], texts, exported=[export], given=shared, source="app.js")
            for name, (_, export) in parts.items()
        },
        words=words_of(texts),
    )


def require_once(parts: Mapping[str, Mapping[str, str]]) -> None:
    """Raise a ValueError if two parts have the same module: it would exist twice, with a state of its own in each."""
    times = Counter(name for part in parts.values() for name in part)
    if twice := sorted(name for name, count in times.items() if count > 1):
        raise ValueError(f"Two parts of a site have {', '.join(twice)}. Import it in the script of the page too.")


def part_style(name: str) -> str:
    """The style sheet of a part of a site."""
    return minify.string("text/css", CSS_COMMENT.sub("", asset(PART_STYLES[name])))


def style(script: str) -> str:
    """The style sheets of the components and of the page, without rules for classes that the script does not name."""
    sheets = asset(*STYLES) + asset("app/live.css")
    named = set(NAMED.findall(script + asset("app/index.html")))

    def used(rule: re.Match[str]) -> str:
        selectors = [one for one in SELECTOR_END.split(rule[1]) if named.issuperset(CLASS.findall(one))]
        declarations = AROUND.sub(r"\1", rule[2]).strip()  # the minifier leaves those in a container as they are
        return f"{','.join(selectors)}{{{declarations}}}" if selectors else ""

    return minify.string("text/css", RULE.sub(used, CSS_COMMENT.sub("", sheets)))


def script_of(
    scripts: Mapping[str, str],
    texts: Sequence[str] = (),
    *,
    exported: Sequence[str] = (),
    given: Sequence[str] = (),
    source: str = "",
) -> str:
    """Modules as one minified script.

    Args:
        scripts: Path → text, as `modules` gives them.
        texts: The texts to translate. Each one is its number in the script.
        exported: The names of what the script exports, as a list.
        given: The names of what another script exports in this order.
        source: The address of that script.
    """
    code = joined({name: with_arrows(text) for name, text in scripts.items()}, given=given)
    begin = f'import given from "{source}";\n' if given else ""
    names = f"const [{', '.join(given)}] = given;\n" if given else ""
    export, end = ("export default ", f"return [{', '.join(exported)}];\n") if exported else ("", "")
    script = f"{begin}{export}(() => {{\n{with_variables(names + code + end)}}})();\n"
    return minify.string("application/javascript", numbered(script, texts))


def shared_names(scripts: Mapping[str, str], others: Mapping[str, str]) -> list[str]:
    """What some modules import from modules of another script."""
    imported = {one for text in scripts.values() for one in imports_of(text)}
    return sorted(imported.intersection(one for text in others.values() for one in exports_of(text)))


def with_arrows(text: str) -> str:
    """A module in which each function is a constant at the beginning, which a minifier makes shorter."""
    found = FUNCTION.findall(text)
    arrows = (f"{export}const {name} = {kind}{given} => {body};\n" for export, kind, name, given, body in found)
    return "".join([*arrows, FUNCTION.sub("", text)])


def with_variables(script: str) -> str:
    """A script in which what it repeats of the browser is a variable, to which a minifier can give a short name."""
    repeated = [one for one, times in Counter(FOUND.findall(script)).items() if times >= REPEATED]
    names = {one: f"{one.replace('.', '_')}_" for one in repeated}
    source = {"document": "globalThis.document"}  # a worker has none
    defined = (f"const {name} = {source.get(one, one)};\n" for one, name in names.items())
    code = FOUND.sub(lambda match: names.get(match[0], match[0]), script)
    return "".join([*defined, code])


def texts_of(scripts: Mapping[str, str]) -> list[str]:
    """The English texts that scripts translate, without repetitions."""
    return list(dict.fromkeys(text for script in scripts.values() for text in marked_in(script)))


def numbered(script: str, texts: Sequence[str]) -> str:
    """A script in which each text of a list is its number there."""
    numbers = {text: number for number, text in enumerate(texts)}
    return SAY.sub(lambda match: match[0].replace(match[1], str(numbers.get(text_of(match[1]), match[1]))), script)
