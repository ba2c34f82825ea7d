"""What is true of a planted model: the heads and edges that matter, and texts that show it.

The edges follow from the construction: a part sends to a later part that reads a feature which it writes, and the way
goes on to the output. No measurement is part of a truth.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any, Literal, Self

from model.config.kinds import KINDS
from model.interventions import Head
from model.text.vocab import BOS, EOS
from tools.planted.parts import Plan, Words

__all__ = ["TRUTH", "Edge", "Example", "TrueHead", "Truth", "keys_and_queries", "read_truth", "truth_of"]

TRUTH = "truth.json"
EXAMPLES, CANDIDATES = 4, 400  # texts in a truth, and random texts from which they and their donors are chosen
Side = Literal["query", "key", "value", ""]
Feature = tuple[str, str]  # a stack, and a feature of it


@dataclass(frozen=True, kw_only=True)
class TrueHead:
    """A head that was made on purpose."""

    head: Head
    role: str
    why: str
    alone: bool  # outcomes change when only this head is silenced


@dataclass(frozen=True, kw_only=True)
class Edge:
    """What one part writes, another part reads.

    A part is "encoder.tokens", "encoder.positions", "encoder.0.feed_forward", a head such as "cross.0.2" (kind, layer
    and head, counted from 0), or "output".
    """

    sender: str
    receiver: str
    side: Side = ""  # of a head: what it computes from it


@dataclass(frozen=True, kw_only=True)
class Example:
    """A text, and a donor of the same length with another outcome."""

    text: str
    answer: str  # the translation, the next token or the label
    donor: str
    donor_answer: str
    positions: tuple[int, ...]  # the words in which they differ, counted from 0
    keys: Mapping[str, tuple[tuple[int, ...], ...]]  # head → for each query the keys that share its weight, if known


@dataclass(frozen=True, kw_only=True)
class Truth:
    """See the fields. It stands beside the weights, in `truth.json`."""

    name: str
    sentence: str
    task: str
    heads: tuple[TrueHead, ...]
    others: tuple[Head, ...]  # distractors: silencing all of them together changes no outcome
    cuts: tuple[tuple[Head, ...], ...]  # the smallest sets of heads whose silencing changes outcomes
    edges: tuple[Edge, ...]
    examples: tuple[Example, ...]

    def to_json(self) -> str:
        return json.dumps(asdict(self), indent=1, ensure_ascii=False) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Raises ValueError, KeyError or TypeError if the text is not a truth."""
        values: dict[str, Any] = json.loads(text)
        for example in values["examples"]:
            keys = {head: tuple(map(tuple, rows)) for head, rows in example["keys"].items()}
            example |= {"keys": keys, "positions": tuple(example["positions"])}
        return cls(
            **values
            | {
                "heads": tuple(TrueHead(**one | {"head": Head(**one["head"])}) for one in values["heads"]),
                "others": tuple(Head(**one) for one in values["others"]),
                "cuts": tuple(tuple(Head(**one) for one in cut) for cut in values["cuts"]),
                "edges": tuple(Edge(**one) for one in values["edges"]),
                "examples": tuple(Example(**one) for one in values["examples"]),
            }
        )


def read_truth(folder: Path) -> Truth:
    """The truth of a planted model. Raises OSError if the folder has none."""
    return Truth.from_json((folder / TRUTH).read_text(encoding="utf-8"))


def truth_of(plan: Plan) -> Truth:
    planted = {head.place for head in plan.heads}
    return Truth(
        name=plan.name,
        sentence=plan.sentence,
        task=plan.task,
        heads=tuple(
            TrueHead(head=one.place, role=one.role, why=one.why, alone=frozenset({one.place}) in plan.cut_heads)
            for one in plan.heads
        ),
        others=tuple(head for head in all_places(plan) if head not in planted),
        cuts=tuple(tuple(sorted(cut)) for cut in plan.cut_heads),
        edges=tuple(edges_of(plan)),
        examples=tuple(examples_of(plan)),
    )


def all_places(plan: Plan) -> Iterator[Head]:
    kinds = {"translation": ("encoder", "decoder", "cross"), "continuation": ("decoder",)}
    for kind in kinds.get(plan.task, ("encoder",)):
        layers = range(plan.layers_of(KINDS[kind].stack))
        yield from (Head(kind, layer, head) for layer in layers for head in range(plan.num_heads))


def name_of(head: Head) -> str:
    return f"{head.kind}.{head.layer}.{head.head}"


