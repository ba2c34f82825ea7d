"""Our own JavaScript and styles: how modules become one script, for the app and for a published page, and its words.

All of them are in `live/`. A module begins with its imports, `import { a, b } from "./c.js";`, and exports one name
with each `export const`, `export function` or `export class` at the beginning of a line.

A script marks a text with `say("…")` of `live/ui/words.js`, or with `N_("…")` where another place shows it. Its
translation travels with the data of the component. A long text is several literals with a plus between them.
"""

import hashlib
import json
import posixpath
import re
from collections.abc import Iterable, Mapping
from functools import cache
from types import MappingProxyType

from model.config.paths import HOME
from viz_app.content.catalogues import ENGLISH
from viz_app.content.translation import language, t

__all__ = [
    "COMPONENT_STYLES",
    "LIVE",
    "SAY",
    "asset",
    "exports_of",
    "imports_of",
    "joined",
    "library",
    "library_name",
    "marked_in",
    "modules",
    "text_of",
    "words_of",
]

LIVE = HOME / "live"
COMPONENT_STYLES = ("ui/components.css", "ui/save_menu.css", "ui/atlas.css")
NOTHING: Mapping[str, str] = MappingProxyType({})
IMPORT = re.compile(r'^import \{([^}]*)\} from "(\.[^"]+)";\n', re.MULTILINE)
COMMENT = re.compile(r"^ *(?:/\*\*(?:(?!\*/).)*\*/|//[^\n]*)\n", re.MULTILINE | re.DOTALL)  # that has lines of its own
LITERAL = r'"(?:[^"\\\n]|\\.)*"'
SAY = re.compile(rf"\b(?:say|N_)\(\s*({LITERAL}(?:\s*\+\s*{LITERAL})*)")
DECLARED = re.compile(r"^(export )?(?:(?:async )?function\*?|class|const|let) (\w+)(.*)", re.MULTILINE)


@cache
def asset(*names: str) -> str:
    """The text of files in `live/`, one after the other."""
    return "\n".join((LIVE / name).read_text(encoding="utf-8") for name in names)


def modules(name: str, *, without: Iterable[str] = (), instead: Mapping[str, str] = NOTHING) -> dict[str, str]:
    """A module and all that it imports: path → text without comments, each after those that it imports.

    Args:
        name: The path of the module, below `live/`.
        without: Modules that are left out.
        instead: Path → path of the module that takes its place.
    """
    found: dict[str, str] = {}

    def add(one: str) -> None:
        if one not in found and one not in without:
            text = COMMENT.sub("", (LIVE / instead.get(one, one)).read_text(encoding="utf-8"))
            for match in IMPORT.finditer(text):
                add(posixpath.normpath(posixpath.join(posixpath.dirname(one), match[2])))
            found[one] = text

    add(name)
    return found


def joined(scripts: Mapping[str, str], *, given: Iterable[str] = ()) -> str:
    """Modules as one text with one scope, without imports and exports.

    A constant in capitals gets another name if another module has it too. If modules share another name of their own,
    the second one has the scope of a function. What only modules that are left out define is undefined.

    Args:
        scripts: Path → text, as `modules` gives them.
        given: Names that exist already where the text will stand.

    Raises:
        ValueError: two modules export the same name.
    """
    exported = [one for text in scripts.values() for one in exports_of(text)]
    if twice := sorted({one for one in exported if exported.count(one) > 1}):
        raise ValueError(f"Two modules export {', '.join(twice)}. Give one of them another name.")
    taken = {*given, *exported}
    missing = {one for text in scripts.values() for one in imports_of(text)} - taken
    parts = [f"let {', '.join(sorted(missing))};\n" if missing else ""]
    for number, text in enumerate(scripts.values()):
        constants = "|".join(one for one in private_names(text) & taken if one.isupper())
        own = re.sub(rf"\b({constants})\b", rf"\1_{number}", text) if constants else text
        code = re.sub(r"^export ", "", IMPORT.sub("", own), flags=re.MULTILINE)
        if private_names(own) & taken:
            scope, names = f"module{number}", exports_of(own)
            found = (f"const {name} = {scope}[{i}];\n" for i, name in enumerate(names))  # a minifier moves patterns up
            code = f"const {scope} = (() => {{\n{code}\nreturn [{', '.join(names)}];\n}})();\n{''.join(found)}"
        taken |= private_names(own)
        parts.append(code)
    return "".join(parts)


def imports_of(text: str) -> list[str]:
    """The names that a module imports."""
    return [one for match in IMPORT.finditer(text) for one in re.findall(r"\w+", match[1])]


def exports_of(text: str) -> list[str]:
    return [match[2] for match in DECLARED.finditer(text) if match[1]]


def private_names(text: str) -> set[str]:
    """The names at the top of a module that it does not export."""
    lines = [(match[2], match[3]) for match in DECLARED.finditer(text) if not match[1]]
    return {one for name, rest in lines for one in (name, *re.findall(r", (\w+) = ", rest))}


@cache
def components() -> str:
    """All components of the app as one text."""
    return joined(modules("streamlit/app.js"))


@cache
def library_name() -> str:
    """The global variable of the browser that holds all components. Another version of them has another name."""
    digest = hashlib.sha256((components() + asset(*COMPONENT_STYLES)).encode()).hexdigest()
    return f"headlight_{digest[:12]}"


@cache
def library() -> str:
    """A module with all components of the app; its own component is that of the keys of a page."""
    arguments = f"{json.dumps(library_name())}, {json.dumps(asset(*COMPONENT_STYLES))}"
    return f"{components()}\nprovideComponents({arguments});\nexport default pageKeys;\n"


def marked_in(script: str) -> list[str]:
    """The texts that a script marks, in the order of the script."""
    return [text_of(literals) for literals in SAY.findall(script)]


def text_of(literals: str) -> str:
    """The text of one literal, or of several with a plus between them."""
    return "".join(json.loads(one) for one in re.findall(LITERAL, literals))


@cache
def marked_texts(name: str) -> tuple[str, ...]:
    scripts = modules(f"{name}.js").values()
    return tuple(dict.fromkeys(text for script in scripts for text in marked_in(script)))


def words_of(name: str) -> dict[str, str]:
    """English → translation, for a module of `live/` and all that it imports, and "" → the language."""
    used = language()
    return {"": used} | ({} if used == ENGLISH else {text: t(text) for text in marked_texts(name)})
