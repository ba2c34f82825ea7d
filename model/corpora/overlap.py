"""Finds sentences that count as the same in a test: they may differ in case, punctuation and contractions.

A model that has read "I'm tired." knows "I am tired!". A reference that was in the training part with another source
sentence has been seen too.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet
from functools import cache

from opencc import OpenCC

__all__ = ["Pair", "canonical", "sides", "simplified", "traditional", "without"]

Pair = tuple[str, str]  # source and target

# A contraction may stand for several words, but each word has one contraction. So the short form is the common one.
SHORT = {
    "am": "m", "is": "s", "has": "s", "are": "re", "have": "ve", "will": "ll", "shall": "ll",
    "had": "d", "would": "d", "not": "nt", "us": "s", "es": "s",
}  # fmt: skip
IRREGULAR = {"can't": "can nt", "cannot": "can nt", "won't": "ll nt", "shan't": "ll nt", "ain't": "s nt"}


def canonical(sentence: str) -> str:
    """The form that a sentence shares with its twins: "I'm not Tom." and "i am not tom" become the same.

    Different sentences may become the same too ("he'd" is "he had" and "he would"). Twins never stay different.
    """
    text = unicodedata.normalize("NFKC", sentence).casefold().replace("\u2019", "'")
    words = (IRREGULAR.get(word, word) for word in re.findall(r"[\w']+", text))
    parts = re.findall(r"\w+", re.sub(r"n't\b", " nt", " ".join(words)))
    return "".join(SHORT.get(part, part) for part in parts)


def sides(pairs: Iterable[Pair]) -> set[str]:
    """Both sides of all pairs in canonical form."""
    return {canonical(side) for pair in pairs for side in pair}


def without(pairs: Iterable[Pair], held_out: AbstractSet[str]) -> Iterator[Pair]:
    """The pairs without a side in the canonical sentences `held_out`."""
    return (pair for pair in pairs if not any(canonical(side) in held_out for side in pair))


@cache
def converter(name: str) -> OpenCC:
    """Converts Chinese between simplified and traditional characters, phrase by phrase."""
    return OpenCC(name)


def simplified(text: str) -> str:
    return str(converter("t2s").convert(text))


def traditional(text: str) -> str:
    return str(converter("s2t").convert(text))
