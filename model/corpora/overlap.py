"""Which sentences are the same for a test: whatever their case, punctuation and contractions, in either language.

A model that has read "I'm tired." knows "I am tired!"; and a reference that stood in the training part under another
source sentence has been seen as well.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet

__all__ = ["Pair", "canonical", "sides", "without"]

Pair = tuple[str, str]  # source and target

# An ending such as n't or 'll may stand for several words, but a word has one ending: the short form is the common one.
SHORT = {
    "am": "m", "is": "s", "has": "s", "are": "re", "have": "ve", "will": "ll", "shall": "ll",
    "had": "d", "would": "d", "not": "nt", "us": "s", "es": "s",
}  # fmt: skip
IRREGULAR = {"can't": "can nt", "cannot": "can nt", "won't": "ll nt", "shan't": "ll nt", "ain't": "s nt"}


def canonical(sentence: str) -> str:
    """What a sentence has in common with its twins: "I'm not Tom." and "i am not tom" become the same.

    Different sentences may become the same as well ("he'd" is "he had" and "he would"); no twins stay different.
    """
    text = unicodedata.normalize("NFKC", sentence).casefold().replace("\u2019", "'")
    words = (IRREGULAR.get(word, word) for word in re.findall(r"[\w']+", text))
    parts = re.findall(r"\w+", re.sub(r"n't\b", " nt", " ".join(words)))
    return "".join(SHORT.get(part, part) for part in parts)


def sides(pairs: Iterable[Pair]) -> set[str]:
    """Both sides of all pairs, canonical."""
    return {canonical(side) for pair in pairs for side in pair}


def without(pairs: Iterable[Pair], held_out: AbstractSet[str]) -> Iterator[Pair]:
    """The pairs neither side of which is among the canonical sentences `held_out`."""
    return (pair for pair in pairs if not any(canonical(side) in held_out for side in pair))
