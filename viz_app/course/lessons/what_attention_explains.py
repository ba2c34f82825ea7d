"""Lesson 7: what attention explains, and what it does not."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from model.analysis.anatomy import value_norms
from model.analysis.importance import all_heads, gradient_importance
from model.analysis.influence import influence
from model.analysis.silencing import silence_each_head
from model.analysis.statistics import rank_agreement
from model.inference.run import Run
from model.interventions import Head, Intervention
from viz_app.course.lesson import Answer, Values, Verdict, chosen, estimated
from viz_app.course.lesson_file import read_lesson
from viz_app.course.situation import Situation, run_of
from viz_app.services.analyses import analysis_of
from viz_app.services.listing import CheckpointKey
from viz_app.services.loading import loaded
from viz_app.services.results import result_of

__all__ = ["LESSON"]

FloatArray = NDArray[np.float32]
KINDS_IN_ORDER = ("encoder", "decoder", "cross")
RAIN = "It was raining, so we stayed at home."
LAYERS, HEADS = 3, 8


def joined(found: Mapping[str, FloatArray]) -> FloatArray:
    """Kind → (L, H) as one array of all heads."""
    return np.concatenate([found[kind].ravel() for kind in KINDS_IN_ORDER])


def largest_weights(key: CheckpointKey, text: str) -> FloatArray:
    """The mean over the queries of the largest weight of each head. The first query of a decoder has only one key."""
    maps = result_of(key, Run(text=text)).maps
    return joined({kind: maps[kind][:, :, int(kind == "decoder") :].max(axis=-1).mean(axis=-1) for kind in maps})


def head_effects(key: CheckpointKey, text: str) -> FloatArray:
    """By how much the log-probability of the translation changes when each head is silenced, in nats."""
    return np.abs(joined(analysis_of(silence_each_head, key, Run(text=text)).changes))


def head_gradients(key: CheckpointKey, text: str) -> FloatArray:
    """What the gradient predicts for each head, see `gradient_importance`."""
    return joined({kind: found[0] for kind, found in analysis_of(gradient_importance, key, ((text, ""),)).items()})


def from_source(situation: Situation, text: str) -> tuple[list[str], list[float]]:
    """The written tokens, and the share of the source in each."""
    run = replace(run_of(situation), text=text)
    written = result_of(situation.key, run).written
    return [token.text for token in written], analysis_of(influence, situation.key, run).given().tolist()


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


def same_order(situation: Situation, answer: Answer, *, measure: str) -> Verdict:
    """Whether a measure puts the heads in the order of the effects of silencing them."""
    key, text = situation.key, situation.text
    sizes = (largest_weights if measure == "weight" else head_gradients)(key, text)
    effects = head_effects(key, text)
    correlation, _, _ = rank_agreement(sizes[None], effects[None], resamples=1)
    tenth = sorted(effects)[-10]
    shared = int(((effects >= tenth) & (sizes >= sorted(sizes)[-10])).sum())
    return chosen(answer, {similarity(correlation)}, correlation=correlation, shared=shared, heads=len(effects))


def change_without(situation: Situation, answer: Answer, *, heads: str, sentences: tuple[str, ...]) -> Verdict:
    """In how many translations a word changes without some heads."""
    silenced = Intervention.from_code(heads)
    changed = []
    for text in sentences:
        usual = result_of(situation.key, Run(text=text)).text
        without = result_of(situation.key, Run(text=text, changes=silenced)).text
        changed += [without] if without != usual else []
    examples = " · ".join(changed[:2]) or "–"
    return estimated(answer, len(changed), within=2, count=len(changed), all=len(sentences), examples=examples)


def all_uniform(kind: str) -> Intervention:
    """Every head of a kind gives all its keys the same weight."""
    return Intervention(uniform=frozenset(Head(kind, layer, head) for layer in range(LAYERS) for head in range(HEADS)))


def uniform(situation: Situation, answer: Answer, *, kind: str) -> Verdict:
    """Whether the translation changes when all heads of a kind are uniform."""
    usual = situation.usual.text
    changed = result_of(situation.key, Run(text=situation.text, changes=all_uniform(kind))).text
    return chosen(answer, {"stays" if changed == usual else "changes"}, usual=usual, changed=changed)


def weight_times_norm(situation: Situation, answer: Answer) -> Verdict:
    """The share of `</s>` in cross-attention: in the weights, and in the weights times the norms of the values."""
    weights = result_of(situation.key, Run(text=situation.text)).maps["cross"]  # (L, H, T, S)
    scaled = weights * analysis_of(value_norms, situation.key, Run(text=situation.text))["cross"][:, :, None]
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


def strength(maps: np.ndarray, head: Head) -> float:
    """The largest weight of a head. The first query of a decoder has only one key, so it does not count."""
    return float(maps[head.layer, head.head, int(head.kind == "decoder") :].max(initial=0.0))


def strong_and_silent(situation: Situation, _: Answer, *, heads: int, weight: float) -> Verdict:
    """Several heads with a large weight are silenced, and the translation stays equal."""
    change, maps = situation.intervention, situation.usual.maps
    silenced = [head for head in change.ablated if strength(maps[head.kind], head) > weight]
    usual, text = situation.usual.text, situation.translation.text
    values: Values = {"count": len(silenced), "heads": heads, "least": weight, "usual": usual}
    if change != Intervention(ablated=change.ablated):
        return Verdict(right=False, outcome="other-change", values=values)
    if len(silenced) < heads:
        return Verdict(right=False, outcome="few", values=values)
    outcome = "right" if text == usual else "changed"
    return Verdict(right=text == usual, outcome=outcome, values={**values, "text": text})


def needs_patterns(situation: Situation, _: Answer, *, kind: str) -> Verdict:
    """A sentence whose translation changes when all heads of a kind are uniform, and nothing else is changed."""
    heads = [head for head in all_heads(loaded(situation.key).model) if head.kind == kind]
    if situation.intervention != Intervention(uniform=frozenset(heads)):
        return Verdict(right=False, outcome="other-change", values={"heads": len(heads)})
    usual, text = situation.usual.text, situation.translation.text
    values = {"source": situation.text, "usual": usual, "text": text}
    return Verdict(right=text != usual, outcome="right" if text != usual else "unchanged", values=values)


LESSON = read_lesson(
    "what-attention-explains",
    {
        "least-read": least_read,
        "end-of-a-word": end_of_a_word,
        "largest-weight": same_order,
        "gradient": same_order,
        "best-pointer": change_without,
        "uniform-encoder": uniform,
        "uniform-cross": uniform,
        "value-norms": weight_times_norm,
        "puzzle-guessed": guessed_word,
        "puzzle-strong-and-silent": strong_and_silent,
        "puzzle-needs-patterns": needs_patterns,
    },
)
