"""Short English stories of scenes and words of our own: `scenes.toml` and `words.toml`.

Each story has one to three scenes with the same people, and each scene has its own animals and things. Plurals,
pronouns and verbs agree with their subjects.
"""

import random
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from zlib import crc32

__all__ = ["SCENES", "Words", "draw_line", "draw_name", "draw_row", "draw_stories", "is_held_out", "third_person"]

Row = Mapping[str, str]  # form → word
FILES: Mapping[str, Mapping[str, Any]] = {
    name: tomllib.loads((Path(__file__).parent / f"{name}.toml").read_text(encoding="utf-8"))
    for name in ("scenes", "words")
}
# The lines of each scene, as they are in the file. A scene that is drawn more often is there more often.
SCENES: tuple[tuple[str, ...], ...] = tuple(
    tuple(scene["lines"]) for scene in FILES["scenes"]["scene"] for _ in range(scene.get("times", 1))
)
WORDS = FILES["words"]
CHOICE = re.compile(r"\[([^\[\]]*)\]")  # the innermost one
SLOT = re.compile(r"\{(?:(?P<subject>\w+(?: \d)?):)?(?P<word>\w+(?: \d)?)(?:\.(?P<form>\w+))?\}")
INVENTED = 0.35  # share of names that are made of syllables
LEFT_OUT = 0.4  # share of the lines with ? that are left out
SCENES_OF_A_STORY = (1, 1, 1, 2, 2, 3)
KINDS_OF_NAMES = {"name": ("she", "he"), "called": ("it",)}
SAME = ("name",)  # categories that keep their words in all scenes of a story
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
        name = draw.choice(WORDS["names"][kind])
    kin = {} if kind == "it" else {"kin": draw.choice(WORDS["kin"][kind])}
    return {"word": name, **PRONOUNS[kind], **kin}


def syllables(draw: random.Random) -> str:
    """Two or three syllables, such as "Talomi"."""
    parts = WORDS["parts"]
    pick = {kind: str(draw.choice(parts[kind])) for kind in parts}
    longer = draw.choice(parts["middles"]) + draw.choice(parts["vowels"]) if draw.random() < 0.4 else ""
    return f"{pick['starts']}{pick['vowels']}{longer}{pick['middles']}{draw.choice(parts['vowels'])}{pick['ends']}"


def is_held_out(name: str) -> bool:
    return crc32(name.encode()) % HELD_OUT == 0


def draw_row(category: str, draw: random.Random) -> Row:
    """A word of a category with all its forms. A group gets a number, and the forms of its verbs follow it."""
    row: Row = draw.choice(WORDS["rows"][category])
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


class Words:
    """The words of one story, each drawn when it is first needed. Two words of a category always differ."""

    def __init__(self, draw: random.Random, *, invented: float = INVENTED, held_out: bool = False) -> None:
        """See `draw_stories`."""
        self.draw = draw
        self.invented, self.held_out = invented, held_out
        self.chosen: dict[str, Row] = {}

    def row(self, slot: str) -> Row:
        """The forms of the word of a slot, such as "thing 2"."""
        category = slot.split(" ")[0]
        used = {row["word"] for other, row in self.chosen.items() if other.split(" ")[0] == category}
        while slot not in self.chosen:
            row = self.draw_row(category)
            if row["word"] not in used:
                self.chosen[slot] = row
        return self.chosen[slot]

    def draw_row(self, category: str) -> Row:
        kinds = KINDS_OF_NAMES.get(category)
        if kinds is None:
            return draw_row(category, self.draw)
        return draw_name(self.draw.choice(kinds), self.draw, invented=self.invented, held_out=self.held_out)

    def next_scene(self) -> None:
        self.chosen = {slot: row for slot, row in self.chosen.items() if slot.split(" ")[0] in SAME}

    def fill(self, found: re.Match[str]) -> str:
        """The word for a slot such as {thing}, {thing 2.many}, {group:run} or {s:animal.sound}."""
        subject, word, form = found["subject"], found["word"], found["form"]
        if subject is None:
            return self.row(word)[form or "word"]
        try:
            verb = self.row(word)[form or "word"]
        except KeyError:  # a verb of the scene itself
            verb = word
        many = subject != "s" and self.row(subject)["number"] == "many"
        return verb if many else third_person(verb)


def draw_line(line: str, words: Words) -> str:
    while CHOICE.search(line):
        line = CHOICE.sub(lambda found: words.draw.choice(found[1].split("|")), line)
    text = SLOT.sub(words.fill, line)
    text = re.sub(r"\b([Aa]) (?=[aeiouAEIOU])", r"\1n ", text)
    return re.sub(r"(^\W*|[.!?] \W*)([a-z])", lambda found: found[1] + found[2].upper(), text)


def draw_story(words: Words) -> list[str]:
    """The lines of one story."""
    draw = words.draw
    lines: list[str] = []
    for scene in draw.sample(SCENES, draw.choice(SCENES_OF_A_STORY)):
        lines.extend(
            draw_line(line.removeprefix("?"), words)
            for line in scene
            if not line.startswith("?") or draw.random() >= LEFT_OUT
        )
        words.next_scene()
    return lines


def draw_stories(count: int, *, seed: int, invented: float = INVENTED, held_out: bool = False) -> Iterator[list[str]]:
    """`count` stories, each with its lines. The same seed gives the same stories.

    Args:
        count: How many.
        seed: Seed of the random numbers.
        invented: Share of names that are made of syllables.
        held_out: Invented names are those that no other story contains.
    """
    draw = random.Random(seed)
    for _ in range(count):
        yield draw_story(Words(draw, invented=invented, held_out=held_out))
