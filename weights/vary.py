"""Writes variants of a corpus's own pairs: what people type and corpora rarely contain.

Small models fail at capitals, a missing full stop, unknown names and numbers, fragments and emoji. Each variant is a
pure function from a pair and random numbers to another pair, or to None if it does not apply. Only the letters of the
source vary and not those of the target, so each corpus is for one direction.
"""

import random
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path

from model.config.run import CorpusName
from model.corpora.corpora import TATOEBA, CorpusError, read_pairs, write_pairs
from model.corpora.overlap import Pair, sides, traditional, without
from model.corpora.phrasebook import EMOJI, LANGUAGES, Phrasebook

__all__ = [
    "LETTERS",
    "VARIANTS",
    "association",
    "filled",
    "fragments",
    "links",
    "phrases",
    "phrases_of",
    "varied",
    "vary",
]

Variant = Callable[[Pair, random.Random, Phrasebook], Pair | None]
END = re.compile(r"\s*[.!?。！？]+$")
DIGITS = re.compile(r"\d+")
SLOT = re.compile(r"\{(([^}]+?)(?: \d)?)\}")  # {food} and {food 2} use the same row
COMBINED = 0.5  # share of the variants of letters that also change the punctuation


def bare(pair: Pair, _draw: random.Random, _words: Phrasebook) -> Pair | None:
    """Both sides without the punctuation at their end."""
    found = END.sub("", pair[0]), END.sub("", pair[1])
    return found if found != pair and all(found) else None


def perhaps_bare(pair: Pair, draw: random.Random, words: Phrasebook) -> Pair:
    return (bare(pair, draw, words) or pair) if draw.random() < COMBINED else pair


def respelled(change: Callable[[str], str]) -> Variant:
    """The variant with other letters in the source, often without its full stop. The target is an ordinary sentence."""
    return lambda pair, draw, words: perhaps_bare((change(pair[0]), pair[1]), draw, words)


def titled(text: str) -> str:
    return " ".join(word[:1].upper() + word[1:] for word in text.split(" "))


def renamed(pair: Pair, draw: random.Random, words: Phrasebook) -> Pair | None:
    """Replace every name on both sides by another name of its kind, a tenth of them by a name in another script."""
    genitive = words.genitive if "'s" not in pair[1] else None  # in German, Toms; English writes Tom's
    texts = pair[0], genitive.sub(r"\1's", pair[1]) if genitive else pair[1]
    english, other = words.patterns
    found = set(english.findall(texts[0]))
    if not found or found != {words.english_of[name] for name in other.findall(texts[1])}:
        return None
    new = {
        name: draw.choice(words.names["other script" if draw.random() < 0.1 else words.row_of[name]])
        for name in sorted(found)
    }
    source = english.sub(lambda match: new[match[1]][0], texts[0])
    target = other.sub(lambda match: new[words.english_of[match[1]]][1], texts[1])
    return source, re.sub(r"(\w)'s\b", r"\1s", target) if genitive else target


def renumbered(pair: Pair, draw: random.Random, _words: Phrasebook) -> Pair | None:
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
    return str(draw.randint(1, 9)) + digits(len(number) - 1, draw)


def digits(count: int, draw: random.Random) -> str:
    return "".join(str(draw.randint(0, 9)) for _ in range(count))


def recounted(pair: Pair, draw: random.Random, words: Phrasebook) -> Pair | None:
    """Replace the number word, if each side has exactly one and they agree."""
    both = list(zip(pair, words.number_words, strict=True))
    found = [{i for i, word in enumerate(numbers) if re.search(rf"\b{word}\b", side)} for side, numbers in both]
    if len(found[0]) != 1 or found[0] != found[1]:
        return None
    old, new = *found[0], draw.randrange(len(words.number_words[0]))
    source, target = (re.sub(rf"\b{numbers[old]}\b", numbers[new], side) for side, numbers in both)
    return source, target


def smiling(pair: Pair, draw: random.Random, _words: Phrasebook) -> Pair:
    """Add an emoji at the end of both sides, sometimes twice."""
    emoji = draw.choice(EMOJI) * draw.choice((1, 1, 1, 2))
    return f"{pair[0]} {emoji}", f"{pair[1]} {emoji}"


