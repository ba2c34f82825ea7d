"""How good a tiny model is, on stories that it has not read, beside a model that counts pairs of neighbours."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from weights.stories.draw import draw_stories
from weights.tiny.opened import OpenedTiny
from weights.tiny.probes import PROBES, Probe, probes

__all__ = ["HELD_OUT_SEED", "Bigrams", "figures", "held_out_ids", "is_right"]

STORIES, READ, SENTENCES = 200, 20_000, 200  # measured stories, stories of the counts, sentences of a probe
HELD_OUT_SEED = 1_000_000  # no round of a training run has this seed
RARE = 0.1  # share of the single tokens in the counts of pairs (Jelinek and Mercer 1980)


class Bigrams:
    """Counts of pairs of tokens, mixed with the counts of single tokens."""

    def __init__(self, rows: Iterator[Sequence[int]], size: int) -> None:
        self.pairs: defaultdict[int, Counter[int]] = defaultdict(Counter)
        self.single = Counter[int]()
        self.size = size
        for row in rows:
            self.single.update(row)
            for left, right in pairwise(row):
                self.pairs[left][right] += 1
        self.total = sum(self.single.values())
        self.after = {left: sum(counts.values()) for left, counts in self.pairs.items()}

    def probability(self, left: int, right: int) -> float:
        alone = (self.single[right] + 1) / (self.total + self.size)
        if left not in self.after:
            return alone
        return RARE * alone + (1 - RARE) * self.pairs[left][right] / self.after[left]

    def fill(self, left: int, right: int) -> int:
        """The most probable token between two neighbours."""
        candidates = list(self.pairs[left]) or list(self.single)
        return max(candidates, key=lambda token: self.probability(left, token) * self.probability(token, right))


def held_out_ids(tiny: OpenedTiny, *, invented: float) -> list[list[int]]:
    """Stories that no training run has read. Their invented names are in no training story."""
    stories = draw_stories(STORIES, seed=HELD_OUT_SEED, invented=invented, held_out=True)
    end = [] if tiny.masked else [int(tiny.tokenizer.eos_token_id)]
    return [(tiny.ids(" ".join(lines)) + end)[:128] for lines in stories]


def figures(tiny: OpenedTiny) -> Mapping[str, float]:
    """Name of a figure → its value. Shares are from 0 to 1."""
    rows = (tiny.ids(" ".join(lines)) for lines in draw_stories(READ, seed=HELD_OUT_SEED + 1))
    bigrams = Bigrams(rows, len(tiny.tokenizer))
    found: dict[str, float] = {}
    for title, invented in (("", 0.35), (" of stories with invented names only", 1.0)):
        held_out = held_out_ids(tiny, invented=invented)
        ours, counts = (gaps if tiny.masked else perplexities)(tiny, bigrams, held_out)
        name = "gap accuracy" if tiny.masked else "perplexity"
        found |= {f"{name}{title}": ours, f"{name}{title}, pairs of neighbours": counts}
    for kind in PROBES:
        found[kind] = share_right(tiny, probes(kind, SENTENCES))
    found["invented name"] = share_right(tiny, probes("name", SENTENCES, invented=1.0))
    return found


def perplexities(tiny: OpenedTiny, bigrams: Bigrams, rows: Sequence[Sequence[int]]) -> tuple[float, float]:
    """Perplexity of each next token by the model and by the counts."""
    ours, counts, total = 0.0, 0.0, 0
    for row in rows:
        found = tiny.read(list(row))
        ours -= found.log_probabilities[:-1].gather(1, found.ids[1:, None]).sum().item()
        counts -= sum(math.log(bigrams.probability(left, right)) for left, right in pairwise(row))
        total += len(row) - 1
    return math.exp(ours / total), math.exp(counts / total)


def gaps(tiny: OpenedTiny, bigrams: Bigrams, rows: Sequence[Sequence[int]]) -> tuple[float, float]:
    """Share of hidden tokens that are guessed, one at a time: every fifth token, by the model and by the counts."""
    ours, counts, total = 0, 0, 0
    for row in rows:
        for place in range(2, len(row) - 1, 5):
            hidden = [*row[:place], int(tiny.tokenizer.mask_token_id), *row[place + 1 :]]
            ours += tiny.read(hidden).log_probabilities[place].argmax().item() == row[place]
            counts += bigrams.fill(row[place - 1], row[place + 1]) == row[place]
            total += 1
    return ours / total, counts / total


def share_right(tiny: OpenedTiny, sentences: Iterator[Probe]) -> float:
    found = [is_right(tiny, probe) for probe in sentences]
    return sum(found) / len(found)


def is_right(tiny: OpenedTiny, probe: Probe) -> bool:
    """Whether the right word is more probable than the wrong one. A masked model also reads what comes after it."""
    right, wrong = tiny.first_id(probe.right), tiny.first_id(probe.wrong)
    if not tiny.masked:
        ahead = tiny.read(tiny.ids(probe.before)).log_probabilities[-1]
        return bool(ahead[right] > ahead[wrong])
    mask = int(tiny.tokenizer.mask_token_id)
    ids = tiny.ids(f"{probe.before} {tiny.tokenizer.mask_token}{probe.after}")
    guess = tiny.read(ids).log_probabilities[ids.index(mask)]
    return bool(guess[right] > guess[wrong])
