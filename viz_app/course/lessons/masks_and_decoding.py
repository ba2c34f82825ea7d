"""Lesson 4: masks and decoding. What a mask excludes, what leaks without it, and what a forced word changes."""

from dataclasses import dataclass

import numpy as np

from model.inference.translation import Translation
from viz_app.content.examples import BATCHES
from viz_app.course.lesson import Action, Answer, Lesson, Number, OneOf, Step, Verdict
from viz_app.course.page_choices import whole_number
from viz_app.course.situation import Situation
from viz_app.course.verdicts import chosen, estimated
from viz_app.course.words import word_list
from viz_app.services.padded_batches import batch_of, bug_of

__all__ = ["LESSON"]

Values = dict[str, str | int | float]
GARDEN, CAR = "The dog is in the garden.", "My sister bought a new car last week."
TIME = "I have no time today."
KAUFTE, IST = "2.5396", "0.1565"  # position.token of everyday-en-de
CHANGED = 1e-4  # rounding is smaller, in a weight and in nats


def texts_of(situation: Situation) -> tuple[str, ...]:
    """The sentences of the batch on the page Masks."""
    fields = [situation.choices.get(f"batch_en_{number}", text) for number, text in enumerate(BATCHES["en"], start=1)]
    return tuple(text for text in fields if text.strip())


def row_of(situation: Situation) -> int:
    """The sentence that the page shows, counted from 0."""
    return min(whole_number(situation, "sentence", 1), len(texts_of(situation))) - 1


def padding_share(situation: Situation, answer: Answer) -> Verdict:
    """The share of padding among the tokens of one sentence of the batch, in percent."""
    real = batch_of(situation.key, texts_of(situation)).source_real  # (B, S)
    own, longest = int(real[row_of(situation)].sum()), real.shape[1]
    share = 1 - own / longest
    return estimated(answer, 100 * share, within=8, share=share, own=own, longest=longest, padding=longest - own)


def weight_on_masked(situation: Situation, answer: Answer) -> Verdict:
    leaked = bug_of(situation.key, texts_of(situation)).leaked
    most = max(float(shares[row_of(situation)]) for shares in leaked.values())
    truth = "zero" if most < 1e-9 else "little" if most < 0.1 else "much"
    return chosen(answer, {truth}, leaked=most)


def leak_of_fill(situation: Situation, answer: Answer) -> Verdict:
    """The share of the decoder's weight on masked keys if they are filled with 1e-12, in percent."""
    row = row_of(situation)
    right, wrong = (bug_of(situation.key, texts_of(situation), name) for name in ("", "fill"))
    shares = {kind: float(found[row]) for kind, found in wrong.leaked.items()}
    return estimated(
        answer, 100 * shares["decoder"], within=10, **shares, correct=right.texts[row], wrong=wrong.texts[row]
    )


def depends_on_batch(situation: Situation, answer: Answer) -> Verdict:
    """Whether the translation of a sentence changes in a batch without the padding mask."""
    row = row_of(situation)
    right, wrong = (bug_of(situation.key, texts_of(situation), name) for name in ("", "padding"))
    truth = "same" if right.texts[row] == wrong.texts[row] else "changed"
    return chosen(
        answer,
        {truth},
        correct=right.texts[row],
        wrong=wrong.texts[row],
        encoder=float(wrong.leaked["encoder"][row]),
        cross=float(wrong.leaked["cross"][row]),
    )


def effect_of_future(situation: Situation, answer: Answer) -> Verdict:
    """Whether an earlier log-probability changes if the last token that the decoder reads is replaced."""
    effects = {}
    for name, bug in (("right_mask", ""), ("fill", "fill"), ("inverted", "inverted")):
        found = bug_of(situation.key, texts_of(situation), bug).effect_of_future
        effects[name] = 0.0 if found is None else float(found[row_of(situation)])
    return chosen(answer, {"no" if effects["right_mask"] < CHANGED else "yes"}, **effects)


