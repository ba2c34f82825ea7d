"""Writes variants of a corpus's own pairs: what people type and corpora rarely contain.

Small models fail at capitals, a missing full stop, unknown names and numbers, fragments and emoji. Each variant is a
pure function from a pair and random numbers to another pair, or to None if it does not apply. Only the letters of the
source vary and not those of the target, so each corpus is for one direction.
"""

import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from model.config.corpus import CorpusName
from model.corpora.chinese import traditional
from model.corpora.corpora import TATOEBA, CorpusError, read_pairs, write_pairs
from model.corpora.overlap import Pair, sides, without
from model.corpora.substitutions import EMOJI, GERMAN, Substitutions
from model.corpora.substitutions_chinese import CHINESE
from weights.fragments import fragments

__all__ = ["LETTERS", "VARIANTS", "filled", "phrases", "varied", "vary"]

Variant = Callable[[Pair, random.Random], Pair | None]
LANGUAGES = {substitutions.language: substitutions for substitutions in (GERMAN, CHINESE)}
END = re.compile(r"\s*[.!?。！？]+$")
GENITIVE = re.compile(rf"\b({'|'.join(GERMAN.row_of)})s\b")  # in German; English writes 's
DIGITS = re.compile(r"\d+")
SLOT = re.compile(r"\{(([^}]+?)(?: \d)?)\}")  # {food} and {food 2} use the same row
COMBINED = 0.5  # share of the variants of letters that also change the punctuation


def bare(pair: Pair, _random: random.Random) -> Pair | None:
    """Both sides without the punctuation at their end."""
    found = END.sub("", pair[0]), END.sub("", pair[1])
    return found if found != pair and all(found) else None


def lower(pair: Pair, draw: random.Random) -> Pair:
    """A source in lower case, often without its full stop. The target keeps its capitals."""
    return perhaps_bare((pair[0].lower(), pair[1]), draw)


def capitals(pair: Pair, draw: random.Random) -> Pair:
    """A source in capitals. The target is an ordinary sentence."""
    return perhaps_bare((pair[0].upper(), pair[1]), draw)


def title(pair: Pair, draw: random.Random) -> Pair:
    """A source in which each word has a capital."""
    words = (word[:1].upper() + word[1:] for word in pair[0].split(" "))
    return perhaps_bare((" ".join(words), pair[1]), draw)


def perhaps_bare(pair: Pair, draw: random.Random) -> Pair:
    return (bare(pair, draw) or pair) if draw.random() < COMBINED else pair


def renamed(pair: Pair, draw: random.Random, substitutions: Substitutions = GERMAN) -> Pair | None:
    """Replace every name on both sides by another name of its kind, a tenth of them by a name in another script."""
    genitive = substitutions is GERMAN and "'s" not in pair[1]
    texts = pair[0], GENITIVE.sub(r"\1's", pair[1]) if genitive else pair[1]
    found = set(substitutions.patterns[0].findall(texts[0]))
    if not found or found != {substitutions.english_of[name] for name in substitutions.patterns[1].findall(texts[1])}:
        return None
    new = {name: new_name(substitutions, substitutions.row_of[name], draw) for name in sorted(found)}
    source = substitutions.patterns[0].sub(lambda match: new[match[1]][0], texts[0])
    target = substitutions.patterns[1].sub(lambda match: new[substitutions.english_of[match[1]]][1], texts[1])
    return source, re.sub(r"(\w)'s\b", r"\1s", target) if genitive else target


def new_name(substitutions: Substitutions, row: str, draw: random.Random) -> Pair:
    return draw.choice(substitutions.names["other script" if draw.random() < 0.1 else row])


def renumbered(pair: Pair, draw: random.Random) -> Pair | None:
    """Replace the digits by the same number of other digits, if both sides have the same numbers."""
    numbers = DIGITS.findall(pair[0])
    if not numbers or sorted(numbers) != sorted(DIGITS.findall(pair[1])):
        return None
    new = {number: new_number(number, draw) for number in sorted(set(numbers))}
    source, target = (DIGITS.sub(lambda found: new[found[0]], side) for side in pair)
    return source, target


