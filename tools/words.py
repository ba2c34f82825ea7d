"""Collect the texts of the interface, and bring the catalogues of all languages up to date.

python -m tools.words

Each room of the code has a catalogue of its own in each language, so that several people can translate at once. A text
that another room has translated already is filled in. A text that the code no longer uses is removed.
"""

import ast
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from babel.messages.catalog import Catalog
from babel.messages.plurals import get_plural
from babel.messages.pofile import read_po, write_po

from viz_app.components.bundle import marked_in
from viz_app.content.catalogues import ENGLISH, FOLDER, LANGUAGES
from viz_app.content.shared import PAGES, PUBLISHED_PAGES, SHARED, SWITCHES, TASK_TITLES

__all__ = ["SOURCES", "Marked", "domain", "marked", "update", "write"]

ROOT = Path(__file__).resolve().parent.parent
# What only the command line and notebooks show is English.
ENGLISH_ONLY = (
    *("model/cli", "model/training", "model/config/recipe.py", "model/foreign/fetch.py", "model/foreign/marian.py"),
    *("model/corpora/class_list.py", "model/corpora/download.py", "model/corpora/reviews.py"),
)
SOURCES = [
    *(
        path
        for room in ("model", "viz_app")
        for path in sorted((ROOT / room).rglob("*.py"))
        if not any(path.is_relative_to(ROOT / one) for one in ENGLISH_ONLY)
    ),
    *(ROOT / "viz_app" / "content" / f"{name}.toml" for name in ("examples", "explanations", "glossary", "tasks")),
    *sorted((ROOT / "live").rglob("*.js")),
    SHARED,
    ROOT / "streamlit_app.py",
]
# Function → the places of its texts among the arguments. A message or error of `model/` gets its template first.
ERRORS = (
    *("CheckpointError", "ConfigError", "CorpusError", "DownloadError", "Message", "MessageError"),
    *("OwnAttentionError", "QuotaError", "TooLongError"),
)
PLACES = {"t": (0,), "tn": (0, 1), "tp": (0, 1), "require": (1,), "remembered": (0,), **dict.fromkeys(ERRORS, (0,))}
HEADER = """msgid ""
msgstr ""
"Language: {language}\\n"
"Content-Type: text/plain; charset=utf-8\\n"
"Plural-Forms: {plural}\\n"

"""


@dataclass(frozen=True, kw_only=True)
class Marked:
    """A text that is marked for translation."""

    text: str
    many: str | None = None  # the form for several
    context: str | None = None
    path: Path
    line: int
    values: frozenset[str] | None = None  # names of the values that the call gives; None if the call does not show them

    @property
    def key(self) -> str | tuple[str, str]:
        """The text as Babel names it."""
        return self.text if self.many is None else (self.text, self.many)


def shared_texts() -> list[str]:
    """The texts of `SHARED`, without repetitions."""
    named = [*PAGES.values(), *TASK_TITLES.values(), *PUBLISHED_PAGES.values(), *SWITCHES.values()]
    parts = ("section", "title", "instruction", "label", "help")
    return list(dict.fromkeys(one[part] for one in named for part in parts if part in one))


def domain(path: Path) -> str:
    """The catalogue of a file: one for each room, and one for each page with its sections."""
    first, *others = path.relative_to(ROOT).with_suffix("").parts
    if first != "viz_app":
        return first.replace("streamlit_app", "router")
    if others[0] in ("pages", "sections") and others[1] != "__init__":
        return f"page-{others[1]}"
    return others[0]


