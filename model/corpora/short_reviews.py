"""Generated short reviews with a negation or a contrast. Long reviews contain too few of them to learn from.

A frame such as "it isn't {last}." either keeps or reverses the polarity of its last word. The words are drawn.
"""

import random
from collections.abc import Iterator, Sequence

from model.corpora.substitutions import words

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
NOUNS = {
    True: words("charm wit heart humour tension ideas surprises warmth depth style chemistry energy soul magic"),
    False: words("flaws clichés mistakes holes nonsense stereotypes boredom gaps excuses"),
}
# Verbs with a film as their subject.
DOES = {
    True: ("works", "shines", "delights", "impresses", "entertains", "convinces", "succeeds", "amuses"),
    False: ("fails", "disappoints", "bores", "drags", "annoys", "irritates", "stumbles"),
}
FEELINGS = {
    True: words("thrilled moved amused charmed delighted impressed hooked enchanted entertained"),
    False: words("bored annoyed disappointed irritated confused frustrated exhausted"),
}
SUBJECTS = (
    *("it", "this film", "this movie", "the film", "the movie", "the story", "the plot", "the script", "the ending"),
    *("the acting", "the music", "the dialogue", "the second half", "the whole thing", "this one"),
)
# Frame, and whether it reverses the polarity of its last word.
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
# These frames keep the polarity. Otherwise a word that is often negated would lose its own polarity.
PLAIN_FRAMES = (
    "a {last}, {more} and {third} film.",
    "a {last} movie with {more} actors.",
    "{last}, {more} and {third}.",
    "{last} acting, {more} script, {third} ending.",
    "{subject} is {last} and {more}.",
    "{last} and far too {more}.",
    "the most {last} film of the year.",
    "{last} story, {more} pictures.",
    "{last}!",
    "so {last}",
    "what a {last} movie with {more} music.",
    "{subject} is {last}, {other} is {more}.",
)
PRAISE = {
    True: (
        *("worth the ticket.", "go now, you will thank me.", "easily the best film of the year.", "five stars."),
        *("my whole family had fun.", "a joy from start to finish.", "a masterpiece.", "i cried happy tears."),
        *("i clapped at the end.", "i have seen it three times already.", "give these actors a prize."),
    ),
    False: (
        *("not worth the ticket.", "stay at home.", "easily the worst film of the year.", "no stars.", "avoid it."),
        *("i walked out.", "i want my money back.", "a disaster.", "i nodded off halfway through.", "skip it."),
        *("two hours that i will never get back.", "a mess.", "give these actors another job."),
    ),
}
NOUN_FRAMES = (
    ("{subject} has {last}.", False),
    ("{subject} is full of {last}.", False),
    ("so much {last}!", False),
    ("{subject} has no {last}.", True),
    ("{subject} has no {last} and no {more}.", True),
    ("there is no {last} in {subject}.", True),
    ("without any {last}.", True),
    ("i looked for {last} and found none.", True),
)
DOES_FRAMES = (
    ("{subject} {last}.", False),
    ("{subject} really {last}.", False),
    ("{subject} {last} from beginning to end.", False),
    ("{subject} doesn't {base}.", True),
    ("{subject} does not {base}.", True),
    ("{subject} never {last}.", True),
    ("nothing here {last}.", True),
    ("no joke {last}.", True),
    ("not one actor {last}.", True),
    ("hardly anything {last}.", True),
)
FEELING_FRAMES = (
    ("i was {last}.", False),
    ("we were {last} all the time.", False),
    ("i left the cinema {last}.", False),
    ("i was not {last}.", True),
    ("i was never {last}.", True),
    ("nobody was {last}.", True),
    ("i wasn't {last} for a second.", True),
)
FEELING_CONTRASTS = (
    "i expected to be {first} and was {last}.",
    "we were {first} at first and {last} in the end.",
    "they said that i would be {first}, but i was {last}.",
)
WRONG = (
    "everybody calls it {last}, but everybody is wrong.",
    "my friends find it {last}; they are wrong.",
    "it is said to be {last}. it is not.",
)
# The last word of a contrast decides; {first} has the other polarity.
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
    """`count` texts with their labels, 1 = positive. The same seed gives the same texts."""
    draw = random.Random(seed)
    for _ in range(count):
        polarity = draw.random() < 0.5
        make = draw.choice(MAKERS)
        text, positive = make(polarity, draw)
        yield as_typed(text, draw), int(positive)


