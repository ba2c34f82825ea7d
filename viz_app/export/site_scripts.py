"""The script of a site: the modules of `live/` and of our components, joined and minified.

A module imports the components from `assets/`, as if that folder were beside it.
"""

import json
import posixpath
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Literal

import minify

from model.config.paths import HOME
from viz_app.components.bundle import ASSETS
from viz_app.components.words import SAY, marked_in

__all__ = ["LIVE", "Form", "exports_of", "joined", "minified", "modules", "numbered", "shared_names", "texts_of"]

LIVE = HOME / "live"
OWN = {"assets/bridge.js": "bridge.js"}  # the page around the components is another one than that of the app
# A report has recorded answers in the place of an engine, and the masks of one text in the place of a batch.
IN_REPORT = {"opening.js": "recorded.js", "pages/masks.js": "pages/recorded_masks.js"}
# The colours have the names that Streamlit gives them in the app. In a page they have shorter ones.
COLOURS = {
    "--st-primary-color": "--p",
    "--st-text-color": "--t",
    "--st-background-color": "--b",
    "--st-secondary-background-color": "--s",
}
EMPTY: Mapping[str, str] = MappingProxyType({})
Form = Literal["site", "file", "report"]  # of a page: a folder, one file with the model, one file with recorded answers
# What takes the place of a module. One file holds the code of the lessons too.
INSTEAD: Mapping[Form, Mapping[str, str]] = {
    "site": OWN,
    "file": OWN | {"lessons.js": "held_lessons.js"},
    "report": OWN | IN_REPORT,
}
IMPORT = re.compile(r'^import (?:(\w+)|\{([^}]*)\}) from "(\.[^"]+)";\n', re.MULTILINE)
COMMENT = re.compile(r"^ *(?:/\*\*.*?\*/|//[^\n]*)\n", re.MULTILINE | re.DOTALL)  # that has lines of its own
DECLARED = re.compile(r"^(export )?(?:async )?(?:function\*?|class|const|let) (\w+)(.*)", re.MULTILINE)
BUILT_IN = re.compile(r"\b(Math|Number|Object)\.(\w+)")
VALUE = r".*(?:\n(?:   |  [\])}]).*)*"  # also of several lines
ONLY_RETURNS = re.compile(rf"^(async )?function (\w+)\((.*)\) {{\n  return ({VALUE});\n}}\n", re.MULTILINE)
FUNCTION = re.compile(
    r"^(?:(?:async )?function\*? (\w+)\((?:.*\}\n|.*\{\n(?:(?!\}).*\n)*\}\n)"
    rf"|const (\w+) = (?:async )?\(.*\) => \({VALUE}\);\n)",
    re.MULTILINE,
)


def source_of(name: str, form: Form) -> str:
    """The text of a module by its path in a page, without the comments between its lines."""
    own = INSTEAD[form].get(name, name)
    folder, file = (ASSETS, Path(own).name) if own.startswith("assets/") else (LIVE, own)
    return COMMENT.sub("", (folder / file).read_text(encoding="utf-8"))


@cache
def modules(name: str, *, without: frozenset[str] = frozenset(), form: Form = "site") -> Mapping[str, str]:
    """A module and all that it imports: path in a page → text, each after those that it imports.

    Args:
        name: Its path in a page.
        without: Modules that are left out.
        form: Of the page.
    """
    found: dict[str, str] = {}

    def add(one: str) -> None:
        if one not in found and one not in without:
            text = source_of(one, form)
            for _, other in imports_of(one, text):
                add(other)
            found[one] = text

    add(name)
    return found