def marked(path: Path) -> Iterator[Marked]:
    """All marked texts of a file."""
    source = path.read_text(encoding="utf-8")
    if path.suffix in (".js", ".json"):
        found = marked_in(source) if path.suffix == ".js" else shared_texts()
        yield from (Marked(text=text, path=path, line=1) for text in found)
        return
    if path.suffix == ".toml":
        yield from (Marked(text=text, path=path, line=1) for text in texts_in(tomllib.loads(source)))
        return
    calls = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
    for call in sorted(calls, key=lambda node: (node.lineno, node.col_offset)):
        name = ast.unparse(call.func).rpartition(".")[2]
        if name == "N_":
            yield from (
                Marked(text=node.value, path=path, line=node.lineno)
                for node in ast.walk(call)
                if isinstance(node, ast.Constant) and isinstance(node.value, str)
            )
        elif name in PLACES:
            texts = [literal(call.args[place]) for place in PLACES[name] if place < len(call.args)]
            if texts and all(texts):
                yield call_texts(name, [str(text) for text in texts], call, path)


def texts_in(tables: Mapping[str, Any]) -> Iterator[str]:
    """The texts of a data file: what to look for in examples, explanations, tasks, or the glossary."""
    if "look_for" in tables:
        yield from (text for one in (tables["look_for"], *tables["purposes"].values()) for text in one.values())
    elif all(isinstance(one, Mapping) for one in tables.values()):
        named = (part for one in tables.values() for part in one.items())
        yield from dict.fromkeys(text for name, text in named if name not in ("formula", "code"))
    else:
        yield from (text for term in tables.items() for text in term)


def literal(node: ast.expr) -> str | None:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def call_texts(name: str, texts: list[str], call: ast.Call, path: Path) -> Marked:
    names = {keyword.arg for keyword in call.keywords}
    values = None if None in names else frozenset(str(name) for name in names)
    if name == "tp":
        return Marked(context=texts[0], text=texts[1], path=path, line=call.lineno, values=values)
    many = texts[1] if name == "tn" else None
    return Marked(text=texts[0], many=many, path=path, line=call.lineno, values=values)


def update(language: str) -> dict[str, Catalog]:
    """The catalogues of a language for the texts of today, with all translations that exist."""
    before: dict[str, Catalog] = {}
    for file in sorted((FOLDER / language).glob("*.po")):
        with file.open("rb") as stream:
            before[file.stem] = read_po(stream, locale=language)
    everywhere = {
        (message.context, message.id): message for catalog in before.values() for message in catalog if message.string
    }
    catalogs: dict[str, Catalog] = {}
    for path in SOURCES:
        for one in marked(path):
            name = domain(path)
            catalog = catalogs.setdefault(name, Catalog(locale=language))
            own = before[name].get(one.key, one.context) if name in before else None
            found = own if own and own.string else everywhere.get((one.context, one.key))
            place = [(path.relative_to(ROOT).as_posix(), one.line)]
            message = catalog.add(one.key, locations=place, context=one.context)
            if found:
                message.string, message.user_comments = found.string, list(found.user_comments)
                message.flags |= {"fuzzy"} & set(found.flags)
    return catalogs


def write(language: str, catalogs: dict[str, Catalog]) -> None:
    """Write the catalogues of a language, without line numbers and dates, which would change with every edit."""
    folder = FOLDER / language
    folder.mkdir(exist_ok=True)
    header = HEADER.format(language=language, plural=get_plural(language).plural_forms)
    for file in folder.glob("*.po"):
        if file.stem not in catalogs:
            file.unlink()
    for name, catalog in catalogs.items():
        with (folder / f"{name}.po").open("wb") as stream:
            stream.write(header.encode())
            write_po(stream, catalog, width=0, omit_header=True, include_lineno=False)


def main() -> None:
    for language in LANGUAGES:
        if language == ENGLISH:
            continue
        catalogs = update(language)
        write(language, catalogs)
        for name, catalog in sorted(catalogs.items()):
            missing = sum(1 for message in catalog if message.id and not filled(message.string))
            print(f"{language}/{name}.po: {len(catalog)} texts, {missing} not translated")


def filled(string: str | Sequence[str] | None) -> bool:
    """Whether a translation is complete, in all its plural forms."""
    return all(string) if string else False


if __name__ == "__main__":
    main()
