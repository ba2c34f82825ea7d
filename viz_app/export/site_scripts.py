"""The JavaScript of a site: the modules of `live/` and of our components, as separate files or as one script.

A module imports the components from `assets/`, which is a folder beside it in a site.
"""

import posixpath
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from model.config.paths import HOME
from viz_app.components.bundle import ASSETS
from viz_app.components.words import marked_in

__all__ = ["LIVE", "bundled", "modules", "squeezed", "texts_of"]

LIVE = HOME / "live"
OWN = {"assets/bridge.js": "bridge.js"}  # the page around the components is another one than that of the app
IN_REPORT = {"opening.js": "recorded.js"}  # a report has recorded answers in the place of an engine
IMPORT = re.compile(r'^import *(?:(\w+)|\{([^}]*)\}) *from *"(\.[^"]+)";$', re.MULTILINE)
EXPORT = re.compile(r"^export (?!default)", re.MULTILINE)
# A regular expression after a sign that cannot end a value; a string; a template; a comment.
PARTS = re.compile(
    r"(?P<regex>(?<=[(,=:\[!&|?{};])\s*/(?![*/])(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n\[])+/[a-z]*)"
    r"""|(?P<string>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`)"""
    r"|(?P<comment>/\*.*?\*/|//[^\n]*)",
    re.DOTALL,
)
SPACES = re.compile(r"[ \t]*([=*<>?:;,(){}\[\]&|!%])[ \t]*")


def squeezed(source: str) -> str:
    """A script without comments and without the spaces that only people need. Strings stay as they are."""
    parts, last = [], 0
    for match in PARTS.finditer(source):
        parts.append(SPACES.sub(r"\1", source[last : match.start()]))
        if match.lastgroup != "comment":
            parts.append(match[0].strip())
        last = match.end()
    parts.append(SPACES.sub(r"\1", source[last:]))
    lines = (line.strip() for line in "".join(parts).splitlines())
    return "\n".join(line for line in lines if line)


def source_of(name: str, *, report: bool) -> str:
    """The text of a module by its path in a site or in a report."""
    own = (OWN | IN_REPORT if report else OWN).get(name, name)
    folder, file = (ASSETS, Path(own).name) if own.startswith("assets/") else (LIVE, own)
    return (folder / file).read_text(encoding="utf-8")


def imported(name: str, source: str) -> list[tuple[re.Match[str], str]]:
    """The imports of a module, each with the path of its module in a site."""
    here = posixpath.dirname(name)
    return [(match, posixpath.normpath(posixpath.join(here, match[3]))) for match in IMPORT.finditer(source)]


@cache
def modules(*names: str, report: bool = False) -> Mapping[str, str]:
    """These modules and all that they import: path in a site → squeezed text, each after those that it imports.

    Args:
        names: Paths in a site.
        report: The page is a report, which shows recorded answers.
    """
    found: dict[str, str] = {}

    def add(name: str) -> None:
        if name not in found:
            text = squeezed(source_of(name, report=report))
            found[name] = ""  # so that a circle ends
            for _, other in imported(name, text):
                add(other)
            del found[name]
            found[name] = text

    for name in names:
        add(name)
    return found


@cache
def bundled(name: str, *, report: bool = False) -> str:
    """A module and all that it imports as one script, for a page that is one file."""
    parts, all_modules = ["const modules={};"], modules(name, report=report)
    wanted: dict[str, set[str]] = {one: set() for one in all_modules}
    for one, text in all_modules.items():
        for match, other in imported(one, text):
            wanted[other] |= {"main"} if match[1] else {part.split(" as ")[0].strip() for part in match[2].split(",")}
    for one, text in all_modules.items():
        parts.append(scoped(one, text, sorted(wanted[one])))
    return "\n".join(parts)


def scoped(name: str, text: str, exports: list[str]) -> str:
    """A module as a function that runs at once and returns what other modules take from it."""
    for match, other in imported(name, text):
        names = f"main:{match[1]}" if match[1] else match[2].replace(" as ", ":")
        text = text.replace(match[0], f'const{{{names}}}=modules["{other}"];')
    code = EXPORT.sub("", text)
    # A function as the default export keeps its name, which nothing uses.
    code = re.sub(r"^export default ", "const main=", code, count=1, flags=re.MULTILINE)
    return f'modules["{name}"]=(()=>{{\n{code}\nreturn{{{",".join(exports)}}};\n}})();'


def texts_of(scripts: Mapping[str, str]) -> list[str]:
    """The English texts that scripts translate, without repetitions."""
    return list(dict.fromkeys(text for script in scripts.values() for text in marked_in(script)))