def new_number(number: str, draw: random.Random) -> str:
    """A number with as many digits. Small numbers stay valid for a clock, a calendar or a plural."""
    for limit in (12, 23, 59):
        if int(number) <= limit:
            return number if int(number) < 2 else str(draw.randint(2, limit)).zfill(len(number))
    if len(number) == 4 and number[:2] in ("18", "19", "20"):
        return str(draw.randint(1850, 2040))
    return str(draw.randint(1, 9)) + "".join(str(draw.randint(0, 9)) for _ in number[1:])


def recounted(pair: Pair, draw: random.Random, substitutions: Substitutions = GERMAN) -> Pair | None:
    """Replace the number word, if each side has exactly one and they agree."""
    numbers = substitutions.number_words
    found = [
        {i for i, word in enumerate(words) if re.search(rf"\b{word}\b", side)}
        for words, side in zip(numbers, pair, strict=True)
    ]
    if len(found[0]) != 1 or found[0] != found[1]:
        return None
    old, new = *found[0], draw.randrange(len(numbers[0]))
    source, target = (re.sub(rf"\b{words[old]}\b", words[new], side) for words, side in zip(numbers, pair, strict=True))
    return source, target


def smiling(pair: Pair, draw: random.Random) -> Pair:
    """Add an emoji at the end of both sides, sometimes twice."""
    emoji = draw.choice(EMOJI) * draw.choice((1, 1, 1, 2))
    return f"{pair[0]} {emoji}", f"{pair[1]} {emoji}"


def in_traditional(pair: Pair, draw: random.Random) -> Pair:
    """A Chinese source in traditional characters."""
    return perhaps_bare((traditional(pair[0]), pair[1]), draw)


# Variant → how often it is tried. These change the source.
LETTERS: dict[Variant, float] = {bare: 0.06, lower: 0.08, capitals: 0.12, title: 0.03}
CHARACTERS: dict[Variant, float] = {bare: 0.1, in_traditional: 0.3}  # for a Chinese source
# These change English and the other language.
VARIANTS: dict[Variant, float] = {renamed: 0.35, renumbered: 0.5, recounted: 0.3, smiling: 0.01}


def variants_of(substitutions: Substitutions) -> dict[Variant, float]:
    """`VARIANTS` with the names and number words of the language."""
    return {
        partial(variant, substitutions=substitutions) if variant in (renamed, recounted) else variant: share
        for variant, share in VARIANTS.items()
    }


def varied(
    pairs: Sequence[Pair], *, substitutions: Substitutions = GERMAN, source: str = "en", seed: int, scale: float = 1.0
) -> Iterator[Pair]:
    """Variants of some of the pairs, in their order; the same for the same seed.

    Args:
        pairs: Sentences in English and another language.
        substitutions: The substitutions for that language.
        source: The source language, one of the two.
        seed: Seed of the random numbers.
        scale: Factor of the shares in `LETTERS` and `VARIANTS`.
    """
    draw = random.Random(seed)

    def tried(variants: Mapping[Variant, float], pair: Pair) -> Iterator[Pair]:
        for variant, share in variants.items():
            if draw.random() < share * scale and (found := variant(pair, draw)):
                yield found

    turned, letters, variants = source != "en", CHARACTERS if source == "zh" else LETTERS, variants_of(substitutions)
    for pair in pairs:
        for found in tried(letters, pair[::-1] if turned else pair):
            yield found[::-1] if turned else found
        yield from tried(variants, pair)


