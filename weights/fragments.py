"""Extracts phrases from sentence pairs by word alignment: "a red car" with "ein rotes Auto".

Words that often occur together are linked, the strongest first and each word once (Melamed 2000, "Models of
Translational Equivalence among Words"). A phrase is a sequence of words that are linked to a sequence of the same
length. It begins with an article or a preposition and ends with a noun, which has a capital in German.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import product

from model.corpora.overlap import Pair

__all__ = ["association", "fragments", "links", "phrases_of"]

WORD = re.compile(r"\w+(?:['-]\w+)*|[^\w\s]")
ARTICLES = re.compile(r"an?|the|my|your|his|her|our|their|this|these|two|three|four|five|six|many|some|no|every", re.I)
PREPOSITIONS = re.compile(r"in|on|at|with|without|under|over|near|behind|from|to|for|after|before|during", re.I)
LONGEST_SENTENCE, LONGEST_PHRASE = 16, 4  # words
WEAKEST = 0.05  # below this, two words occur together by chance
Weights = Mapping[tuple[str, str], float]


def words(sentence: str) -> list[str]:
    return WORD.findall(sentence)


def association(pairs: Sequence[Pair]) -> Weights:
    """How often two words occur together: the Dice coefficient of their sentences, from 0 to 1."""
    sources, targets, both = Counter[str](), Counter[str](), Counter[tuple[str, str]]()
    for pair in pairs:
        source, target = ({word.lower() for word in words(side)} for side in pair)
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
    source, target = (words(side) for side in pair)
    if max(len(source), len(target)) > LONGEST_SENTENCE:
        return
    starts = [i for i, w in enumerate(source) if PREPOSITIONS.fullmatch(w) or (i == 0 and ARTICLES.fullmatch(w))]
    linked = links(source, target, weights) if starts else {}
    for start, length in product(starts, range(2, LONGEST_PHRASE + 1)):
        places = sorted(linked.get(i, -1) for i in range(start, start + length))
        if places[0] >= 0 and places[-1] - places[0] == length - 1 and linked[start] == places[0]:
            phrase = source[start : start + length], target[places[0] : places[-1] + 1]
            if places[-1] > 0 and phrase[1][-1][0].isupper() and all(w[0].isalpha() for side in phrase for w in side):
                yield decapitalized(phrase[0]), decapitalized(phrase[1])


def decapitalized(phrase: Sequence[str]) -> str:
    return " ".join([phrase[0].lower(), *phrase[1:]])


def fragments(pairs: Sequence[Pair], *, least: int = 3, share: float = 0.5) -> dict[Pair, int]:
    """Frequent phrases with their counts: at least `least` times, and more than `share` of the uses of their source."""
    weights = association(pairs)
    counts = Counter(phrase for pair in pairs for phrase in phrases_of(pair, weights))
    of_source: defaultdict[str, int] = defaultdict(int)
    for (source, _), count in counts.items():
        of_source[source] += count
    return {
        phrase: count for phrase, count in counts.items() if count >= least and count > share * of_source[phrase[0]]
    }
