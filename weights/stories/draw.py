"""Draws stories: each has one to three scenes with the same people, and each scene has its own animals and things."""

import random
import re
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from weights.stories.words import Row, draw_name, draw_row, third_person

__all__ = ["Words", "draw_line", "draw_stories", "draw_story", "scenes"]

SCENES = Path(__file__).with_name("scenes.toml")
CHOICE = re.compile(r"\[([^\[\]]*)\]")  # the innermost one
SLOT = re.compile(r"\{(?:(?P<subject>\w+(?: \d)?):)?(?P<word>\w+(?: \d)?)(?:\.(?P<form>\w+))?\}")
INVENTED = 0.35  # share of names that are made of syllables
LEFT_OUT = 0.4  # share of the lines with ? that are left out
SCENES_OF_A_STORY = (1, 1, 1, 2, 2, 3)
KINDS_OF_NAMES = {"name": ("she", "he"), "called": ("it",)}
SAME = ("name",)  # categories that keep their words in all scenes of a story


@cache
def scenes() -> tuple[tuple[str, ...], ...]:
    """The lines of each scene, as they are in the file. A scene that is drawn more often is there more often."""
    with SCENES.open("rb") as file:
        return tuple(
            tuple(scene["lines"]) for scene in tomllib.load(file)["scene"] for _ in range(scene.get("times", 1))
        )


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
    for scene in draw.sample(scenes(), draw.choice(SCENES_OF_A_STORY)):
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
