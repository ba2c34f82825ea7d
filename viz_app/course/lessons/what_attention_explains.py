"""Lesson 7: what attention explains, and what it does not."""

from dataclasses import dataclass, replace

import numpy as np

from model.analysis.importance import all_heads
from model.analysis.statistics import rank_agreement
from model.inference.run import Run
from model.interventions import Head, Intervention
from viz_app.content.examples import CAPTIONS, EVERYDAY, MORE
from viz_app.course.head_sizes import head_effects, head_gradients, largest_weights
from viz_app.course.lesson import Action, Answer, Lesson, Number, OneOf, OneToken, Step, Verdict
from viz_app.course.page_choices import run_of, texts
from viz_app.course.situation import Situation
from viz_app.course.verdicts import ESTIMATES, Values, chosen, estimated
from viz_app.services.analyses import influence_of
from viz_app.services.head_analyses import value_norms_of
from viz_app.services.loading import loaded
from viz_app.services.results import result_of

__all__ = ["LESSON"]

BOOK, STATION = "She reads a book.", "Where is the station?"
DOG, RAIN = "A brown dog is running through the snow.", "It was raining, so we stayed at home."
SENTENCES = tuple(dict.fromkeys((*EVERYDAY["en"], *CAPTIONS["en"], *MORE["en"])))
POINTER = Head("cross", 0, 2)  # of everyday-en-de: the best pointer, see `tools/attention_figures.json`
LAYERS, HEADS = 3, 8


def from_source(situation: Situation, text: str) -> tuple[list[str], list[float]]:
    """The written tokens, and the share of the source in each."""
    run = replace(run_of(situation), text=text)
    written = result_of(situation.key, run).written
    return [token.text for token in written], influence_of(situation.key, run).given().tolist()


def least_read(situation: Situation, answer: Answer) -> Verdict:
    """The visitor looks for the written token with the smallest share from the source."""
    tokens, shares = from_source(situation, situation.text)
    index, least = int(float(str(answer))), int(np.argmin(shares))
    right = shares[index] == shares[least]
    values: Values = {"token": tokens[index], "share": shares[index], "least": tokens[least], "smallest": shares[least]}
    return Verdict(right=right, outcome="right" if right else "wrong", values=values)


def end_of_a_word(situation: Situation, answer: Answer) -> Verdict:
    """Which of three tokens has the smallest share from the source: the two parts of "regnete", or "wir"."""
    found = dict(zip(*from_source(situation, RAIN), strict=True))
    shares = {"beginning": found["reg"], "end": found["·nete"], "other": found["wir"]}
    return chosen(answer, {min(shares, key=shares.__getitem__)}, **shares)


def similarity(correlation: float) -> str:
    size = abs(correlation)
    return "none" if size < 0.3 else "some" if size < 0.6 else "similar"


@dataclass(frozen=True)
class SameOrder:
    """Whether a measure puts the heads in the order of the effects of silencing them."""

    measure: str  # "weight" or "gradient"

    def __call__(self, situation: Situation, answer: Answer) -> Verdict:
        key, text = situation.key, situation.text
        sizes = (largest_weights if self.measure == "weight" else head_gradients)(key, text)
        effects = head_effects(key, text)
        correlation, _, _ = rank_agreement(sizes[None], effects[None], resamples=1)
        tenth = sorted(effects)[-10]
        shared = int(((effects >= tenth) & (sizes >= sorted(sizes)[-10])).sum())
        return chosen(answer, {similarity(correlation)}, correlation=correlation, shared=shared, heads=len(effects))


@dataclass(frozen=True)
class ChangeWithout:
    """In how many translations a word changes without some heads."""

    heads: str  # as a link writes them
    sentences: tuple[str, ...]

    def __call__(self, situation: Situation, answer: Answer) -> Verdict:
        silenced = Intervention.from_code(self.heads)
        changed = []
        for text in self.sentences:
            usual = result_of(situation.key, Run(text=text)).text
            without = result_of(situation.key, Run(text=text, changes=silenced)).text
            changed += [without] if without != usual else []
        examples = " · ".join(changed[:2]) or "–"
        return estimated(answer, len(changed), within=2, count=len(changed), all=len(self.sentences), examples=examples)


