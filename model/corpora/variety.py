"""A corpus of variety: what people type and corpora lack, made from a corpus's own pairs.

Small models fall over capitals, a missing full stop, names and numbers that they never met, fragments and emoji. Each
variant is a pure function from a pair and a random generator to another pair, or to None where it does not apply.
The letters of what is read vary, those of what is written do not: a corpus is made for one direction.
"""

import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from model.corpora.corpora import TATOEBA, CorpusError, read_pairs, write_pairs
from model.corpora.drawn import EMOJI, NAMES, NUMBER_WORDS, TEMPLATES
from model.corpora.fragments import fragments
from model.corpora.overlap import Pair, sides, without

__all__ = ["LETTERS", "VARIANTS", "filled", "phrases", "varied", "vary"]

LANGUAGES = ("en", "de")  # of every pair here
Variant = Callable[[Pair, random.Random], Pair | None]
END = re.compile(r"\s*[.!?]+$")
ROW_OF_NAME = {name: row for row, names in NAMES.items() if row != "other script" for name in names}
NAME = re.compile(rf"\b({'|'.join(ROW_OF_NAME)})\b")
GENITIVE = re.compile(rf"\b({'|'.join(ROW_OF_NAME)})s\b")  # of German; of English it is 's
DIGITS = re.compile(r"\d+")
COMBINED = 0.5  # share of the variants of letters and punctuation that are both at once


def bare(pair: Pair, _random: random.Random) -> Pair | None:
    """Both sides without the punctuation at their end."""
    found = END.sub("", pair[0]), END.sub("", pair[1])
    return found if found != pair and all(found) else None


def lower(pair: Pair, draw: random.Random) -> Pair:
    """A source in small letters, often without its full stop; the target keeps its capitals."""
    return perhaps_bare((pair[0].lower(), pair[1]), draw)


def capitals(pair: Pair, draw: random.Random) -> Pair:
    """A source in capitals; the target is an ordinary sentence."""
    return perhaps_bare((pair[0].upper(), pair[1]), draw)


def title(pair: Pair, draw: random.Random) -> Pair:
    """A capital for each word of the source."""
    words = (word[:1].upper() + word[1:] for word in pair[0].split(" "))
    return perhaps_bare((" ".join(words), pair[1]), draw)


def perhaps_bare(pair: Pair, draw: random.Random) -> Pair:
    return (bare(pair, draw) or pair) if draw.random() < COMBINED else pair


def renamed(pair: Pair, draw: random.Random) -> Pair | None:
    """Every name that stands on both sides gives way to another of its kind, a tenth of them to another script."""
    source, target = pair[0], GENITIVE.sub(r"\1's", pair[1])
    shared = set(NAME.findall(source)) & set(NAME.findall(target))
    if not shared or set(NAME.findall(source)) != set(NAME.findall(target)):
        return None
    names = {name: new_name(ROW_OF_NAME[name], draw) for name in sorted(shared)}
    source, target = (NAME.sub(lambda found: names[found[1]], side) for side in (source, target))
    return source, re.sub(r"(\w)'s\b", r"\1s", target) if "'s" not in pair[1] else target


def new_name(row: str, draw: random.Random) -> str:
    return draw.choice(NAMES["other script" if draw.random() < 0.1 else row])


def renumbered(pair: Pair, draw: random.Random) -> Pair | None:
    """Other digits, as many as before, where both sides have the same numbers."""
    numbers = DIGITS.findall(pair[0])
    if not numbers or sorted(numbers) != sorted(DIGITS.findall(pair[1])):
        return None
    new = {number: new_number(number, draw) for number in sorted(set(numbers))}
    source, target = (DIGITS.sub(lambda found: new[found[0]], side) for side in pair)
    return source, target


def new_number(number: str, draw: random.Random) -> str:
    """As many digits; small ones stay what a clock, a calendar or a plural allows."""
    for limit in (12, 23, 59):
        if int(number) <= limit:
            return number if int(number) < 2 else str(draw.randint(2, limit)).zfill(len(number))
    if len(number) == 4 and number[:2] in ("18", "19", "20"):
        return str(draw.randint(1850, 2040))
    return str(draw.randint(1, 9)) + "".join(str(draw.randint(0, 9)) for _ in number[1:])


