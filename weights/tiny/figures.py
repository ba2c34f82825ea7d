"""How good a tiny model is and what its heads look at, on stories that it has not read.

A model that counts pairs of neighbours is measured beside it. A probe is a sentence with one answer that is right and
one that is wrong: agreement in number, and the copy of a name.
"""

import math
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from pathlib import Path
from typing import Literal

import torch
from torch import Tensor
from transformers import AutoModelForCausalLM, AutoModelForMaskedLM, AutoTokenizer, PreTrainedModel
from transformers import PreTrainedTokenizerFast as Tokenizer

from weights.stories.draw import Words, draw_line, draw_stories

__all__ = ["HELD_OUT_SEED", "LOOKS", "PROBES", "Bigrams", "figures", "head_table", "open_tiny", "probes", "share_right"]

STORIES, READ, SENTENCES = 200, 20_000, 200  # measured stories, stories of the counts, sentences of a probe
HELD_OUT_SEED = 1_000_000  # no round of a training run has this seed
RARE = 0.1  # share of the single tokens in the counts of pairs (Jelinek and Mercer 1980)
Places = Iterator[tuple[int, int]]  # query, key


@dataclass(frozen=True, kw_only=True)
class Pass:
    """What the model computed for one text."""

    ids: Tensor  # (T,)
    log_probabilities: Tensor  # (T, V): of the next token (GPT), or of the token itself (BERT)
    weights: Tensor  # (L, H, T, T), rows are queries


@dataclass(frozen=True, kw_only=True)
class OpenedTiny:
    """A model with its tokenizer."""

    model: PreTrainedModel
    tokenizer: Tokenizer

    @property
    def masked(self) -> bool:
        return self.tokenizer.mask_token is not None

    def ids(self, text: str) -> list[int]:
        """With the special tokens that the model reads around a text."""
        found: list[int] = self.tokenizer(text)["input_ids"]
        return found

    def first_id(self, word: str) -> int:
        """The first token of a word inside a text."""
        found: list[int] = self.tokenizer(word, add_special_tokens=False)["input_ids"]
        return found[0]

    def asked(self, probe: "Probe") -> tuple[list[int], int]:
        """The ids of a sentence, and the place of its answer. A masked model also reads what comes after it."""
        if not self.masked:
            ids = self.ids(probe.before)
            return ids, len(ids) - 1
        ids = self.ids(f"{probe.before} {self.tokenizer.mask_token}{probe.after}")
        return ids, ids.index(int(self.tokenizer.mask_token_id))

    @torch.inference_mode()
    def read(self, ids: list[int]) -> Pass:
        """Read one text with its special tokens."""
        out = self.model(input_ids=torch.tensor([ids]), output_attentions=True)
        return Pass(
            ids=torch.tensor(ids),
            log_probabilities=out.logits[0].float().log_softmax(dim=-1),
            weights=torch.stack([layer[0] for layer in out.attentions]),
        )


def open_tiny(folder: Path) -> OpenedTiny:
    """Open a folder that `train_tiny` wrote."""
    tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
    assert isinstance(tokenizer, Tokenizer)
    kind = AutoModelForMaskedLM if tokenizer.mask_token else AutoModelForCausalLM
    model = kind.from_pretrained(folder, local_files_only=True, dtype=torch.float32, attn_implementation="eager")
    return OpenedTiny(model=model.eval(), tokenizer=tokenizer)


Kind = Literal["agreement", "name"]
# | is the place of the answer. {furniture.many} stands between the subject and its verb in half of the sentences.
FRAMES: dict[Kind, tuple[str, ...]] = {
    "agreement": (
        "The {group} [near|behind|next to|in front of] the [{thing}|{thing.many}] | {state}.",
        "The {group} [near|behind|next to] the [{furniture}|{furniture.many}] | very {state}.",
    ),
    "name": (
        "When {name} and {name 2} went to the {place}, {name} gave a {thing} to | . The {thing} was {color}.",
        "After {name} and {name 2} went to the {place}, {name} bought a {thing} for | . The {thing} was {color}.",
    ),
}
PROBES: tuple[Kind, ...] = tuple(FRAMES)


