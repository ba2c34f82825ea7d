"""The translations of a language, read from the files of gettext in `locale/`."""

import gettext
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

__all__ = [
    *("ENGLISH", "FOLDER", "LANGUAGES", "PSEUDO", "Catalogue", "Pseudo", "catalogue", "catalogue_files"),
    "offered_languages",
]

ENGLISH = "en"
LANGUAGES = (ENGLISH, "zh", "ko")
FOLDER = Path(__file__).parent / "locale"
PSEUDO = "en-XA"
ACCENTS = str.maketrans("ACDEGHIKLNORSTUYZacdeghiklnorstuyz", "ÁČĎÉĜĤÍĶĽŇÓŘŠŤÚÝŽáčďéĝĥíķľňóřšťúýž")
# What has a meaning for a program keeps its letters: values, code, formulas, icons, links, marks of HTML.
KEPT = re.compile(r"(\{\w+\}|`[^`]*`|\$[^$]*\$|:material/\w+:|\]\([^)]*\)|<[^<>]*>|&\w+;)")


@dataclass(frozen=True, kw_only=True)
class Catalogue:
    """Translations by context (None: without one) and English text."""

    texts: Mapping[
        tuple[str | None, str], str | tuple[str, ...]
    ]  # a text that counts has one form for each kind of number
    form: Callable[[int], int]  # number → index of its form

    def text(self, text: str, context: str | None = None) -> str:
        """The translation of a text; the text itself without one."""
        found = self.texts.get((context, text), text)
        return found if isinstance(found, str) else found[0]

    def counted(self, one: str, many: str, n: int) -> str:
        """The translation of a text that counts `n` things."""
        found = self.texts.get((None, one))
        return found[self.form(n)] if isinstance(found, tuple) else one if n == 1 else many


class Pseudo:
    """A language for tests: English with accents, in brackets, and about a third longer.

    A text without brackets was not translated. A text that does not fit in this language will not fit in another.
    """

    def text(self, text: str, context: str | None = None) -> str:
        """The text with accents, longer, and in brackets."""
        parts = KEPT.split(text)
        parts[::2] = [part.translate(ACCENTS) for part in parts[::2]]
        longer = "~" * max(2, len(text) * 3 // 10)
        return f"[{''.join(parts)} {longer}]"

    def counted(self, one: str, many: str, n: int) -> str:
        """The text for `n` things."""
        return self.text(one if n == 1 else many)


def offered_languages() -> tuple[str, ...]:
    """The languages that a visitor can choose. A test adds one that shows which texts are not translated."""
    return (*LANGUAGES, PSEUDO) if "HEADLIGHT_PSEUDO" in os.environ else LANGUAGES


def catalogue_files(language: str) -> list[Path]:
    """The catalogues of a language, one for each room of the code."""
    return sorted((FOLDER / language).glob("*.po"))


@cache
def catalogue(language: str) -> Catalogue | Pseudo:
    """The translations of a language; it is read once in a process."""
    if language == PSEUDO:
        return Pseudo()
    texts: dict[tuple[str | None, str], str | tuple[str, ...]] = {}
    form: Callable[[int], int] = lambda n: int(n != 1)  # noqa: E731
    if language != ENGLISH:
        from babel.messages.plurals import get_plural  # slow to import, and English does not need it
        from babel.messages.pofile import read_po

        form = gettext.c2py(get_plural(language).plural_expr)
        for path in catalogue_files(language):
            with path.open("rb") as file:
                for message in read_po(file, locale=language):
                    key = message.id if isinstance(message.id, str) else message.id[0]
                    if message.id and message.string and not message.fuzzy:
                        string = message.string
                        texts[message.context, key] = string if isinstance(string, str) else tuple(string)
    return Catalogue(texts=texts, form=form)