def adjective(polarity: bool, draw: random.Random) -> tuple[str, bool]:
    frame, turned = draw.choice(ADJECTIVE_FRAMES)
    return filled(frame, last=draw.choice(ADJECTIVES[polarity]), draw=draw), polarity != turned


def verb(polarity: bool, draw: random.Random) -> tuple[str, bool]:
    frame, turned = draw.choice(VERB_FRAMES)
    return filled(frame, last=draw.choice(VERBS[polarity]), draw=draw), polarity != turned


def plain(polarity: bool, draw: random.Random) -> tuple[str, bool]:
    last, more, third = draw.sample(ADJECTIVES[polarity], 3)
    return filled(draw.choice(PLAIN_FRAMES), last=last, more=more, third=third, draw=draw), polarity


def praise(polarity: bool, draw: random.Random) -> tuple[str, bool]:
    return draw.choice(PRAISE[polarity]), polarity


def noun(polarity: bool, draw: random.Random) -> tuple[str, bool]:
    frame, turned = draw.choice(NOUN_FRAMES)
    last, more = draw.sample(NOUNS[polarity], 2)
    return filled(frame, last=last, more=more, draw=draw), polarity != turned


def does(polarity: bool, draw: random.Random) -> tuple[str, bool]:
    frame, turned = draw.choice(DOES_FRAMES)
    last = draw.choice(DOES[polarity])
    base = last.removesuffix("es") if last.endswith("sses") else last.removesuffix("s")
    return filled(frame, last=last, base=base, draw=draw), polarity != turned


def feeling(polarity: bool, draw: random.Random) -> tuple[str, bool]:
    frame, turned = draw.choice(FEELING_FRAMES)
    return filled(frame, last=draw.choice(FEELINGS[polarity]), draw=draw), polarity != turned


def feeling_contrast(polarity: bool, draw: random.Random) -> tuple[str, bool]:
    first, last = draw.choice(FEELINGS[not polarity]), draw.choice(FEELINGS[polarity])
    return filled(draw.choice(FEELING_CONTRASTS), first=first, last=last, draw=draw), polarity


def wrong(polarity: bool, draw: random.Random) -> tuple[str, bool]:
    return filled(draw.choice(WRONG), last=draw.choice(ADJECTIVES[polarity]), draw=draw), not polarity


def contrast(polarity: bool, draw: random.Random) -> tuple[str, bool]:
    first, last = draw.choice(ADJECTIVES[not polarity]), draw.choice(ADJECTIVES[polarity])
    return filled(draw.choice(CONTRASTS), first=first, last=last, draw=draw), polarity


# Each kind of review appears in proportion to its probability.
MAKERS = (
    *(plain, plain, plain, praise, adjective, adjective, verb, noun, does, feeling),
    *(contrast, feeling_contrast, wrong),
)


def filled(frame: str, *, draw: random.Random, **chosen: str) -> str:
    subject, other = draw.sample(SUBJECTS, 2)
    return frame.format(subject=subject, other=other, adverb=draw.choice(ADVERBS), **chosen)


def as_typed(text: str, draw: random.Random, endings: Sequence[str] = ("", "", "!", "!!")) -> str:
    """Vary the case of a text, and sometimes remove its full stop or replace it."""
    if draw.random() < 0.3:
        text = text.removesuffix(".") + draw.choice(endings)
    return draw.choice((str.capitalize, str.capitalize, str, str.upper))(text)