@dataclass(frozen=True, kw_only=True)
class Probe:
    """A sentence with one word left out."""

    before: str
    after: str
    right: str
    wrong: str
    subject: str  # the earlier word that decides


def probes(kind: Kind, count: int, *, invented: float = 0.0) -> Iterator[Probe]:
    """Draw sentences.

    Args:
        kind: One of `PROBES`.
        count: How many.
        invented: Share of invented names; no training story has these.
    """
    draw = random.Random(7)
    for _ in range(count):
        words = Words(draw, invented=invented, held_out=True)
        before, _, after = draw_line(draw.choice(FRAMES[kind]), words).partition(" |")
        chosen = words.chosen
        if kind == "agreement":
            subject = chosen["group"]["word"]
            right, wrong = ("are", "is") if chosen["group"]["number"] == "many" else ("is", "are")
        else:
            subject = right = chosen["name 2"]["word"]
            wrong = chosen["name"]["word"]
        yield Probe(before=before, after=after.replace(" .", ".", 1), right=right, wrong=wrong, subject=subject)


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
    """Whether the right word is more probable than the wrong one."""
    ids, place = tiny.asked(probe)
    guess = tiny.read(ids).log_probabilities[place]
    return bool(guess[tiny.first_id(probe.right)] > guess[tiny.first_id(probe.wrong)])


def repeats(ids: list[int]) -> Places:
    """Each token that occurred before, and its last earlier place."""
    seen: dict[int, int] = {}
    for i, token in enumerate(ids):
        if token in seen:
            yield i, seen[token]
        seen[token] = i


# Where a head may look in a text with special tokens around it.
LOOKS: Mapping[str, Callable[[list[int]], Places]] = {
    "previous token": lambda ids: ((i, i - 1) for i in range(2, len(ids))),
    "next token": lambda ids: ((i, i + 1) for i in range(1, len(ids) - 2)),
    "first token": lambda ids: ((i, 0) for i in range(1, len(ids))),
    "same token earlier": repeats,
    # as an induction head does (Olsson et al. 2022, arXiv 2209.11895)
    "after same token": lambda ids: ((i, earlier + 1) for i, earlier in repeats(ids) if earlier + 1 < i),
}


def mean_weights(found: Pass, places: list[tuple[int, int]]) -> Tensor:
    """(L, H): the mean weight of the given cells."""
    queries, keys = torch.tensor(places).T
    return found.weights[:, :, queries, keys].mean(dim=-1)


def head_scores(tiny: OpenedTiny) -> Mapping[str, Tensor]:
    """Where a head looks → its mean weight there, (L, H), from 0 to 1."""
    passes = [tiny.read(row) for row in held_out_ids(tiny, invented=0.35)]
    scores = {}
    for name, places_of in LOOKS.items():
        read = [(one, list(places_of(one.ids.tolist()))) for one in passes]
        scores[name] = torch.stack([mean_weights(one, places) for one, places in read if places]).mean(dim=0)
    for kind in PROBES:
        found = [mean_weights(*seen) for probe in probes(kind, SENTENCES) if (seen := decisive(tiny, probe))]
        scores[f"answer to {kind}"] = torch.stack(found).mean(dim=0)
    return scores


def decisive(tiny: OpenedTiny, probe: Probe) -> tuple[Pass, list[tuple[int, int]]] | None:
    """A pass, and the cell from the place of the answer to the word that decides; None if that word has no token."""
    (ids, place), subject = tiny.asked(probe), tiny.first_id(probe.subject)
    return (tiny.read(ids), [(place, ids.index(subject))]) if subject in ids else None


def head_table(tiny: OpenedTiny) -> str:
    """A line per head: the mean weight for each of `LOOKS`. Layers and heads count from 1."""
    scores = head_scores(tiny)
    layers, heads = next(iter(scores.values())).shape
    lines = ["\t".join(["head", *scores])]
    for layer, head in product(range(layers), range(heads)):
        cells = (f"{values[layer, head]:.2f}" for values in scores.values())
        lines.append("\t".join([f"{layer + 1}.{head + 1}", *cells]))
    return "\n".join(lines)
