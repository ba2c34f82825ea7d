"""Short reviews of our own that turn on a negation or a contrast, which long reviews teach badly.

A frame such as "It isn't {good}." has the label of its last word turned round or not; what fills it is drawn.
"""

import random
from collections.abc import Iterator, Sequence

from model.corpora.drawn import words

__all__ = ["short_reviews"]

# Polarity → words that fit the same frames.
ADJECTIVES = {
    True: words("""
        good great wonderful fantastic brilliant excellent funny clever moving touching gripping exciting charming
        beautiful original convincing entertaining enjoyable interesting memorable superb delightful impressive smart
    """),
    False: words("""
        bad terrible awful dreadful horrible boring dull stupid silly predictable tedious confusing weak flat ugly
        forgettable disappointing annoying pointless clumsy lifeless ridiculous unfunny shallow
    """),
}
VERBS = {True: ("love", "enjoy", "like", "admire", "recommend"), False: ("hate", "regret", "dislike", "despise")}
SUBJECTS = (
    *("it", "this film", "this movie", "the film", "the movie", "the story", "the plot", "the script", "the ending"),
    *("the acting", "the music", "the dialogue", "the second half", "the whole thing", "this one"),
)
# Frame, and whether what stands last in it is turned round.
ADJECTIVE_FRAMES = (
    ("{subject} is {adverb}{last}.", False),
    ("{subject} was {adverb}{last}.", False),
    ("i found {subject} {last}.", False),
    ("what a {last} film.", False),
    ("{last}, from the first scene to the last.", False),
    ("{subject} is not {last}.", True),
    ("{subject} was not {adverb}{last}.", True),
    ("{subject} isn't {last} at all.", True),
    ("{subject} wasn't {last}.", True),
    ("{subject} is never {last}.", True),
    ("i didn't find {subject} {last}.", True),
    ("i wouldn't call {subject} {last}.", True),
    ("not {last}, not for a second.", True),
    ("there is nothing {last} about {subject}.", True),
    ("nobody could call {subject} {last}.", True),
    ("{subject} is anything but {last}.", True),
    ("{subject} is far from {last}.", True),
    ("hardly {last}.", True),
    ("without one {last} scene.", True),
)
VERB_FRAMES = (
    ("i {last} {subject}.", False),
    ("we all {last} {subject}.", False),
    ("you will {last} {subject}.", False),
    ("i don't {last} {subject}.", True),
    ("i did not {last} {subject}.", True),
    ("you won't {last} {subject}.", True),
    ("nobody here will {last} {subject}.", True),
    ("i can't {last} {subject}.", True),
)
# What a contrast ends with counts; {first} is of the other polarity.
CONTRASTS = (
    "{subject} is {first}, but {other} is {last}.",
    "{subject} starts {first}, and then it is {last}.",
    "although {subject} is {first}, {other} is {last}.",
    "{subject} may be {first}, yet {other} is {last}.",
    "i expected something {first} and got something {last}.",
    "everybody says it is {first}, but it is {last}.",
    "despite the {first} beginning, {last}.",
    "the trailer was {first}, the film is {last}.",
    "{first} at first, {last} in the end.",
)
ADVERBS = ("", "", "very ", "really ", "so ", "quite ")


def short_reviews(count: int, *, seed: int) -> Iterator[tuple[str, int]]:
    """`count` texts with their labels, 1 = positive; the same each time for the same seed."""
    draw = random.Random(seed)
    for _ in range(count):
        polarity = draw.random() < 0.5
        make = draw.choice((adjective, adjective, verb, contrast))
        text, positive = make(polarity, draw)
        yield as_typed(text, draw), int(positive)


def adjective(polarity: bool, draw: random.Random) -> tuple[str, bool]:
    frame, turned = draw.choice(ADJECTIVE_FRAMES)
    return filled(frame, last=draw.choice(ADJECTIVES[polarity]), draw=draw), polarity != turned


def verb(polarity: bool, draw: random.Random) -> tuple[str, bool]:
    frame, turned = draw.choice(VERB_FRAMES)
    return filled(frame, last=draw.choice(VERBS[polarity]), draw=draw), polarity != turned


def contrast(polarity: bool, draw: random.Random) -> tuple[str, bool]:
    first, last = draw.choice(ADJECTIVES[not polarity]), draw.choice(ADJECTIVES[polarity])
    return filled(draw.choice(CONTRASTS), first=first, last=last, draw=draw), polarity


def filled(frame: str, *, draw: random.Random, last: str, first: str = "") -> str:
    subject, other = draw.sample(SUBJECTS, 2)
    return frame.format(subject=subject, other=other, first=first, last=last, adverb=draw.choice(ADVERBS))


def as_typed(text: str, draw: random.Random, endings: Sequence[str] = ("", "", "!", "!!")) -> str:
    """With a capital, with none, or all in capitals; now and then without its full stop."""
    if draw.random() < 0.3:
        text = text.removesuffix(".") + draw.choice(endings)
    return draw.choice((str.capitalize, str.capitalize, str, str.upper))(text)