# Variant → how often it is tried. These change the source.
LETTERS: dict[Variant, float] = {
    bare: 0.06,
    respelled(str.lower): 0.08,
    respelled(str.upper): 0.12,
    respelled(titled): 0.03,
}
CHARACTERS: dict[Variant, float] = {bare: 0.1, respelled(traditional): 0.3}  # for a Chinese source
# These change English and the other language.
VARIANTS: dict[Variant, float] = {renamed: 0.35, renumbered: 0.5, recounted: 0.3, smiling: 0.01}


def varied(pairs: Sequence[Pair], *, words: Phrasebook, source: str, seed: int) -> Iterator[Pair]:
    """Variants of some of the pairs, in their order; the same for the same seed.

    Args:
        pairs: Sentences in English and another language.
        words: What replaces names and numbers in that language.
        source: The source language, one of the two.
        seed: Seed of the random numbers.
    """
    draw = random.Random(seed)

    def tried(variants: Mapping[Variant, float], pair: Pair) -> Iterator[Pair]:
        for variant, share in variants.items():
            if draw.random() < share and (found := variant(pair, draw, words)):
                yield found

    turned, letters = source != "en", CHARACTERS if source == "zh" else LETTERS
    for pair in pairs:
        for found in tried(letters, pair[::-1] if turned else pair):
            yield found[::-1] if turned else found
        yield from tried(VARIANTS, pair)


def filled(count: int, *, words: Phrasebook, seed: int) -> Iterator[Pair]:
    """`count` sentences from our phrasebook with random names, numbers and other words; the same for the same seed."""
    draw = random.Random(seed)
    rows = {**words.names, **words.rows}
    for _ in range(count):
        template = draw.choice(words.phrases)
        chosen = {slot: draw.choice(rows[row]) for slot, row in SLOT.findall(template[0]) if row in rows}
        numbers = {
            "hour": str(draw.randint(2, 23)),
            "minute": f"{draw.randint(1, 59):02}",
            "phone": phone(draw),
            "year": str(draw.randint(1800, 2030)),
            "small": str(draw.randint(2, 99)),
        }
        source, target = (
            text.format(**{slot: pair[side] for slot, pair in chosen.items()}, **numbers)
            for side, text in enumerate(template)
        )
        whole = END.search(source)
        pair = capitalized((source, target)) if whole else as_typed((source, target), draw, stop=words.stop)
        yield perhaps_bare(pair, draw, words) if draw.random() < 0.2 else pair


def phone(draw: random.Random) -> str:
    groups = draw.choice(((3, 4), (4, 6), (3, 3, 4), (7,), (2, 3, 2, 2), (5, 5)))
    return draw.choice(" -/ ").join(digits(size, draw) for size in groups)


def as_typed(pair: Pair, draw: random.Random, *, stop: str = ".") -> Pair:
    """A fragment unchanged, with a capital, or with a capital and a full stop."""
    source, target = capitalized(pair)
    return draw.choice((pair, pair, (source, target), (f"{source}.", f"{target}{stop}")))


def capitalized(pair: Pair) -> Pair:
    return pair[0][:1].upper() + pair[0][1:], pair[1][:1].upper() + pair[1][1:]


# Phrases of sentence pairs, by word alignment: "a red car" with "ein rotes Auto". Words that often occur together are
# linked, the strongest first and each word once (Melamed 2000, "Models of Translational Equivalence among Words"). A
# phrase is a sequence of words that are linked to a sequence of the same length. It begins with an article or a
# preposition and ends with a noun, which has a capital in German.

WORD = re.compile(r"\w+(?:['-]\w+)*|[^\w\s]")
ARTICLES = re.compile(r"an?|the|my|your|his|her|our|their|this|these|two|three|four|five|six|many|some|no|every", re.I)
PREPOSITIONS = re.compile(r"in|on|at|with|without|under|over|near|behind|from|to|for|after|before|during", re.I)
LONGEST_SENTENCE, LONGEST_PHRASE = 16, 4  # words
WEAKEST = 0.05  # below this, two words occur together by chance
FEWEST, SHARE = 3, 0.5  # how often a phrase occurs, and its share of the uses of its source
Weights = Mapping[tuple[str, str], float]