def all_uniform(kind: str) -> Intervention:
    """Every head of a kind gives all its keys the same weight."""
    return Intervention(uniform=frozenset(Head(kind, layer, head) for layer in range(LAYERS) for head in range(HEADS)))


@dataclass(frozen=True)
class Uniform:
    """Whether the translation changes when all heads of a kind are uniform."""

    kind: str

    def __call__(self, situation: Situation, answer: Answer) -> Verdict:
        usual = situation.usual.text
        changed = result_of(situation.key, Run(text=situation.text, changes=all_uniform(self.kind))).text
        return chosen(answer, {"stays" if changed == usual else "changes"}, usual=usual, changed=changed)


def weight_times_norm(situation: Situation, answer: Answer) -> Verdict:
    """The share of `</s>` in cross-attention: in the weights, and in the weights times the norms of the values."""
    weights = result_of(situation.key, Run(text=situation.text)).maps["cross"]  # (L, H, T, S)
    scaled = weights * value_norms_of(situation.key, Run(text=situation.text))["cross"][:, :, None]
    by_weight = float(weights[..., -1].mean())
    by_norm = float((scaled[..., -1] / scaled.sum(axis=-1)).mean())
    ratio = by_norm / by_weight
    truth = "smaller" if ratio < 0.9 else "larger" if ratio > 1.1 else "same"
    return chosen(answer, {truth}, by_weight=by_weight, by_norm=by_norm)


def guessed_word(situation: Situation, _: Answer) -> Verdict:
    """A part of a word, written more from the words before than from the source."""
    tokens, shares = from_source(situation, situation.text)
    words = [(share, token) for token, share in zip(tokens, shares, strict=True) if any(map(str.isalpha, token))]
    words = [(share, token) for share, token in words if token != "</s>"]
    if not words:
        return Verdict(right=False, outcome="no-word", values={"written": situation.usual.text})
    share, token = min(words)
    values: Values = {"token": token, "share": share, "text": situation.text}
    return Verdict(right=share < 0.5, outcome="right" if share < 0.5 else "read", values=values)


@dataclass(frozen=True)
class StrongAndSilent:
    """Several heads with a large weight are silenced, and the translation stays equal."""

    heads: int
    weight: float

    def __call__(self, situation: Situation, _: Answer) -> Verdict:
        change, maps = situation.intervention, situation.usual.maps
        silenced = [head for head in change.ablated if self.strength(maps[head.kind], head) > self.weight]
        usual, text = situation.usual.text, situation.translation.text
        values: Values = {"count": len(silenced), "heads": self.heads, "least": self.weight, "usual": usual}
        if change != Intervention(ablated=change.ablated):
            return Verdict(right=False, outcome="other-change", values=values)
        if len(silenced) < self.heads:
            return Verdict(right=False, outcome="few", values=values)
        outcome = "right" if text == usual else "changed"
        return Verdict(right=text == usual, outcome=outcome, values={**values, "text": text})

    def strength(self, maps: np.ndarray, head: Head) -> float:
        """The largest weight of a head. The first query of a decoder has only one key, so it does not count."""
        return float(maps[head.layer, head.head, int(head.kind == "decoder") :].max(initial=0.0))


@dataclass(frozen=True)
class NeedsPatterns:
    """A sentence whose translation changes when all heads of a kind are uniform, and nothing else is changed."""

    kind: str

    def __call__(self, situation: Situation, _: Answer) -> Verdict:
        heads = [head for head in all_heads(loaded(situation.key).model) if head.kind == self.kind]
        if situation.intervention != Intervention(uniform=frozenset(heads)):
            return Verdict(right=False, outcome="other-change", values={"heads": len(heads)})
        usual, text = situation.usual.text, situation.translation.text
        values = {"source": situation.text, "usual": usual, "text": text}
        return Verdict(right=text != usual, outcome="right" if text != usual else "unchanged", values=values)


