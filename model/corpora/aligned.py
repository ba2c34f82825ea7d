"""Sentence pairs with words aligned by hand, and the error rate of an alignment."""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from model.corpora.corpora import CorpusError
from model.safety.json_files import MAX_CONFIG_BYTES, read_text

__all__ = ["ALIGNED", "AlignedPair", "Links", "cooccurrence", "error_rate", "read_aligned"]

ALIGNED = Path(__file__).parent / "alignments"
Links = frozenset[tuple[int, int]]  # (source word, target word)


@dataclass(frozen=True, kw_only=True)
class AlignedPair:
    """A sentence pair with its sure links, and links that are also possible, such as articles and auxiliary verbs."""

    source: tuple[str, ...]
    target: tuple[str, ...]
    sure: Links
    possible: Links  # including the sure links

    def turned(self) -> "AlignedPair":
        """The same pair in the other direction."""
        sure, possible = (frozenset((t, s) for s, t in links) for links in (self.sure, self.possible))
        return AlignedPair(source=self.target, target=self.source, sure=sure, possible=possible)


def read_aligned(source: str, target: str, folder: Path = ALIGNED) -> tuple[AlignedPair, ...]:
    """The pairs of two languages, in either direction.

    Each line has three parts, separated by tabs: the words of both sentences, and links such as `3-2` (sure) and `2?2`
    (possible). Words count from 0.

    Raises:
        CorpusError: there are no pairs for these languages, or a line has another form.
    """
    if not all(re.fullmatch("[a-z]{2,3}", language) for language in (source, target)):
        raise CorpusError("A language must be written with two or three letters, such as en.")
    path, other = (folder / f"{a}-{b}.tsv" for a, b in ((source, target), (target, source)))
    if not path.exists() and other.exists():
        return tuple(pair.turned() for pair in read_aligned(target, source, folder))
    try:
        lines = read_text(path, max_bytes=MAX_CONFIG_BYTES).splitlines()
    except (OSError, ValueError) as error:
        raise CorpusError(
            "No sentences of {source} and {target} are aligned in {folder}/.",
            source=source,
            target=target,
            folder=folder.name,
        ) from error
    return tuple(parsed(line, f"{path.name}, line {number}") for number, line in enumerate(lines, start=1))


def parsed(line: str, where: str) -> AlignedPair:
    parts = line.split("\t")
    links = [re.fullmatch(r"(\d+)([-?])(\d+)", link) for link in parts[-1].split()]
    if len(parts) != 3 or not all(links):
        raise CorpusError(
            "{where} must have words, words and links such as 0-0 or 1?2, separated by tabs.", where=where
        )
    source, target = (tuple(part.split()) for part in parts[:2])
    found = [(int(match[1]), int(match[3]), match[2]) for match in links if match]
    if any(s >= len(source) or t >= len(target) for s, t, _ in found):
        raise CorpusError("{where} links a word that does not exist.", where=where)
    return AlignedPair(
        source=source,
        target=target,
        sure=frozenset((s, t) for s, t, mark in found if mark == "-"),
        possible=frozenset((s, t) for s, t, _ in found),
    )


def error_rate(found: Iterable[Links], pairs: Iterable[AlignedPair]) -> float:
    """Alignment error rate, 0 to 1: 1 − (|A ∩ S| + |A ∩ P|) / (|A| + |S|) over all pairs (Och and Ney 2003)."""
    hits = size = 0
    for links, pair in zip(found, pairs, strict=True):
        hits += len(links & pair.sure) + len(links & pair.possible)
        size += len(links) + len(pair.sure)
    return 1 - hits / max(size, 1)


def cooccurrence(pairs: Sequence[AlignedPair], *, rounds: int = 10) -> list[Links]:
    """A baseline that knows only these pairs (IBM Model 1, Brown et al. 1993, trained with EM).

    Each target word is linked to its most probable source word. Upper and lower case do not matter.
    """
    texts = [([word.lower() for word in pair.source], [word.lower() for word in pair.target]) for pair in pairs]
    chance: dict[tuple[str, str], float] = {}
    for _ in range(rounds):
        counts: dict[tuple[str, str], float] = defaultdict(float)
        totals: dict[str, float] = defaultdict(float)
        for source, target in texts:
            for t in target:
                whole = sum(chance.get((s, t), 1.0) for s in source)
                for s in source:
                    share = chance.get((s, t), 1.0) / whole
                    counts[s, t] += share
                    totals[s] += share
        chance = {(s, t): count / totals[s] for (s, t), count in counts.items()}

    def best(source: Sequence[str], t: str) -> int:
        return max(range(len(source)), key=lambda place: chance[source[place], t])

    return [frozenset((best(source, t), place) for place, t in enumerate(target)) for source, target in texts]