def association(pairs: Sequence[Pair]) -> Weights:
    """How often two words occur together: the Dice coefficient of their sentences, from 0 to 1."""
    sources, targets, both = Counter[str](), Counter[str](), Counter[tuple[str, str]]()
    for pair in pairs:
        source, target = ({word.lower() for word in WORD.findall(side)} for side in pair)
        sources.update(source)
        targets.update(target)
        both.update(product(source, target))
    dice = ((s, t, 2 * count / (sources[s] + targets[t])) for (s, t), count in both.items())
    return {(s, t): weight for s, t, weight in dice if weight >= WEAKEST}


def links(source: Sequence[str], target: Sequence[str], weights: Weights) -> dict[int, int]:
    """Index of a source word → index of its target word."""
    keys = {(i, j): (s.lower(), t.lower()) for (i, s), (j, t) in product(enumerate(source), enumerate(target))}
    ranked = sorted((place for place in keys if keys[place] in weights), key=lambda place: -weights[keys[place]])
    found: dict[int, int] = {}
    for i, j in ranked:
        if i not in found and j not in found.values():
            found[i] = j
    return found


def phrases_of(pair: Pair, weights: Weights) -> Iterator[Pair]:
    """The phrases of a sentence pair. A phrase without a preposition must begin the sentence, as a subject does."""
    source, target = (WORD.findall(side) for side in pair)
    if max(len(source), len(target)) > LONGEST_SENTENCE:
        return
    starts = [i for i, w in enumerate(source) if PREPOSITIONS.fullmatch(w) or (i == 0 and ARTICLES.fullmatch(w))]
    linked = links(source, target, weights) if starts else {}
    for start, length in product(starts, range(2, LONGEST_PHRASE + 1)):
        places = sorted(linked.get(i, -1) for i in range(start, start + length))
        if places[0] >= 0 and places[-1] - places[0] == length - 1 and linked[start] == places[0]:
            phrase = source[start : start + length], target[places[0] : places[-1] + 1]
            if places[-1] > 0 and phrase[1][-1][0].isupper() and all(w[0].isalpha() for side in phrase for w in side):
                english, other = (" ".join([side[0].lower(), *side[1:]]) for side in phrase)
                yield english, other


def fragments(pairs: Sequence[Pair]) -> dict[Pair, int]:
    """Frequent phrases with their counts, see `FEWEST` and `SHARE`."""
    weights = association(pairs)
    counts = Counter(phrase for pair in pairs for phrase in phrases_of(pair, weights))
    of_source: defaultdict[str, int] = defaultdict(int)
    for (source, _), count in counts.items():
        of_source[source] += count
    return {pair: count for pair, count in counts.items() if count >= FEWEST and count > SHARE * of_source[pair[0]]}


def phrases(pairs: Sequence[Pair], *, seed: int) -> Iterator[Pair]:
    """The phrases of sentence pairs, written in different ways; the same for the same seed."""
    draw = random.Random(seed)
    return (as_typed(pair, draw) for pair in fragments(pairs))


def vary(data_root: Path, corpus: str, *, languages: tuple[str, str], own: int, seed: int) -> Path:
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
    words, both = LANGUAGES[others[0]], ("en", others[0])
    splits = ("val", "test") if corpus in TATOEBA else ("val",)
    held_out = sides(pair for split in splits for pair in read_pairs(data_root, corpus, split, *both))
    pairs = read_pairs(data_root, corpus, "train", *both)
    ours = list(filled(own, words=words, seed=seed))
    made = [*varied([*pairs, *ours], words=words, source=languages[0], seed=seed), *ours]
    made += phrases(pairs, seed=seed) if others[0] == "de" else []
    folder = data_root / CorpusName(corpus).varied_for(languages[0]).name
    write_pairs(folder, {"train": list(without(made, held_out))}, both)
    return folder