def shown(text: str, **more: str) -> dict[str, str]:
    return {"checkpoint": "everyday-en-de", "text": text, "method": "greedy", **more}


def heads_of(kind: str) -> str:
    return all_uniform(kind).code()


ORDERS = OneOf(("similar", "some", "none"))
LESSON = Lesson(
    name="what-attention-explains",
    steps=(
        Step(
            name="least-read",
            page="inside",
            choices=shown(BOOK, inside_tab="read"),
            answer=OneToken("writes"),
            check=least_read,
            target="read_or_guessed",
        ),
        Step(
            name="end-of-a-word",
            page="inside",
            choices=shown(RAIN, inside_tab="read"),
            answer=OneOf(("beginning", "end", "other")),
            check=end_of_a_word,
            target="read_or_guessed",
            any_sentence=False,
        ),
        Step(
            name="largest-weight",
            page="heads",
            choices=shown(STATION, heads_tab="board"),
            answer=ORDERS,
            check=SameOrder("weight"),
            target="head_board",
        ),
        Step(
            name="gradient",
            page="heads",
            choices=shown(STATION, heads_tab="importance"),
            answer=ORDERS,
            check=SameOrder("gradient"),
            target="gradient",
        ),
        Step(
            name="best-pointer",
            page="heads",
            choices=shown(DOG, heads_tab="board", intervention="off.cross.1.3"),
            answer=Number(0, len(SENTENCES), 1),
            check=ChangeWithout(Intervention(ablated=frozenset({POINTER})).code(), SENTENCES),
            outcomes=ESTIMATES,
            target="head_board",
            any_sentence=False,
        ),
        Step(
            name="uniform-encoder",
            page="heads",
            choices=shown(DOG, heads_tab="board", intervention=heads_of("encoder")),
            answer=OneOf(("stays", "changes")),
            check=Uniform("encoder"),
            target="head_board",
        ),
        Step(
            name="uniform-cross",
            page="heads",
            choices=shown(BOOK, heads_tab="board", intervention=heads_of("cross")),
            answer=OneOf(("stays", "changes")),
            check=Uniform("cross"),
            target="head_board",
        ),
        Step(
            name="value-norms",
            page="translate",
            choices=shown(DOG, kind="cross", norms="true"),
            answer=OneOf(("larger", "same", "smaller")),
            check=weight_times_norm,
            target="norms",
        ),
        Step(
            name="puzzle-guessed",
            page="inside",
            choices=shown(BOOK, inside_tab="read"),
            answer=Action(),
            check=guessed_word,
            outcomes=("right", "read", "no-word"),
            target="text",
            puzzle=True,
            offers=texts("The cat is black.", "Excuse me.", "Where is the station?", "Open the door."),
        ),
        Step(
            name="puzzle-strong-and-silent",
            page="heads",
            choices=shown(STATION, heads_tab="board"),
            answer=Action(),
            check=StrongAndSilent(heads=10, weight=0.9),
            outcomes=("right", "few", "changed", "other-change"),
            target="head_board",
            puzzle=True,
        ),
        Step(
            name="puzzle-needs-patterns",
            page="heads",
            choices=shown(DOG, heads_tab="board", intervention=heads_of("decoder")),
            answer=Action(),
            check=NeedsPatterns("decoder"),
            outcomes=("right", "unchanged", "other-change"),
            target="text",
            any_sentence=False,
            puzzle=True,
            offers=texts(
                "The cat is black.",
                "Open the door.",
                "She reads a book.",
                "It was raining, so we stayed at home.",
            ),
        ),
    ),
)