def keys_of_step(situation: Situation, answer: Answer) -> Verdict:
    """How many tokens the decoder may attend to at one step in its self-attention."""
    run = situation.translation
    step = min(whole_number(situation, "step", 1), len(run.written))
    keys = int(run.allowed("decoder")[0, step - 1].sum())
    read = " ".join(token.text for token in run.read[:step])
    return estimated(answer, keys, within=0, keys=keys, read=read, written=run.written[step - 1].text)


def differences(one: Translation, other: Translation) -> list[float]:
    """For each step, the largest difference of a weight of the decoder in two runs over the same source."""
    found = []
    for step in range(min(len(one.written), len(other.written))):
        rows = [(run.maps["decoder"][:, :, step, : step + 1], run.maps["cross"][:, :, step]) for run in (one, other)]
        found.append(max(float(np.abs(a - b).max()) for a, b in zip(*rows, strict=True)))
    return found


def changed_rows(situation: Situation, answer: Answer) -> Verdict:
    """Which rows of the maps change because of the forced token."""
    place = min((at for at, _ in situation.forced), default=0)
    usual, forced = situation.usual, situation.translation
    found = differences(usual, forced)
    earlier, later = found[: place + 1], found[place + 1 :]
    truth = "all" if max(earlier) > CHANGED else "later" if max(later, default=0.0) > CHANGED else "none"
    return chosen(
        answer,
        {truth},
        usual=usual.text,
        forced=forced.text,
        token=forced.written[min(place, len(forced.written) - 1)].text,
        place=place + 1,
        earlier=max(earlier),
        later=max(later, default=0.0),
    )


def mark_at_the_end(situation: Situation, answer: Answer) -> Verdict:
    """Whether the translation with the forced token ends as a question."""
    text = situation.translation.text
    truth = "question" if text.endswith("?") else "stop" if text.endswith(".") else "none"
    forced = situation.translation.written[0]
    return chosen(answer, {truth}, text=text, usual=situation.usual.text, token=forced.text)


def inverted(usual: list[str], words: list[str]) -> bool:
    """Whether a word that usually follows the first words now stands directly before them.

    So German orders a question, and a sentence that begins with another part than the subject.
    """
    fronts = [[usual[at], *usual[:at]] for at in range(1, len(usual))]
    return any(words[at : at + len(front)] == front for front in fronts for at in range(len(words)))


def verb_first(situation: Situation, _: Answer) -> Verdict:
    """One token is forced, and the model itself puts the verb in front of the subject."""
    usual, forced = situation.usual.text, situation.translation.text
    values: Values = {"usual": usual, "forced": forced, "count": len(situation.forced)}
    if not situation.forced:
        return Verdict(right=False, outcome="none", values=values)
    if len(situation.forced) > 1:
        return Verdict(right=False, outcome="too-many", values=values)
    if usual == forced:
        return Verdict(right=False, outcome="unchanged", values=values)
    right = inverted(word_list(usual), word_list(forced))
    return Verdict(right=right, outcome="right" if right else "same-order", values=values)


@dataclass(frozen=True)
class NothingToLeak:
    """Different sentences in one batch, for which a missing padding mask changes nothing."""

    least: int

    def __call__(self, situation: Situation, _: Answer) -> Verdict:
        texts = texts_of(situation)
        if len({*texts}) < self.least:
            return Verdict(right=False, outcome="few", values={"count": len({*texts}), "least": self.least})
        report = bug_of(situation.key, texts, "padding")
        lengths = batch_of(situation.key, texts).source_real.sum(axis=1)
        leaked = max(float(report.leaked[kind].max()) for kind in ("encoder", "cross"))
        values: Values = {"leaked": leaked, "lengths": ", ".join(map(str, lengths))}
        right = leaked < CHANGED
        return Verdict(right=right, outcome="right" if right else "leaks", values=values)


@dataclass(frozen=True)
class HiddenMistake:
    """A mistake with much weight on masked keys, and yet the usual translation."""

    least: float

    def __call__(self, situation: Situation, _: Answer) -> Verdict:
        texts, row, name = texts_of(situation), row_of(situation), situation.choices.get("bug", "fill")
        right, wrong = (bug_of(situation.key, texts, bug) for bug in ("", name))
        leaked = max(float(shares[row]) for shares in wrong.leaked.values())
        values: Values = {
            "sentence": texts[row],
            "leaked": leaked,
            "least": self.least,
            "correct": right.texts[row],
            "wrong": wrong.texts[row],
        }
        same = right.texts[row] == wrong.texts[row]
        outcome = "noticed" if not same else "right" if leaked >= self.least else "no-leak"
        return Verdict(right=outcome == "right", outcome=outcome, values=values)


