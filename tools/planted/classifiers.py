"""Planted classifiers: an encoder, the mean over its tokens, and labels."""

from collections.abc import Mapping
from dataclasses import replace
from random import Random

from model.interventions import Head
from model.text.vocab import EOS
from tools.planted.parts import END, GAIN, REST, Plan, PlantedHead, Unit, all_of, always, where, word
from tools.planted.texts import COLOURS, Draw

__all__ = ["CLASSIFIERS"]

WANTED, OTHER = "gold", "white"
VOTES = ("red", "blue")
MOST = 4  # words that the counting model counts
SHARES = tuple(8 / (1 + n) for n in range(MOST + 1))  # what the head of the counting model writes for n words


def yes_above(feature: str, threshold: float = 0.5) -> Mapping[str, Mapping[str, float]]:
    """The label "yes" where a feature is above the threshold, else "no"."""
    return {"yes": {feature: GAIN, "one": -GAIN * threshold}}


def finder(wanted: str = WANTED, *, head: int = 1, gain: float = 1.0) -> PlantedHead:
    """A head that looks for one word, and writes that the text has it."""
    return PlantedHead(
        place=Head("encoder", 0, head),
        role="detector",
        why=f"It looks for “{wanted}”, and for the end if there is none. It writes that it found the word.",
        looks=always(word(wanted)) + always(END, nats=REST),
        moves=((word(wanted), f"has:{wanted}", gain),),
        pattern=lambda queries, keys, i: where(wanted)(queries, keys, i) or where(EOS)(queries, keys, i),
    )


def beside(words: list[str], length: int, draws: Random) -> list[str]:
    """A text of so many words: these, and others that no planted head looks for, in any order."""
    others = [one for one in COLOURS if one not in (WANTED, OTHER, *VOTES)]
    return draws.sample(text := words + draws.choices(others, k=length - len(words)), len(text))


def often(*wanted: str) -> Draw:
    """Texts with each of these words, or without it."""
    return lambda draws: beside([one for one in wanted if draws.random() < 0.6], draws.randint(3, 8), draws)


CONTAINS = Plan(
    name="contains",
    sentence=f"It finds whether a text contains the word “{WANTED}”.",
    task="classification",
    words=COLOURS,
    writes=("no", "yes"),
    draw=often(WANTED),
    answer=lambda words: ["yes" if WANTED in words else "no"],
    heads=(finder(),),
    reads=yes_above(f"has:{WANTED}"),
)

MAJORITY = replace(
    CONTAINS,
    name="majority",
    sentence="It finds whether a text has more often the word “red” or “blue”.",
    writes=VOTES,
    draw=lambda draws: beside(draws.choices(VOTES, k=draws.choice((1, 3, 5))), 7, draws),
    answer=lambda words: [max(VOTES, key=words.count)],
    heads=(
        PlantedHead(
            place=Head("encoder", 0, 2),
            role="vote",
            why="It divides its weight evenly among all words “red” and “blue”, and writes their difference.",
            looks=always(*map(word, VOTES)),
            moves=tuple((word(one), "vote", gain) for one, gain in zip(VOTES, (4.0, -4.0), strict=True)),
            pattern=where(*VOTES),
        ),
    ),
    reads={one: {"vote": gain} for one, gain in zip(VOTES, (GAIN, -GAIN), strict=True)},
)

COUNT = replace(
    CONTAINS,
    name="count",
    sentence=f"It counts the words “{WANTED}”, up to {MOST}.",
    writes=tuple(map(str, range(MOST + 1))),
    draw=lambda draws: beside([WANTED] * draws.randint(0, MOST), 7, draws),
    answer=lambda words: [str(words.count(WANTED))],
    heads=(
        PlantedHead(
            place=Head("encoder", 0, 0),
            role="counter",
            why=f"It divides its weight evenly among the end and each “{WANTED}”, so that the end has 1/(1 + n).",
            looks=always(word(WANTED), END),
            moves=((END, "share", SHARES[0]),),
            pattern=where(WANTED, EOS),
        ),
    ),
    # The label whose share is nearest: −(x − share)², without x², which all labels have.
    reads={str(n): {"share": 2 * GAIN * share, "one": -GAIN * share**2} for n, share in enumerate(SHARES)},
)

SATURATED = replace(
    CONTAINS,
    name="saturated",
    sentence=f"It finds the word “{WANTED}” with a head that writes far more than the next part can use.",
    heads=(
        replace(
            finder(gain=6.0),
            role="saturated",
            why="What it writes is cut at 1 afterwards. So the gradient is 0, though all depends on this head.",
        ),
    ),
    units=(
        Unit(reads={f"has:{WANTED}": 1.0}, writes={"sure": 1.0}),
        Unit(reads={f"has:{WANTED}": 1.0}, bias=-1.0, writes={"sure": -1.0}),
    ),
    reads=yes_above("sure"),
)

BOTH = replace(
    CONTAINS,
    name="both-heads",
    sentence=f"It finds whether a text contains “{WANTED}” and “{OTHER}”. Two heads must both find their word.",
    draw=often(WANTED, OTHER),
    answer=lambda words: ["yes" if {WANTED, OTHER} <= {*words} else "no"],
    heads=(finder(WANTED, head=0), finder(OTHER, head=3)),
    units=(all_of(f"has:{WANTED}", f"has:{OTHER}", writes="both"),),
    reads=yes_above("both"),
)

EITHER = replace(
    CONTAINS,
    name="either-head",
    sentence=f"It finds the word “{WANTED}” with two heads. Each of them is enough.",
    heads=tuple(
        replace(finder(head=head), role="redundant", why=f"It looks for “{WANTED}”, as another head does.")
        for head in (1, 2)
    ),
    cuts=((0, 1),),
)

CLASSIFIERS = (CONTAINS, MAJORITY, COUNT, SATURATED, BOTH, EITHER)
