"""Generated short reviews with a negation or a contrast. Long reviews contain too few of them to learn from.

A frame such as "it isn't {last}." either keeps or reverses the polarity of its last word. The words are drawn.
`short_reviews.toml` has both.
"""

import random
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

__all__ = ["short_reviews"]

FILE = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
# Kind of word → polarity → words that fit the same frames.
WORDS: Mapping[str, Mapping[bool, Sequence[str]]] = {
    kind: {True: both["positive"].split(), False: both["negative"].split()} for kind, both in FILE["words"].items()
}
# Kind of word → frames, and whether each reverses the polarity of its last word.
FRAMES: Mapping[str, Sequence[tuple[str, bool]]] = {
    kind: [(frame, name == "reversed") for name in ("kept", "reversed") for frame in both[name].splitlines()]
    for kind, both in FILE["frames"].items()
}
TEXTS: Mapping[str, Sequence[str]] = {name: text.splitlines() for name, text in FILE["texts"].items()}


def short_reviews(count: int, *, seed: int) -> Iterator[tuple[str, int]]:
    """`count` texts with their labels, 1 = positive. The same seed gives the same texts."""
    draw = random.Random(seed)
    for _ in range(count):
        polarity = draw.random() < 0.5
        make = draw.choice(MAKERS)
        text, positive = make(polarity, draw)
        yield as_typed(text, draw), int(positive)


def framed(kind: str, polarity: bool, draw: random.Random) -> tuple[str, bool]:
    frame, turned = draw.choice(FRAMES[kind])
    return filled(frame, last=draw.choice(WORDS[kind][polarity]), draw=draw), polarity != turned


def plain(polarity: bool, draw: random.Random) -> tuple[str, bool]:
    last, more, third = draw.sample(WORDS["adjectives"][polarity], 3)
    return filled(draw.choice(TEXTS["plain"]), last=last, more=more, third=third, draw=draw), polarity


def praise(polarity: bool, draw: random.Random) -> tuple[str, bool]:
    return draw.choice(TEXTS["praise" if polarity else "blame"]), polarity


def noun(polarity: bool, draw: random.Random) -> tuple[str, bool]:
    frame, turned = draw.choice(FRAMES["nouns"])
    last, more = draw.sample(WORDS["nouns"][polarity], 2)
    return filled(frame, last=last, more=more, draw=draw), polarity != turned


def does(polarity: bool, draw: random.Random) -> tuple[str, bool]:
    frame, turned = draw.choice(FRAMES["does"])
    last = draw.choice(WORDS["does"][polarity])
    base = last.removesuffix("es") if last.endswith("sses") else last.removesuffix("s")
    return filled(frame, last=last, base=base, draw=draw), polarity != turned


def contrasted(kind: str, frames: str, polarity: bool, draw: random.Random) -> tuple[str, bool]:
    """A frame in which the last word decides. The first one has the other polarity."""
    first, last = draw.choice(WORDS[kind][not polarity]), draw.choice(WORDS[kind][polarity])
    return filled(draw.choice(TEXTS[frames]), first=first, last=last, draw=draw), polarity


def wrong(polarity: bool, draw: random.Random) -> tuple[str, bool]:
    return filled(draw.choice(TEXTS["wrong"]), last=draw.choice(WORDS["adjectives"][polarity]), draw=draw), not polarity


# Each kind of review appears in proportion to its probability.
ADJECTIVE = partial(framed, "adjectives")
MAKERS = (
    *(plain, plain, plain, praise, ADJECTIVE, ADJECTIVE, partial(framed, "verbs"), noun, does),
    *(partial(framed, "feelings"), partial(contrasted, "adjectives", "contrasts")),
    *(partial(contrasted, "feelings", "feeling_contrasts"), wrong),
)


def filled(frame: str, *, draw: random.Random, **chosen: str) -> str:
    subject, other = draw.sample(FILE["subjects"], 2)
    return frame.format(subject=subject, other=other, adverb=draw.choice(FILE["adverbs"]), **chosen)


def as_typed(text: str, draw: random.Random, endings: Sequence[str] = ("", "", "!", "!!")) -> str:
    """Vary the case of a text, and sometimes remove its full stop or replace it."""
    if draw.random() < 0.3:
        text = text.removesuffix(".") + draw.choice(endings)
    return draw.choice((str.capitalize, str.capitalize, str, str.upper))(text)