def joined(
    scripts: Mapping[str, str],
    *,
    exported: Mapping[str, str] = EMPTY,
    given: Mapping[str, str] = EMPTY,
    source: str = "",
) -> str:
    """Modules as one script with one scope, so that no import remains, and a minifier can rename everything.

    A constant in capitals gets another name if another module has it too. If modules share another name of their own,
    the second one has the scope of a function. Exported names are different in all modules. What only modules that are
    left out define is undefined.

    Args:
        scripts: Path → text, as `modules` gives them.
        exported: What the script exports for another one: the name there → its name here.
        given: What another script exports, in the same form.
        source: The address of that script.
    """
    needed = {
        *exported.values(),
        *(one for name, text in scripts.items() for names, _ in imports_of(name, text) for one in names),
    }
    names_of = {name: [one for one in exports_of(name, text) if one in needed] for name, text in scripts.items()}
    taken = {*given.values(), *(one for names in names_of.values() for one in names)}
    parts = []
    for number, (name, text) in enumerate(scripts.items()):
        constants = "|".join(one for one in private_names(text) & taken if one.isupper())
        text = re.sub(rf"\b({constants})\b", rf"\1_{number}", text) if constants else text
        own = private_names(text).union(exports_of(name, text)) - {*names_of[name]}
        code = with_arrows(plain(name, IMPORT.sub("", text)))
        if own & taken:
            names = ",".join(names_of[name])
            code = f"const[{names}]=(()=>{{\n{code}\nreturn[{names}]}})();\n"
        taken |= own
        parts.append(code)
    missing = {
        one
        for name, text in scripts.items()
        for names, other in imports_of(name, text)
        if other not in scripts
        for one in names
        if one not in given.values()
    }
    script = "".join([f"let {','.join(sorted(missing))};\n" if missing else "", *parts])
    imported = ",".join(f"{name} as {own}" for name, own in given.items())
    begin, end = f'import{{{imported}}}from"{source}";\n' if given else "", ""
    if exported:
        begin, end = f"{begin}export const[{','.join(exported)}]=", f"return[{','.join(exported.values())}];\n"
    return f"{begin}(() => {{\n{with_variables(without_unused(script + end))}}})();\n"


def shared_names(scripts: Mapping[str, str], others: Mapping[str, str]) -> dict[str, str]:
    """What some modules import from modules of another script: a short name for its export → the name."""
    imported = (pair for name, text in scripts.items() for pair in imports_of(name, text))
    names = sorted({one for names, other in imported if other in others for one in names})
    return {f"s{number}": name for number, name in enumerate(names)}


def imports_of(name: str, text: str) -> list[tuple[list[str], str]]:
    """What a module imports: the names, and the path of their module in a site."""
    here = posixpath.dirname(name)
    return [
        (re.findall(r"\w+", match[1] or match[2]), posixpath.normpath(posixpath.join(here, match[3])))
        for match in IMPORT.finditer(text)
    ]


def exports_of(name: str, text: str) -> list[str]:
    default = [default_name(name)] if "\nexport default " in text else []
    return [match[2] for match in DECLARED.finditer(text) if match[1]] + default


def private_names(text: str) -> set[str]:
    """The names at the top of a module that it does not export."""
    lines = [(match[2], match[3]) for match in DECLARED.finditer(text) if not match[1]]
    return {one for name, rest in lines for one in (name, *re.findall(r", (\w+) = ", rest))}


def default_name(name: str) -> str:
    """The name by which others import the default export: `attentionMap` of attention_map.js."""
    first, *others = Path(name).stem.split("_")
    return first + "".join(map(str.capitalize, others))


def plain(name: str, text: str) -> str:
    """A module without the words that only modules have."""
    text = text.replace("\nexport default ", f"\nconst {default_name(name)} = ", 1)
    return re.sub(r"^export ", "", text, flags=re.MULTILINE)


def without_unused(script: str) -> str:
    """A script without functions that nothing in it calls."""
    uses = Counter(re.findall(r"\w+", script))
    smaller = FUNCTION.sub(lambda match: match[0] if uses[match[1] or match[2]] > 1 else "", script)
    return smaller if smaller == script else without_unused(smaller)


def with_arrows(script: str) -> str:
    """A module in which each function that only returns a value is a constant at the beginning, which is shorter."""
    found = ONLY_RETURNS.findall(script)
    arrows = "".join(f"const {name} = {kind}({given}) => ({value});\n" for kind, name, given, value in found)
    return arrows + ONLY_RETURNS.sub("", script)


def with_variables(script: str) -> str:
    """A script in which each function of the language is a variable, to which a minifier can give a short name."""
    used = dict.fromkeys(BUILT_IN.findall(script))
    defined = "".join(f"const {owner}_{name} = {owner}.{name};\n" for owner, name in used)
    return defined + BUILT_IN.sub(r"\1_\2", script)


def minified(text: str, kind: str = "application/javascript") -> str:
    """A script or a style sheet in as few characters as possible. Local variables and colours get short names."""
    for name, short in COLOURS.items():
        text = text.replace(name, short)
    return minify.string(kind, text)


def texts_of(scripts: Mapping[str, str]) -> list[str]:
    """The English texts that scripts translate, without repetitions."""
    return list(dict.fromkeys(text for script in scripts.values() for text in marked_in(script)))


def numbered(script: str, texts: Sequence[str]) -> str:
    """A script in which each text to translate is its number in a list."""
    numbers = {text: number for number, text in enumerate(texts)}
    return SAY.sub(lambda match: match[0].replace(match[1], str(numbers[json.loads(match[1])])), script)
