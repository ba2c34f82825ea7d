"""Lesson 3: many heads. What each of them looks at, and which of them a sentence needs."""

from collections.abc import Iterable, Mapping

import numpy as np

from model.analysis.silencing import silence_each_head
from model.analysis.statistics import metrics_of_run
from model.inference.run import Run
from model.interventions import Head, Intervention
from viz_app.course.figures import figures_of
from viz_app.course.lesson import Answer, Values, Verdict, chosen, estimated
from viz_app.course.lesson_file import read_lesson
from viz_app.course.situation import Situation, whole_number
from viz_app.course.words import count_words, words_of
from viz_app.services.analyses import analysis_of
from viz_app.services.loading import config_of
from viz_app.services.results import log_prob_of, result_of

__all__ = ["LESSON"]


def silenced(heads: Iterable[Head]) -> Intervention:
    return Intervention(ablated=frozenset(heads))


def text_without(situation: Situation, intervention: Intervention) -> str:
    return result_of(situation.key, Run(text=situation.text, changes=intervention)).text


def layer_heads(situation: Situation, kind: str, layer: int) -> list[Head]:
    """All heads of one layer, which counts from 0."""
    return [Head(kind, layer, head) for head in range(config_of(situation.key).model.num_heads)]


def different_keys(situation: Situation, answer: Answer, *, word: str) -> Verdict:
    """How many different tokens get the largest weight from a head of one layer, while a word is written."""
    run = situation.translation
    row = next((i for i, token in enumerate(run.written) if token.text == word), len(run.written) // 2)
    best = run.maps["cross"][:, :, row].argmax(axis=-1)  # (L, H)
    counts = [len({*layer.tolist()}) for layer in best]
    first = dict.fromkeys(run.source[int(index)].text for index in best[0])
    tokens = " · ".join(first)
    last = run.source[int(np.bincount(best[-1]).argmax())].text
    return estimated(
        answer,
        counts[0],
        within=1,
        word=run.written[row].text,
        first=counts[0],
        last=counts[-1],
        tokens=tokens,
        top=last,
    )


def heads_that_change(situation: Situation, answer: Answer) -> Verdict:
    """How many heads change the translation, if each is silenced alone."""
    effects = analysis_of(silence_each_head, situation.key, Run(text=situation.text))
    heads = [
        Head(kind, int(layer), int(head))
        for kind, positions in effects.positions.items()
        for layer, head in np.argwhere(positions >= 0)
    ]
    total = sum(positions.size for positions in effects.positions.values())
    usual = situation.usual.text
    example = text_without(situation, silenced(heads[:1])) if heads else usual
    return estimated(answer, len(heads), within=3, count=len(heads), total=total, usual=usual, example=example)


def lost_words(situation: Situation, answer: Answer, *, words: Mapping[str, str]) -> Verdict:
    """Which of a few words the translation loses with the heads that the visitor silenced."""
    usual, changed = situation.usual.text, situation.translation.text
    lost = {name for name, word in words.items() if word in usual and word not in changed}
    return chosen(answer, lost or {"nothing"}, usual=usual, changed=changed)


def changes_or_not(situation: Situation, answer: Answer) -> Verdict:
    usual, changed = situation.usual.text, situation.translation.text
    return chosen(answer, {"same" if usual == changed else "changed"}, usual=usual, changed=changed)


def most_needed_layer(situation: Situation, answer: Answer) -> Verdict:
    """The layer of the decoder whose cross-attention the translation needs most, by its log-probability."""
    written = tuple((place, token.id) for place, token in enumerate(situation.usual.written))
    layers = range(config_of(situation.key).model.num_layers("cross"))
    without = [silenced(layer_heads(situation, "cross", layer)) for layer in layers]
    drops = [
        situation.usual.log_prob - log_prob_of(situation.key, Run(text=situation.text, forced=written, changes=change))
        for change in without
    ]
    names = ("first", "second", "third")
    return chosen(
        answer,
        {names[int(np.argmax(drops))]},
        text=text_without(situation, without[int(np.argmax(drops))]),
        **dict(zip(names, drops, strict=False)),  # the text names at most three layers
        **figures_of("many-heads"),
    )


def survives(situation: Situation, answer: Answer, *, word: str) -> Verdict:
    """Whether a word is still there after the changes."""
    usual, changed = situation.usual.text, situation.translation.text
    truth = "stays" if word in words_of(changed) else "lost"
    return chosen(answer, {truth}, word=word, usual=usual, changed=changed)


def only_together(situation: Situation, answer: Answer) -> Verdict:
    """Whether the silenced heads change the translation alone, together, or not at all."""
    heads = sorted(situation.intervention.ablated)
    usual = situation.usual.text
    alone = [text_without(situation, silenced([head])) for head in heads]
    together = text_without(situation, silenced(heads))
    truth = "nothing" if together == usual else "together" if set(alone) <= {usual} else "alone"
    return chosen(answer, {truth}, usual=usual, together=together, alone=" · ".join(dict.fromkeys(alone)))


def word_gone(situation: Situation, _: Answer, *, word: str, most: int) -> Verdict:
    """Some heads are silenced, not more than a number, and a word of the translation is gone."""
    usual, changed = situation.usual.text, situation.translation.text
    count = len(situation.intervention.ablated)
    values: Values = {"word": word, "count": count, "usual": usual, "changed": changed}
    values |= figures_of("many-heads")
    if word.lower() not in words_of(usual):
        return Verdict(right=False, outcome="no-word", values=values)
    if situation.intervention != silenced(situation.intervention.ablated):
        return Verdict(right=False, outcome="other-change", values=values)
    if not count:
        return Verdict(right=False, outcome="none", values=values)
    gone = word.lower() not in words_of(changed)
    if count > most:
        return Verdict(right=False, outcome="too-many", values=values)
    outcome = "right" if gone else "unchanged" if usual == changed else "still-there"
    return Verdict(right=gone, outcome=outcome, values=values)


def looks_one_back(situation: Situation, _: Answer, *, least: float) -> Verdict:
    """The head that the page shows gives most of its weight to the token before."""
    kind = situation.choices.get("kind", "cross")
    name = situation.choices.get("head", "1")
    if kind == "cross" or not name.isdecimal():
        return Verdict(right=False, outcome="cross" if kind == "cross" else "no-head", values={})
    layers = config_of(situation.key).model.num_layers(kind)
    layer, head = whole_number(situation, "layer", layers) - 1, int(name) - 1
    metrics = analysis_of(metrics_of_run, situation.key, Run(text=situation.text))[kind]
    shares = {place: float(np.nanmean(metrics[place][layer, head])) for place in ("previous", "same", "next", "end")}
    change = silenced([Head(kind, layer, head)])
    values: Values = {
        **shares,
        "least": least,
        "layer": layer + 1,
        "head": head + 1,
        "usual": situation.usual.text,
        "changed": text_without(situation, change),
    }
    right = shares["previous"] > least
    most = max(shares, key=shares.__getitem__)
    other = most if shares[most] > least else "spread"
    return Verdict(right=right, outcome="right" if right else other, values=values)


def not_needed(situation: Situation, _: Answer, *, least: int, words: int) -> Verdict:
    """Many heads are silenced, and the translation stays equal."""
    usual, changed = situation.usual.text, situation.translation.text
    model = config_of(situation.key).model
    total = sum(model.num_layers(kind) * model.num_heads for kind in model.kinds)
    count = len(situation.intervention.ablated)
    values: Values = {
        "count": count,
        "least": least,
        "total": total,
        "usual": usual,
        "changed": changed,
        "words": words,
    }
    if count_words(situation.text) < words:
        return Verdict(right=False, outcome="short", values=values)
    outcome = "changed" if usual != changed else "right" if count >= least else "few"
    return Verdict(right=outcome == "right", outcome=outcome, values=values)


LESSON = read_lesson(
    "many-heads",
    {
        "different-keys": different_keys,
        "one-head": heads_that_change,
        "what-is-lost": lost_words,
        "other-sentence": changes_or_not,
        "which-layer": most_needed_layer,
        "not-survives": survives,
        "together": only_together,
        "puzzle-two-heads": word_gone,
        "puzzle-one-back": looks_one_back,
        "puzzle-not-needed": not_needed,
    },
)