def batch(*texts: str) -> dict[str, str]:
    return {f"batch_en_{number}": text for number, text in enumerate(texts, start=1)}


def on_masks(tab: str, **more: str) -> dict[str, str]:
    return {
        "checkpoint": "everyday-en-de",
        "text": BATCHES["en"][0],
        "mask_tab": tab,
        "sentence": "1",
        **batch(*BATCHES["en"]),
        **more,
    }


def on_steps(text: str, **more: str) -> dict[str, str]:
    return {"checkpoint": "everyday-en-de", "text": text, "steps_view": "greedy", "steps_kind": "decoder", **more}


NUMBER = ("right", "too-low", "too-high")

LESSON = Lesson(
    name="masks-and-decoding",
    steps=(
        Step(
            name="padding",
            page="masks",
            choices=on_masks("right"),
            answer=Number(0, 100, 1),
            check=padding_share,
            outcomes=NUMBER,
            target="set_batch",
        ),
        Step(
            name="right-mask",
            page="masks",
            choices=on_masks("right", mask_kind="decoder"),
            answer=OneOf(("zero", "little", "much")),
            check=weight_on_masked,
            target="stage_weights",
        ),
        Step(
            name="tiny-fill",
            page="masks",
            choices=on_masks("bugs", bug="fill", mask_kind="decoder"),
            answer=Number(0, 100, 1),
            check=leak_of_fill,
            outcomes=NUMBER,
            target="bug_fill",
        ),
        Step(
            name="alone-or-together",
            page="masks",
            choices=on_masks("bugs", bug="padding", mask_kind="encoder"),
            answer=OneOf(("same", "changed")),
            check=depends_on_batch,
            target="bug_padding",
        ),
        Step(
            name="read-so-far",
            page="steps",
            choices=on_steps(GARDEN, step="3"),
            answer=Number(1, 10, 1),
            check=keys_of_step,
            outcomes=NUMBER,
            target="stepper",
        ),
        Step(
            name="no-future",
            page="masks",
            choices=on_masks("bugs", bug="inverted", mask_kind="decoder", sentence="3"),
            answer=OneOf(("no", "yes")),
            check=effect_of_future,
            target="bug_inverted",
        ),
        Step(
            name="forced-word",
            page="steps",
            choices=on_steps(CAR, forced=KAUFTE),
            answer=OneOf(("none", "later", "all")),
            check=changed_rows,
            target="stepper",
        ),
        Step(
            name="question-mark",
            page="steps",
            choices=on_steps(GARDEN, forced=IST),
            answer=OneOf(("question", "stop", "none")),
            check=mark_at_the_end,
            target="stepper",
        ),
        Step(
            name="puzzle-verb-first",
            page="steps",
            choices=on_steps(TIME),
            answer=Action(),
            check=verb_first,
            outcomes=("right", "none", "too-many", "unchanged", "same-order"),
            target="stepper",
            puzzle=True,
        ),
        Step(
            name="puzzle-no-leak",
            page="masks",
            choices=on_masks("bugs", bug="padding", mask_kind="encoder"),
            answer=Action(),
            check=NothingToLeak(least=2),
            outcomes=("right", "few", "leaks"),
            target="set_masks",
            puzzle=True,
            offers=(
                batch("I am tired.", "Where is the station?", "Open the door.", "The cat is black."),
                batch("Where is the station?", "The dog sleeps.", "Open the door.", "Close the window."),
            ),
        ),
        Step(
            name="puzzle-hidden",
            page="masks",
            choices=on_masks("bugs", bug="fill", mask_kind="decoder"),
            answer=Action(),
            check=HiddenMistake(least=0.1),
            outcomes=("right", "noticed", "no-leak"),
            target="bug",
            puzzle=True,
        ),
    ),
)
