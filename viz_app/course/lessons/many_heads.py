"""Lesson 3: many heads. What each of them looks at, and which of them a sentence needs."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from model.inference.run import Run
from model.interventions import Head, Intervention
from viz_app.course.figures import figures_of
from viz_app.course.lesson import Action, Answer, Lesson, Number, OneOf, Step, Verdict
from viz_app.course.page_choices import texts, whole_number
from viz_app.course.situation import Situation
from viz_app.course.verdicts import chosen, estimated
from viz_app.course.words import count_words, words_of
from viz_app.services.analyses import head_effects_of
from viz_app.services.head_analyses import head_metrics_of
from viz_app.services.loading import config_of
from viz_app.services.results import log_prob_of, result_of

__all__ = ["LESSON"]

Values = dict[str, str | int | float]
PARENTS = "My father is cooking and my mother is reading a newspaper."
GARDEN = "The man in the garden reads a newspaper and drinks coffee."
BREAD = "She bought bread, milk and cheese."
CAR = "My sister bought a new car last week."
WORK = "The old man is working and my brother is sleeping."
ONE_HEAD, PAIR = "off.cross.1.3", "off.cross.2.5-7"
LAST_LAYER = "off.cross.3.1-2-3-4-5-6-7-8"
LOOKED_FOR: Mapping[str, str] = {"mother": "Mutter", "father": "Vater", "newspaper": "Zeitung"}


def silenced(heads: Iterable[Head]) -> Intervention:
    return Intervention(ablated=frozenset(heads))


def text_without(situation: Situation, intervention: Intervention) -> str:
    return result_of(situation.key, Run(text=situation.text, changes=intervention)).text


def layer_heads(situation: Situation, kind: str, layer: int) -> list[Head]:
    """All heads of one layer, which counts from 0."""
    return [Head(kind, layer, head) for head in range(config_of(situation.key).model.num_heads)]


@dataclass(frozen=True)
class DifferentKeys:
    """How many different tokens get the largest weight from a head of one layer, while a word is written."""

    word: str

    def __call__(self, situation: Situation, answer: Answer) -> Verdict:
        run = situation.translation
        row = next((i for i, token in enumerate(run.written) if token.text == self.word), len(run.written) // 2)
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
    effects = head_effects_of(situation.key, situation.text)
    heads = [
        Head(kind, int(layer), int(head))
        for kind, positions in effects.positions.items()
        for layer, head in np.argwhere(positions >= 0)
    ]
    total = sum(positions.size for positions in effects.positions.values())
    usual = situation.usual.text
    example = text_without(situation, silenced(heads[:1])) if heads else usual
    return estimated(answer, len(heads), within=3, count=len(heads), total=total, usual=usual, example=example)


@dataclass(frozen=True)
class LostWords:
    """Which of a few words the translation loses with the heads that the visitor silenced."""

    words: Mapping[str, str]  # option → word of the translation

    def __call__(self, situation: Situation, answer: Answer) -> Verdict:
        usual, changed = situation.usual.text, situation.translation.text
        lost = {name for name, word in self.words.items() if word in usual and word not in changed}
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


@dataclass(frozen=True)
class Survives:
    """Whether a word is still there after the changes."""

    word: str

    def __call__(self, situation: Situation, answer: Answer) -> Verdict:
        usual, changed = situation.usual.text, situation.translation.text
        truth = "stays" if self.word in words_of(changed) else "lost"
        return chosen(answer, {truth}, word=self.word, usual=usual, changed=changed)


def only_together(situation: Situation, answer: Answer) -> Verdict:
    """Whether the silenced heads change the translation alone, together, or not at all."""
    heads = sorted(situation.intervention.ablated)
    usual = situation.usual.text
    alone = [text_without(situation, silenced([head])) for head in heads]
    together = text_without(situation, silenced(heads))
    truth = "nothing" if together == usual else "together" if set(alone) <= {usual} else "alone"
    return chosen(answer, {truth}, usual=usual, together=together, alone=" · ".join(dict.fromkeys(alone)))


@dataclass(frozen=True)
class WordGone:
    """Some heads are silenced, not more than a number, and a word of the translation is gone."""

    word: str
    most: int

    def __call__(self, situation: Situation, _: Answer) -> Verdict:
        usual, changed = situation.usual.text, situation.translation.text
        count = len(situation.intervention.ablated)
        values: Values = {"word": self.word, "count": count, "usual": usual, "changed": changed}
        values |= figures_of("many-heads")
        if self.word.lower() not in words_of(usual):
            return Verdict(right=False, outcome="no-word", values=values)
        if situation.intervention != silenced(situation.intervention.ablated):
            return Verdict(right=False, outcome="other-change", values=values)
        if not count:
            return Verdict(right=False, outcome="none", values=values)
        gone = self.word.lower() not in words_of(changed)
        if count > self.most:
            return Verdict(right=False, outcome="too-many", values=values)
        outcome = "right" if gone else "unchanged" if usual == changed else "still-there"
        return Verdict(right=gone, outcome=outcome, values=values)


@dataclass(frozen=True)
class LooksOneBack:
    """The head that the page shows gives most of its weight to the token before."""

    least: float

    def __call__(self, situation: Situation, _: Answer) -> Verdict:
        kind = situation.choices.get("kind", "cross")
        name = situation.choices.get("head", "1")
        if kind == "cross" or not name.isdecimal():
            return Verdict(right=False, outcome="cross" if kind == "cross" else "no-head", values={})
        layers = config_of(situation.key).model.num_layers(kind)
        layer, head = whole_number(situation, "layer", layers) - 1, int(name) - 1
        metrics = head_metrics_of(situation.key, Run(text=situation.text))[kind]
        shares = {
            place: float(np.nanmean(metrics[place][layer, head])) for place in ("previous", "same", "next", "end")
        }
        change = silenced([Head(kind, layer, head)])
        values: Values = {
            **shares,
            "least": self.least,
            "layer": layer + 1,
            "head": head + 1,
            "usual": situation.usual.text,
            "changed": text_without(situation, change),
        }
        right = shares["previous"] > self.least
        most = max(shares, key=shares.__getitem__)
        other = most if shares[most] > self.least else "spread"
        return Verdict(right=right, outcome="right" if right else other, values=values)


@dataclass(frozen=True)
class NotNeeded:
    """Many heads are silenced, and the translation stays equal."""

    least: int
    words: int

    def __call__(self, situation: Situation, _: Answer) -> Verdict:
        usual, changed = situation.usual.text, situation.translation.text
        model = config_of(situation.key).model
        total = sum(model.num_layers(kind) * model.num_heads for kind in model.kinds)
        count = len(situation.intervention.ablated)
        values: Values = {
            "count": count,
            "least": self.least,
            "total": total,
            "usual": usual,
            "changed": changed,
            "words": self.words,
        }
        if count_words(situation.text) < self.words:
            return Verdict(right=False, outcome="short", values=values)
        outcome = "changed" if usual != changed else "right" if count >= self.least else "few"
        return Verdict(right=outcome == "right", outcome=outcome, values=values)


def on_heads(text: str, intervention: str = "") -> dict[str, str]:
    changed = {"intervention": intervention} if intervention else {}
    return {"checkpoint": "everyday-en-de", "heads_tab": "board", "text": text, **changed}


def on_translate(text: str, kind: str, layer: int) -> dict[str, str]:
    return {
        "checkpoint": "everyday-en-de",
        "text": text,
        "view": "heatmaps",
        "kind": kind,
        "layer": str(layer),
        "head": "1",
    }


NUMBER = ("right", "too-low", "too-high")

LESSON = Lesson(
    name="many-heads",
    steps=(
        Step(
            name="different-keys",
            page="translate",
            choices=on_translate(PARENTS, "cross", 1),
            answer=Number(1, 8, 1),
            check=DifferentKeys("Mutter"),
            outcomes=NUMBER,
            target="overview",
        ),
        Step(
            name="one-head",
            page="heads",
            choices=on_heads(PARENTS),
            answer=Number(0, 72, 1),
            check=heads_that_change,
            outcomes=NUMBER,
            target="head_board",
        ),
        Step(
            name="what-is-lost",
            page="heads",
            choices=on_heads(PARENTS, ONE_HEAD),
            answer=OneOf((*LOOKED_FOR, "nothing")),
            check=LostWords(LOOKED_FOR),
            target="head_board",
            any_sentence=False,
        ),
        Step(
            name="other-sentence",
            page="heads",
            choices=on_heads(GARDEN, ONE_HEAD),
            answer=OneOf(("same", "changed")),
            check=changes_or_not,
            target="head_board",
        ),
        Step(
            name="which-layer",
            page="heads",
            choices=on_heads(PARENTS),
            answer=OneOf(("first", "second", "third")),
            check=most_needed_layer,
            target="head_board",
        ),
        Step(
            name="not-survives",
            page="heads",
            choices=on_heads("She is not here.", LAST_LAYER),
            answer=OneOf(("lost", "stays")),
            check=Survives("nicht"),
            target="head_board",
            any_sentence=False,
        ),
        Step(
            name="together",
            page="heads",
            choices=on_heads(WORK, PAIR),
            answer=OneOf(("nothing", "alone", "together")),
            check=only_together,
            target="head_board",
        ),
        Step(
            name="puzzle-two-heads",
            page="heads",
            choices=on_heads(BREAD),
            answer=Action(),
            check=WordGone("kaufte", most=2),
            outcomes=("right", "none", "unchanged", "still-there", "too-many", "no-word", "other-change"),
            target="head_board",
            any_sentence=False,
            puzzle=True,
        ),
        Step(
            name="puzzle-one-back",
            page="translate",
            choices=on_translate(CAR, "encoder", 3),
            answer=Action(),
            check=LooksOneBack(least=0.5),
            outcomes=("right", "cross", "no-head", "same", "next", "end", "spread"),
            target="overview",
            puzzle=True,
        ),
        Step(
            name="puzzle-not-needed",
            page="heads",
            choices=on_heads(CAR),
            answer=Action(),
            check=NotNeeded(least=24, words=5),
            outcomes=("right", "few", "changed", "short"),
            target="head_board",
            puzzle=True,
            offers=texts("The cat sleeps on the red sofa.", "The old man is reading a book."),
        ),
    ),
)
