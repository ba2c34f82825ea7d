"""The scripts of a page that is published: modules joined, without their texts, in as few characters as possible."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Literal

import minify

from viz_app.components.bundle import exports_of, imports_of, joined
from viz_app.components.words import SAY, marked_in, text_of

__all__ = ["INSTEAD", "Form", "minified", "numbered", "script_of", "shared_names", "texts_of"]

OWN = {"assets/bridge.js": "bridge.js"}  # the page around the components is another one than that of the app
# A report has recorded answers in the place of an engine, and the masks of one text in the place of a batch.
IN_REPORT = {"opening.js": "recorded.js", "pages/masks.js": "pages/recorded_masks.js"}
Form = Literal["site", "file", "report"]  # of a page: a folder, one file with the model, one file with recorded answers
# What takes the place of a module. One file holds the code of the lessons too.
INSTEAD: Mapping[Form, Mapping[str, str]] = {
    "site": OWN,
    "file": OWN | {"lessons.js": "held_lessons.js"},
    "report": OWN | IN_REPORT,
}
# The colours have the names that Streamlit gives them in the app. In a page they have shorter ones.
COLOURS = {
    "--st-primary-color": "--p",
    "--st-text-color": "--t",
    "--st-background-color": "--b",
    "--st-secondary-background-color": "--s",
}
FUNCTION = re.compile(
    r"^(export )?(async )?function (\w+)(\((?:(?!\) \{).)*\)) (\{(?:\n.*?^)?\})\n", re.MULTILINE | re.DOTALL
)
# What a script takes from the browser, where it is no property and no part of a word.
FOUND = re.compile(
    r"(?<![\w.$])(?:(?:Math|Number|Object|Array|JSON)\.\w+|document(?=\.)|(?:String|Number|Float32Array|Uint8Array)(?=[.(]))"
)
REPEATED = 3  # times; a variable is longer than what stands less often


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
    return minified(numbered(f"{begin}{export}(() => {{\n{with_variables(names + code + end)}}})();\n", texts))


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


def minified(text: str, kind: str = "application/javascript") -> str:
    """A script or a style sheet in as few characters as possible. Local variables and colours get short names."""
    for name, short in COLOURS.items():
        text = text.replace(name, short)
    return minify.string(kind, text)


def texts_of(scripts: Mapping[str, str]) -> list[str]:
    """The English texts that scripts translate, without repetitions."""
    return list(dict.fromkeys(text for script in scripts.values() for text in marked_in(script)))


def numbered(script: str, texts: Sequence[str]) -> str:
    """A script in which each text of a list is its number there."""
    numbers = {text: number for number, text in enumerate(texts)}
    return SAY.sub(lambda match: match[0].replace(match[1], str(numbers.get(text_of(match[1]), match[1]))), script)
