"""Toy languages, drawn by rule: what a small model learns in a minute, while one watches."""

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from model.corpora.corpora import CorpusError, write_pairs
from model.corpora.overlap import Pair, sides, without
from model.corpora.substitutions import words
from model.corpora.substitutions_chinese import numeral

__all__ = ["LONGEST", "TOYS", "Toy", "write_toy"]

ALPHABET = "abcdefghijklmnop"
SHORTEST, LONGEST = 3, 12  # letters of a word
SIZES = {"train": 12_000, "val": 200}  # pairs
MONTHS = words("January February March April May June July August September October November December")
ORDINALS = words("""
    first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth fifteenth
    sixteenth seventeenth eighteenth nineteenth twentieth twenty-first twenty-second twenty-third twenty-fourth
    twenty-fifth twenty-sixth twenty-seventh twenty-eighth
""")


@dataclass(frozen=True, kw_only=True)
class Toy:
    """A rule to learn. Both sides are tokens with spaces between them."""

    task: str  # what is asked of the model, for people
    source: str  # names of the two sides, as those of languages
    target: str
    draw: Callable[[random.Random, int], Pair]  # a pair, from the longest word that may be drawn
    example: Callable[[int], Pair]  # a pair that is not learned, from the same
    expect: str  # what the attention to the source looks like once it is learned


def of_letters(*, task: str, target: str, expect: str, rule: Callable[[list[str]], list[str]]) -> Toy:
    def pair(letters: list[str]) -> Pair:
        return " ".join(letters), " ".join(rule(letters))

    def draw(draws: random.Random, longest: int) -> Pair:
        return pair(draws.choices(ALPHABET, k=draws.randint(SHORTEST, longest)))

    def example(longest: int) -> Pair:
        return pair(list("beacon"[:longest]))

    return Toy(task=task, source="letters", target=target, draw=draw, example=example, expect=expect)


def date(day: int, month: int, year: int) -> Pair:
    said = f"the {ORDINALS[day - 1]} of {MONTHS[month - 1]} {numeral(year // 100)[0]} {numeral(year % 100)[0]}"
    return said.replace("-", " "), " ".join(f"{year}-{month:02}-{day:02}")


def draw_date(draws: random.Random, _longest: int) -> Pair:
    return date(draws.randint(1, len(ORDINALS)), draws.randint(1, len(MONTHS)), draws.randint(1910, 1999))


TOYS: Mapping[str, Toy] = {
    "reverse": of_letters(
        task="Letters in reverse: a b c → c b a",
        target="reversed",
        rule=lambda letters: letters[::-1],
        expect="an anti-diagonal: the first letter that is written looks at the last one that was read",
    ),
    "copy": of_letters(
        task="Letters copied: a b c → a b c",
        target="copied",
        rule=lambda letters: letters,
        expect="a diagonal: each letter looks at its own place",
    ),
    "sort": of_letters(
        task="Letters sorted: c a b → a b c",
        target="sorted",
        rule=sorted,
        expect="no line: each letter looks at wherever the next one of the alphabet stands",
    ),
    "dates": Toy(
        task="Dates in digits: the third of May nineteen eighty four → 1 9 8 4 - 0 5 - 0 3",
        source="dates",
        target="digits",
        draw=draw_date,
        example=lambda _longest: date(23, 5, 1984),
        expect="blocks: the year's digits look at the last words, the month's at its name, the day's at the first ones",
    ),
}


def write_toy(data_root: Path, name: str, *, longest: int = 8, seed: int = 1) -> Path:
    """Write a toy language as a corpus with a training and a validation part that share no pair.

    Args:
        data_root: Folder of the corpora.
        name: One of `TOYS`.
        longest: Letters of the longest words, up to `LONGEST`.
        seed: Of all that is drawn.

    Raises:
        CorpusError: there is no such toy or such length, or the corpus is there already or cannot be written.
    """
    if name not in TOYS:
        raise CorpusError(f"There is no toy {name!r}; there are {', '.join(TOYS)}.")
    if not SHORTEST < longest <= LONGEST:
        raise CorpusError(f"longest is {longest}; it must be from {SHORTEST + 1} to {LONGEST} letters.")
    toy, draws = TOYS[name], random.Random(seed)
    val = [toy.draw(draws, longest) for _ in range(SIZES["val"])]
    train = [toy.draw(draws, longest) for _ in range(SIZES["train"])]
    folder = data_root / name
    kept = sides([*val, toy.example(longest)])
    write_pairs(folder, {"train": list(without(train, kept)), "val": val}, (toy.source, toy.target))
    return folder
