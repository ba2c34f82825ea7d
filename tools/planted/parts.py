"""The parts of a planted model, and the primitives that make them.

A feature is one number of the residual stream, with a name such as "word:red". It is 1 where it holds and 0 elsewhere.
Each token has the features "word:TOKEN" and "at:POSITION", and "one" is 1 everywhere. A head compares features of its
query and its key, and moves features of the key to features of the query. A unit of a feed-forward network writes
features where others hold together.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Literal

from model.interventions import Head
from model.text.vocab import BOS, EOS

__all__ = [
    "BEGIN",
    "END",
    "GAIN",
    "REST",
    "SHARP",
    "Matches",
    "Moves",
    "Pattern",
    "Plan",
    "PlantedHead",
    "Unit",
    "Words",
    "all_of",
    "always",
    "at",
    "by_offset",
    "by_pairs",
    "by_word",
    "move",
    "named",
    "same_place",
    "where",
    "word",
]

Words = Sequence[str]
Matches = tuple[tuple[str, str, float], ...]  # feature of a query, feature of a key, what the score gains, in nats
Moves = tuple[tuple[str, str, float], ...]  # feature of a key, feature of the query that it adds to, factor
# Tokens of the queries, tokens of the keys, a query → the keys that share its weight; none: nothing is claimed.
Pattern = Callable[[Words, Words, int], tuple[int, ...]]
Reads = Mapping[str, Mapping[str, float]]  # token or label → feature → what its logit gains

SHARP, REST = 12.0, 6.0  # the score of the key that a head looks for, and of the key where it rests without one
GAIN = 5.0  # the logit of the right token; small enough that gradients do not vanish
BEGIN, END = f"word:{BOS}", f"word:{EOS}"


@dataclass(frozen=True, kw_only=True)
class PlantedHead:
    """A head made on purpose."""

    place: Head
    role: str
    why: str  # a sentence for a person
    looks: Matches
    moves: Moves = ()
    pattern: Pattern


@dataclass(frozen=True, kw_only=True)
class Unit:
    """One unit of a feed-forward network: max(0, weights · features + bias), which is added to what it writes."""

    stack: Literal["encoder", "decoder"] = "encoder"
    layer: int = 0
    reads: Mapping[str, float]
    bias: float = 0.0
    writes: Mapping[str, float]


@dataclass(frozen=True, kw_only=True)
class Plan:
    """A model, as data. All heads that it does not name are distractors."""

    name: str
    sentence: str  # what the model does, for a person
    task: Literal["translation", "continuation", "classification"]
    words: Words  # that it reads
    writes: Words = ()  # words of the target, or labels; by default the same words
    draw: Callable[[Random], list[str]]  # a random text
    answer: Callable[[Words], list[str]]  # the translation, the next token or the label
    heads: tuple[PlantedHead, ...]
    units: tuple[Unit, ...] = ()
    reads: Reads
    layers: int = 1  # of each stack
    decoder_layers: int = 0  # of a translator; 0: as many as its encoder has
    noise: float = 1.0  # how much the distractors write
    num_heads: int = 4
    width: int = 64  # d_model
    trained: bool = False  # its weights were trained to follow the compiled model, see `siit.py`
    positions: int = 10  # tokens of a text at most, with special tokens
    # The smallest sets of planted heads, by their numbers, that change outcomes when they are silenced together.
    cuts: tuple[tuple[int, ...], ...] | None = None  # by default each head alone

    def layers_of(self, stack: str) -> int:
        return (self.decoder_layers or self.layers) if stack == "decoder" else self.layers

    @property
    def cut_heads(self) -> tuple[frozenset[Head], ...]:
        cuts = tuple((i,) for i in range(len(self.heads))) if self.cuts is None else self.cuts
        return tuple(frozenset(self.heads[i].place for i in cut) for cut in cuts)


def word(token: str) -> str:
    return f"word:{token}"


def at(position: int) -> str:
    return f"at:{position}"


def named(space: str, names: Iterable[str], gain: float = GAIN) -> dict[str, dict[str, float]]:
    """Each token or label is read from the feature with its name."""
    return {name: {f"{space}:{name}": gain} for name in names}


def by_pairs(pairs: Iterable[tuple[str, str]], nats: float = SHARP) -> Matches:
    """A query with the first feature looks for a key with the second: a table of keys."""
    return tuple((query, key, nats) for query, key in pairs)


def always(*keys: str, nats: float = SHARP) -> Matches:
    """Every query looks for these keys."""
    return by_pairs((("one", key) for key in keys), nats)


def by_offset(step: int, count: int) -> Matches:
    """A query looks `step` positions ahead, in a text of at most `count` tokens."""
    return by_pairs((at(i), at(i + step)) for i in range(count) if 0 <= i + step < count)


def by_word(words: Words, key: str = "word") -> Matches:
    """A query looks for keys that have its own word in the space `key`."""
    return by_pairs((word(one), f"{key}:{one}") for one in words)


def move(names: Iterable[str], space: str, to: str, gain: float = 1.0) -> Moves:
    """Copy the features of one space to another space."""
    return tuple((f"{space}:{name}", f"{to}:{name}", gain) for name in names)


def same_place(step: int = 0) -> Pattern:
    """The pattern of a head that looks `step` positions ahead."""
    return lambda queries, keys, i: (i + step,) if 0 <= i + step < len(keys) else ()


def where(*tokens: str) -> Pattern:
    """The pattern of a head that looks at all these tokens."""
    return lambda queries, keys, i: tuple(k for k, key in enumerate(keys) if key in tokens)


def all_of(*features: str, writes: str, stack: Literal["encoder", "decoder"] = "encoder", layer: int = 0) -> Unit:
    """A unit that is 1 where all these features are 1, and 0 where one of them is 0."""
    weights = dict.fromkeys(features, 2.0)
    return Unit(stack=stack, layer=layer, reads=weights, bias=1.0 - 2.0 * len(features), writes={writes: 1.0})