def edges_of(plan: Plan) -> list[Edge]:
    """The edges on a way to the output."""
    parts = list(parts_of(plan))
    found = [
        Edge(sender=sender.name, receiver=receiver.name, side=side)
        for receiver in parts
        for side, features in receiver.reads.items()
        for sender in parts
        if sender.order < receiver.order and sender.writes & features
    ]
    useful, count = {"output"}, 0
    while len(useful) > count:
        count, useful = len(useful), useful | {edge.sender for edge in found if edge.receiver in useful}
    return [edge for edge in found if edge.receiver in useful]


@dataclass(frozen=True, kw_only=True)
class Part:
    """What a part of a model writes and reads."""

    name: str
    order: tuple[int, int, int]  # decoder after encoder, layer, sublayer
    writes: frozenset[Feature] = frozenset()
    reads: Mapping[Side, frozenset[Feature]]


def parts_of(plan: Plan) -> Iterator[Part]:
    stacks = {"translation": ("encoder", "decoder"), "continuation": ("decoder",)}.get(plan.task, ("encoder",))
    for stack in stacks:
        after = int(stack == "decoder")
        words = plan.writes if after and plan.task == "translation" and plan.writes else plan.words
        tokens = frozenset((stack, f"word:{one}") for one in (*words, BOS, EOS))
        positions = frozenset((stack, f"at:{i}") for i in range(plan.positions))
        yield Part(name=f"{stack}.tokens", order=(after, -1, 0), writes=tokens, reads={})
        yield Part(name=f"{stack}.positions", order=(after, -1, 0), writes=positions, reads={})
        for layer in range(plan.layers_of(stack)):
            units = [unit for unit in plan.units if (unit.stack, unit.layer) == (stack, layer)]
            reads = frozenset((stack, feature) for unit in units for feature in unit.reads)
            writes = frozenset((stack, feature) for unit in units for feature in unit.writes)
            name = f"{stack}.{layer}.feed_forward"
            yield Part(name=name, order=(after, layer, 2), reads={"": reads}, writes=writes)
    for head in plan.heads:
        kind, layer = head.place.kind, head.place.layer
        own, keys = KINDS[kind].stack, "encoder" if kind == "cross" else kind
        yield Part(
            name=name_of(head.place),
            order=(int(own == "decoder"), layer, int(kind == "cross")),
            writes=features(own, (to for _, to, _ in head.moves)),
            reads={
                "query": features(own, (query for query, _, _ in head.looks)),
                "key": features(keys, (key for _, key, _ in head.looks)),
                "value": features(keys, (value for value, _, _ in head.moves)),
            },
        )
    read = features(stacks[-1], (feature for weights in plan.reads.values() for feature in weights))
    yield Part(name="output", order=(2, 0, 0), reads={"": read})


def features(stack: str, names: Iterable[str]) -> frozenset[Feature]:
    return frozenset((stack, name) for name in names if name != "one")


def examples_of(plan: Plan) -> Iterator[Example]:
    draws = Random(plan.name)
    texts = [plan.draw(draws) for _ in range(CANDIDATES)]
    pairs = ((text, donor_of(text, plan, texts)) for text in texts)
    for text, donor in islice(((text, donor) for text, donor in pairs if donor), EXAMPLES):
        yield Example(
            text=" ".join(text),
            answer=" ".join(plan.answer(text)),
            donor=" ".join(donor),
            donor_answer=" ".join(plan.answer(donor)),
            positions=differing(text, donor),
            keys={name_of(head.place): keys_of(plan, head.place, text) for head in plan.heads},
        )


def donor_of(text: Words, plan: Plan, texts: Iterable[Words]) -> Words:
    """The most similar text of the same length with another answer; no words if there is none."""
    fit = [one for one in texts if len(one) == len(text) and plan.answer(one) != plan.answer(text)]
    return min(fit, key=lambda one: len(differing(text, one)), default=())


def differing(text: Words, donor: Words) -> tuple[int, ...]:
    return tuple(i for i, (one, other) in enumerate(zip(text, donor, strict=True)) if one != other)


def keys_of(plan: Plan, place: Head, text: Words) -> tuple[tuple[int, ...], ...]:
    """For each query of a head, the keys that share its weight."""
    head = next(head for head in plan.heads if head.place == place)
    queries, keys = keys_and_queries(plan, place.kind, text)
    return tuple(head.pattern(queries, keys, i) for i in range(len(queries)))


def keys_and_queries(plan: Plan, kind: str, text: Words) -> tuple[Words, Words]:
    """The tokens of the queries, and those of the keys, of one kind of attention."""
    source, read = (*text, EOS), (BOS, *(plan.answer(text) if plan.task == "translation" else text))
    return {"encoder": (source, source), "decoder": (read, read)}.get(kind, (read, source))