def filled(count: int, *, substitutions: Substitutions = GERMAN, seed: int) -> Iterator[Pair]:
    """`count` sentences from our phrasebook with random names, numbers and other words; the same for the same seed."""
    draw = random.Random(seed)
    for _ in range(count):
        template = draw.choice(substitutions.templates)
        rows = {**substitutions.names, **substitutions.rows}
        names = {slot: draw.choice(rows[row]) for slot, row in SLOT.findall(template[0]) if row in rows}
        numbers = {
            "hour": str(draw.randint(2, 23)),
            "minute": f"{draw.randint(1, 59):02}",
            "phone": phone(draw),
            "year": str(draw.randint(1800, 2030)),
            "small": str(draw.randint(2, 99)),
        }
        source, target = (
            text.format(**{slot: pair[side] for slot, pair in names.items()}, **numbers)
            for side, text in enumerate(template)
        )
        pair = source, target
        pair = (
            capitalized(pair)
            if END.search(source)
            else as_typed(pair, draw, stop="." if substitutions.spaced else "。")
        )
        yield perhaps_bare(pair, draw) if draw.random() < 0.2 else pair


def phrases(pairs: Sequence[Pair], *, seed: int) -> Iterator[Pair]:
    """The phrases of `weights/fragments.py`, written in different ways; the same for the same seed."""
    draw = random.Random(seed)
    return (as_typed(pair, draw) for pair in fragments(pairs))


def as_typed(pair: Pair, draw: random.Random, *, stop: str = ".") -> Pair:
    """A fragment unchanged, with a capital, or with a capital and a full stop."""
    source, target = capitalized(pair)
    return draw.choice((pair, pair, (source, target), (f"{source}.", f"{target}{stop}")))


def capitalized(pair: Pair) -> Pair:
    return pair[0][:1].upper() + pair[0][1:], pair[1][:1].upper() + pair[1][1:]


def phone(draw: random.Random) -> str:
    groups = draw.choice(((3, 4), (4, 6), (3, 3, 4), (7,), (2, 3, 2, 2), (5, 5)))
    return draw.choice(" -/ ").join("".join(str(draw.randint(0, 9)) for _ in range(size)) for size in groups)


def vary(data_root: Path, corpus: str, *, languages: tuple[str, str] = ("en", "de"), own: int, seed: int) -> Path:
    """Write the corpus `<corpus>-varied-<source>`: variants of training pairs, phrases, and our own sentences.

    No sentence has a twin in the validation or test part of the corpus. Phrases are extracted only from German.

    Args:
        data_root: Folder of the corpora.
        corpus: Name of the corpus.
        languages: Source and target; one is English.
        own: Number of sentences from our phrasebook.
        seed: Seed of the random numbers.

    Raises:
        CorpusError: the languages are not known, the corpus cannot be read or consists of several, or the new folder
            exists already or cannot be written.
    """
    if "+" in corpus:
        raise CorpusError(f"{corpus} names several corpora. Vary them one by one.")
    others = [language for language in languages if language != "en"]
    if len(others) != 1 or others[0] not in LANGUAGES:
        raise CorpusError(
            f"{' to '.join(languages)} cannot be varied. One language must be en, the other {' or '.join(LANGUAGES)}."
        )
    substitutions = LANGUAGES[others[0]]
    sides_of = ("en", substitutions.language)
    held_out = sides(pair for split in splits_of(corpus) for pair in read_pairs(data_root, corpus, split, *sides_of))
    pairs = read_pairs(data_root, corpus, "train", *sides_of)
    ours = list(filled(own, substitutions=substitutions, seed=seed))
    made = [*varied([*pairs, *ours], substitutions=substitutions, source=languages[0], seed=seed), *ours]
    made += phrases(pairs, seed=seed) if substitutions is GERMAN else []
    folder = data_root / CorpusName(corpus).varied_for(languages[0]).name
    write_pairs(folder, {"train": list(without(made, held_out))}, sides_of)
    return folder


def splits_of(corpus: str) -> tuple[str, ...]:
    return ("val", "test") if corpus in TATOEBA else ("val",)
