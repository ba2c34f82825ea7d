"""Planted decoders: they read a text and write the next word. The first token of a text is `<s>`."""

from dataclasses import replace
from random import Random

from model.interventions import Head
from model.text.vocab import BOS, EOS
from tools.planted.parts import (
    BEGIN,
    GAIN,
    REST,
    SHARP,
    Plan,
    PlantedHead,
    Words,
    always,
    at,
    by_offset,
    by_word,
    move,
    named,
    same_place,
    word,
)
from tools.planted.texts import COLOURS, some

__all__ = ["DECODERS"]

POSITIONS = 16
AGAIN, NEW = "again", "new"
STARTS_NOTHING = ((BEGIN, f"out:{EOS}", 1.0),)  # a head that finds nothing rests at the beginning, and the text ends


def previous(head: int = 1, layer: int = 0, to: str = "out", step: int = -1) -> PlantedHead:
    """A head that looks at an earlier position."""
    return PlantedHead(
        place=Head("decoder", layer, head),
        role="previous",
        why="It looks at the word before, and copies it.",
        looks=by_offset(step, POSITIONS),
        moves=move(COLOURS, "word", to) + STARTS_NOTHING * (to == "out"),
        pattern=same_place(step),
    )


PREVIOUS = Plan(
    name="previous-word",
    sentence="It writes the word before the last word.",
    task="continuation",
    words=COLOURS,
    draw=some(COLOURS, 2, 8),
    answer=lambda words: [words[-2]],
    heads=(previous(),),
    reads=named("out", (*COLOURS, EOS)),
    positions=POSITIONS,
)


def repeated(draws: Random) -> list[str]:
    """Different words, and the first few of them again; or no word twice."""
    words = draws.sample(COLOURS, draws.randint(3, 6))
    return words + words[: draws.randint(0, len(words) - 1)]


def after_the_same(words: Words) -> list[str]:
    return [words[words.index(words[-1]) + 1] if words[-1] in words[:-1] else EOS]


INDUCTION = replace(
    PREVIOUS,
    name="induction",
    sentence="It finds the last word earlier in the text, and writes the word that followed there.",
    layers=2,
    draw=repeated,
    answer=after_the_same,
    heads=(
        previous(head=2, to="before"),
        PlantedHead(
            place=Head("decoder", 1, 1),
            role="induction",
            why="It looks for the word after an earlier occurrence of the same word, and copies it.",
            looks=by_word(COLOURS, "before") + always(BEGIN, nats=REST),
            moves=move(COLOURS, "word", "out") + STARTS_NOTHING,
            pattern=lambda queries, keys, i: (
                tuple(k for k in range(1, i + 1) if keys[k - 1] == queries[i] != BOS) or (0,)
            ),
        ),
    ),
)


def seen(words: Words) -> list[str]:
    return [AGAIN if words[-1] in words[:-1] else NEW]


DUPLICATE = replace(
    PREVIOUS,
    name="duplicate",
    sentence="It writes “again” if the last word occurred before, and “new” otherwise.",
    words=(*COLOURS, AGAIN, NEW),
    draw=some(COLOURS, 1, 8),
    answer=seen,
    num_heads=2,
    heads=(
        PlantedHead(
            place=Head("decoder", 0, 1),
            role="duplicate",
            why="It looks at earlier occurrences of the same word, and otherwise at the beginning.",
            looks=by_word(COLOURS)
            + always(BEGIN, nats=REST)
            + tuple((at(i), at(i), -3 * SHARP) for i in range(1, POSITIONS)),
            moves=tuple((word(one), "seen", 1.0) for one in COLOURS),
            pattern=lambda queries, keys, i: tuple(k for k in range(i) if keys[k] == queries[i]) or (0,),
        ),
    ),
    reads={
        AGAIN: {"seen": 2 * GAIN},
        NEW: {"one": GAIN},
        EOS: {word(AGAIN): 3 * GAIN, word(NEW): 3 * GAIN},
    },
)

IDLE = replace(
    PREVIOUS,
    name="idle-head",
    sentence="It writes the word before the last word. Another head looks two words back and writes nothing.",
    draw=some(COLOURS, 3, 8),
    heads=(
        previous(),
        replace(
            previous(head=3, step=-2),
            role="idle",
            why="It looks at the word two positions back, but its values are 0.",
            moves=(),
        ),
    ),
    cuts=((0,),),
)

BACKUP = replace(
    PREVIOUS,
    name="backup",
    sentence="It writes the word before the last word. A second head does it where the first one is silent.",
    layers=2,
    heads=(
        replace(previous(), moves=previous().moves + tuple((word(one), "done", 1.0) for one in COLOURS)),
        replace(
            previous(layer=1, head=2),
            role="backup",
            why="It rests at the beginning while the first head works, and otherwise does the same.",
            looks=(*by_offset(-1, POSITIONS), ("done", BEGIN, 2 * SHARP)),
            moves=move(COLOURS, "word", "out"),
            pattern=lambda queries, keys, i: (0,),
        ),
    ),
    cuts=((0, 1),),
)

DECODERS = (PREVIOUS, INDUCTION, DUPLICATE, IDLE, BACKUP)
