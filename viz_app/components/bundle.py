"""Our own JavaScript and styles, as the app sends them to a browser.

The files in `assets/` are JavaScript modules. Streamlit takes one text for each component, so `bundle` joins modules
into one text.
"""

import hashlib
import json
import re
from functools import cache
from pathlib import Path

__all__ = ["ASSETS", "COMPONENT_STYLES", "asset", "bundle", "library", "library_name"]

ASSETS = Path(__file__).parent / "assets"
COMPONENT_STYLES = ("components.css", "save_menu.css")
IMPORT = re.compile(r'^import (?:(\w+)|\{([^}]*)\}) from "\./(\w+)\.js";$', re.MULTILINE)
JSDOC = re.compile(r"^ */\*\*.*?\*/\n", re.MULTILINE | re.DOTALL)  # a browser does not need it
EXPORT = re.compile(r"^export (?=(?:async )?(?:function|const) (\w+))", re.MULTILINE)


@cache
def asset(*names: str) -> str:
    """The text of files in `assets/`, one after the other."""
    return "\n".join((ASSETS / name).read_text(encoding="utf-8") for name in names)


@cache
def bundle(*names: str) -> str:
    """One text with these modules of `assets/` and all that they import: each is a property of the object `modules`.

    Each module keeps a scope of its own. Its default export is the property `main`.
    """
    found: dict[str, str] = {}  # in an order in which each comes after those that it imports

    def add(name: str) -> None:
        if name not in found:
            source = JSDOC.sub("", asset(f"{name}.js"))
            for match in IMPORT.finditer(source):
                add(match[3])
            found[name] = scoped(name, source)

    for name in names:
        add(name)
    return "\n".join(("const modules = {};", *found.values()))


def scoped(name: str, source: str) -> str:
    """A module as a function that runs at once and returns what the module exports."""

    def from_modules(match: re.Match[str]) -> str:
        names = f"main: {match[1]}" if match[1] else match[2].strip()
        return f"const {{ {names} }} = modules.{match[3]};"

    exports = [*EXPORT.findall(source), *["main"] * ("export default " in source)]
    code = EXPORT.sub("", IMPORT.sub(from_modules, source)).replace("export default ", "const main = ", 1)
    return f"modules.{name} = (() => {{\n{code}\nreturn {{ {', '.join(exports)} }};\n}})();"


@cache
def library_name() -> str:
    """The global variable of the browser that holds all components. Another version of them has another name."""
    digest = hashlib.sha256((bundle("app") + asset(*COMPONENT_STYLES)).encode()).hexdigest()
    return f"headlight_{digest[:12]}"


@cache
def library() -> str:
    """A module with all components of the app; its own component is that of the keys of a page."""
    arguments = f"{json.dumps(library_name())}, {json.dumps(asset(*COMPONENT_STYLES))}"
    end = f"modules.app.provideComponents({arguments});\nexport default modules.app.pageKeys;"
    return f"{bundle('app')}\n{end}\n"