def recounted(pair: Pair, draw: random.Random) -> Pair | None:
    """Another number word, where each side has one and they agree."""
    found = [
        {i for i, word in enumerate(NUMBER_WORDS[language]) if re.search(rf"\b{word}\b", side)}
        for language, side in zip(LANGUAGES, pair, strict=True)
    ]
    if len(found[0]) != 1 or found[0] != found[1]:
        return None
    old, new = *found[0], draw.randrange(len(NUMBER_WORDS["en"]))
    source, target = (
        re.sub(rf"\b{NUMBER_WORDS[language][old]}\b", NUMBER_WORDS[language][new], side)
        for language, side in zip(LANGUAGES, pair, strict=True)
    )
    return source, target


def smiling(pair: Pair, draw: random.Random) -> Pair:
    """An emoji at the end of both sides, now and then doubled."""
    emoji = draw.choice(EMOJI) * draw.choice((1, 1, 1, 2))
    return f"{pair[0]} {emoji}", f"{pair[1]} {emoji}"


# Variant → how often it is tried for a pair: of its source and target, and of its English and German.
LETTERS: dict[Variant, float] = {bare: 0.06, lower: 0.06, capitals: 0.04, title: 0.01}
VARIANTS: dict[Variant, float] = {
    renamed: 0.35,
    renumbered: 0.5,
    recounted: 0.3,
    smiling: 0.01,
}


def varied(pairs: Sequence[Pair], *, source: str = "en", seed: int, scale: float = 1.0) -> Iterator[Pair]:
    """Variants of some of the pairs, in their order; the same each time for the same seed.

    Args:
        pairs: Sentences in English and German.
        source: Which of the two will be read.
        seed: Of the draws.
        scale: Of the shares in `LETTERS` and `VARIANTS`.
    """
    draw = random.Random(seed)

    def tried(variants: Mapping[Variant, float], pair: Pair) -> Iterator[Pair]:
        for variant, share in variants.items():
            if draw.random() < share * scale and (found := variant(pair, draw)):
                yield found

    turned = source != LANGUAGES[0]
    for pair in pairs:
        for found in tried(LETTERS, pair[::-1] if turned else pair):
            yield found[::-1] if turned else found
        yield from tried(VARIANTS, pair)


def filled(count: int, *, seed: int) -> Iterator[Pair]:
    """`count` of our own sentences around names, times and numbers that are drawn; seeded."""
    draw = random.Random(seed)
    for _ in range(count):
        source, target = draw.choice(TEMPLATES)
        values = {row: draw.choice(names) for row, names in NAMES.items()} | {
            "hour": str(draw.randint(2, 23)),
            "minute": f"{draw.randint(1, 59):02}",
            "phone": phone(draw),
            "year": str(draw.randint(1800, 2030)),
            "small": str(draw.randint(2, 99)),
        }
        pair = source.format(**values), target.format(**values)
        yield perhaps_bare(pair, draw) if draw.random() < 0.2 else pair


def phrases(pairs: Sequence[Pair], *, seed: int) -> Iterator[Pair]:
    """The phrases of `model/corpora/fragments.py`: as they stand, with a capital, or with a full stop too; seeded."""
    draw = random.Random(seed)
    for pair in fragments(pairs):
        source, target = (side[:1].upper() + side[1:] for side in pair)
        yield draw.choice((pair, pair, (source, target), (f"{source}.", f"{target}.")))


def phone(draw: random.Random) -> str:
    groups = draw.choice(((3, 4), (4, 6), (3, 3, 4), (7,), (2, 3, 2, 2), (5, 5)))
    return draw.choice(" -/ ").join("".join(str(draw.randint(0, 9)) for _ in range(size)) for size in groups)


def vary(data_root: Path, corpus: str, *, source: str = "en", own: int, seed: int) -> Path:
    """Write the corpus `<corpus>-varied-<source>`: variants of training pairs, phrases, and `own` sentences of ours.

    None of them has a twin in the validation or test part of the corpus.

    Raises:
        CorpusError: the corpus cannot be read or is several, or the new one is there already or cannot be written.
    """
    if "+" in corpus:
        raise CorpusError(f"{corpus} is several corpora; vary them one by one.")
    held_out = sides(pair for split in splits_of(corpus) for pair in read_pairs(data_root, corpus, split, *LANGUAGES))
    pairs = read_pairs(data_root, corpus, "train", *LANGUAGES)
    made = [*varied(pairs, source=source, seed=seed), *phrases(pairs, seed=seed), *filled(own, seed=seed)]
    folder = data_root / f"{corpus}-varied-{source}"
    write_pairs(folder, {"train": list(without(made, held_out))}, LANGUAGES)
    return folder


def splits_of(corpus: str) -> tuple[str, ...]:
    return ("val", "test") if corpus in TATOEBA else ("val",)
