"""The words of a story and their forms: plurals, pronouns, and verbs that agree with a subject."""

import random
import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any
from zlib import crc32

__all__ = ["Row", "draw_name", "draw_row", "is_held_out", "third_person", "vocabulary"]

WORDS = Path(__file__).with_name("words.toml")
Row = Mapping[str, str]  # form → word
HELD_OUT = 10  # one invented name in ten is kept for tests
PRONOUNS = {
    "she": {"he": "she", "him": "her", "his": "her", "child": "girl", "royal": "queen"},
    "he": {"he": "he", "him": "him", "his": "his", "child": "boy", "royal": "king"},
    "it": {"he": "it", "him": "it", "his": "its"},
}
ONE = {"is": "is", "was": "was", "they": "it", "them": "it", "their": "its"}
MANY = {"is": "are", "was": "were", "they": "they", "them": "them", "their": "their"}
PERSONS = {"girl": "she", "woman": "she", "boy": "he", "man": "he"}  # and either one for the other persons
EITHER = ("child", "teacher", "farmer", "doctor", "friend")


@cache
def vocabulary() -> Mapping[str, Mapping[str, Any]]:
    """The tables of words.toml."""
    with WORDS.open("rb") as file:
        return tomllib.load(file)


def rows(category: str) -> list[Row]:
    """Raises KeyError if there is no such category."""
    found: list[Row] = vocabulary()["rows"][category]
    return found


def draw_name(kind: str, draw: random.Random, *, invented: float, held_out: bool) -> Row:
    """A name of the list or an invented one, with its pronouns.

    Args:
        kind: "she", "he" or "it", for a pet.
        draw: Random numbers.
        invented: Share of names that are made of syllables.
        held_out: Invented names are those that no training story contains.
    """
    if draw.random() < invented:
        name = next(name for name in iter(lambda: syllables(draw), "") if is_held_out(name) == held_out)
    else:
        name = draw.choice(vocabulary()["names"][kind])
    kin = {} if kind == "it" else {"kin": draw.choice(vocabulary()["kin"][kind])}
    return {"word": name, **PRONOUNS[kind], **kin}


def syllables(draw: random.Random) -> str:
    """Two or three syllables, such as "Talomi"."""
    parts = vocabulary()["parts"]
    pick = {kind: str(draw.choice(parts[kind])) for kind in parts}
    longer = draw.choice(parts["middles"]) + draw.choice(parts["vowels"]) if draw.random() < 0.4 else ""
    return f"{pick['starts']}{pick['vowels']}{longer}{pick['middles']}{draw.choice(parts['vowels'])}{pick['ends']}"


def is_held_out(name: str) -> bool:
    return crc32(name.encode()) % HELD_OUT == 0


def draw_row(category: str, draw: random.Random) -> Row:
    """A word of a category with all its forms. A group gets a number, and the forms of its verbs follow it."""
    row = draw.choice(rows(category))
    if category != "group":
        return row
    if draw.random() < 0.5:
        return {**MANY, "word": row["many"], "number": "many"}
    person = draw.choice(("she", "he")) if row["word"] in EITHER else PERSONS.get(row["word"], "it")
    forms = PRONOUNS[person]
    one = {"they": forms["he"], "them": forms["him"], "their": forms["his"]}
    return {**ONE, **one, "word": row["word"], "number": "one"}


def third_person(verb: str) -> str:
    """A verb in the third person: "runs", "watches", "cries", "has"."""
    if verb == "have":
        return "has"
    if verb.endswith(("s", "sh", "ch", "x", "o")):
        return f"{verb}es"
    if verb.endswith("y") and verb[-2] not in "aeiou":
        return f"{verb[:-1]}ies"
    return f"{verb}s"
