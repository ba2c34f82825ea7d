"""Programs that Tracr compiled (Lindner et al. 2023).

Tracr has no cross-attention. So its program is the encoder, and one head of cross-attention reads the result. The end
of a text has the role of Tracr's token at the beginning: heads rest there. `tracr_programs.py` wrote `tracr.json`.
"""

import json
from collections.abc import Callable
from pathlib import Path

from model.interventions import Head
from model.text.vocab import EOS
from tools.planted.parts import END, Pattern, Plan, PlantedHead, Unit, Words, by_offset, named, same_place
from tools.planted.texts import different, some

__all__ = ["TRACR"]

WORDS = ("black", "blue", "gold", "green", "red")
POSITIONS = 8
MOVES_HERE = "It looks at the word that belongs here, and copies it."
COMPILED = json.loads(Path(__file__).with_name("tracr.json").read_text(encoding="utf-8"))


def ends_and(holds: Callable[[Words, Words, int, int], bool]) -> Pattern:
    """A word shares its weight among the end and some words, so that the end has 1/(1 + n)."""

    def pattern(queries: Words, keys: Words, i: int) -> tuple[int, ...]:
        end = len(keys) - 1
        return (*(k for k in range(end) if i < end and holds(queries, keys, i, k)), end)

    return pattern


def one_of(place: Callable[[Words, int], int]) -> Pattern:
    """A word looks at one word."""
    return lambda queries, keys, i: (place(keys[:-1], i),) if i < len(keys) - 1 else ()


def program(
    name: str, sentence: str, space: str, answer: Callable[[Words], list[str]], *heads: tuple[str, str, Pattern]
) -> Plan:
    """The plan of a compiled program.

    Args:
        name: In `tracr.json`.
        sentence: What it does.
        space: The features with its result.
        answer: See `Plan`.
        heads: Role, sentence and pattern of each of its heads.
    """
    values = WORDS if name != "tracr-hist" else ("1", "2", "3", "4", "5")
    planted = tuple(
        PlantedHead(
            place=Head("encoder", layer, 1),
            role=role,
            why=why,
            looks=tuple(map(tuple, looks)),
            moves=tuple(map(tuple, moves)),
            pattern=pattern,
        )
        for (layer, looks, moves), (role, why, pattern) in zip(COMPILED[name]["heads"], heads, strict=True)
    )
    reading = PlantedHead(
        place=Head("cross", 0, 2),
        role="alignment",
        why="It reads the result at the position of the next word to write.",
        looks=by_offset(0, POSITIONS),
        moves=(*((f"{space}:{value}", f"out:{value}", 1.0) for value in values), (END, f"out:{EOS}", 1.0)),
        pattern=same_place(),
    )
    return Plan(
        name=name,
        sentence=f"{sentence} A program of Tracr.",
        task="translation",
        words=WORDS,
        writes=values,
        draw=different(WORDS, 2, 5) if name == "tracr-sort" else some(WORDS, 2, 5),
        answer=answer,
        heads=(*planted, reading),
        units=tuple(
            Unit(layer=layer, reads=reads, bias=bias, writes=writes)
            for layer, reads, bias, writes in COMPILED[name]["units"]
        ),
        reads=named("out", (*values, EOS)),
        layers=1 + max(layer for layer, *_ in COMPILED[name]["heads"]),
        decoder_layers=1,
        positions=POSITIONS,
        noise=0.1,  # its steps are narrow
    )


TRACR = (
    program(
        "tracr-reverse",
        "It writes the words that it reads in reverse order.",
        "reverse",
        lambda words: list(words[::-1]),
        ("length", "It looks at all words and the end, so that it knows their number.", ends_and(lambda *_: True)),
        (
            "reverse",
            "It looks at the word that belongs here, and copies it.",
            one_of(lambda words, i: len(words) - 1 - i),
        ),
    ),
    program(
        "tracr-hist",
        "It writes how often each word occurs.",
        "hist",
        lambda words: [str(words.count(one)) for one in words],
        (
            "counter",
            "It looks at the end and at all equal words, so that it knows their number.",
            ends_and(lambda queries, keys, i, k: keys[k] == queries[i]),
        ),
    ),
    program(
        "tracr-sort",
        "It writes different words in the order of the alphabet.",
        "sort",
        sorted,
        (
            "counter",
            "It looks at the end and at all words that come before in the alphabet, so that it knows their number.",
            ends_and(lambda queries, keys, i, k: keys[k] < queries[i]),
        ),
        ("order", MOVES_HERE, one_of(lambda words, i: words.index(sorted(words)[i]))),
    ),
)
