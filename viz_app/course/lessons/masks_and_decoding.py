"""Lesson 4: masks and decoding. What a mask excludes, what leaks without it, and what a forced word changes."""

import numpy as np

from model.analysis.mask_bugs import mask_bug
from model.analysis.padded_batch import padded_batch
from model.inference.result import Result
from viz_app.content.examples import BATCHES
from viz_app.course.lesson import Answer, Values, Verdict, chosen, estimated
from viz_app.course.lesson_file import read_lesson
from viz_app.course.situation import Situation, whole_number
from viz_app.course.words import word_list
from viz_app.services.analyses import analysis_of

__all__ = ["LESSON"]

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
    real = analysis_of(padded_batch, situation.key, texts_of(situation)).source_real  # (B, S)
    own, longest = int(real[row_of(situation)].sum()), real.shape[1]
    share = 1 - own / longest
    return estimated(answer, 100 * share, within=8, share=share, own=own, longest=longest, padding=longest - own)


def weight_on_masked(situation: Situation, answer: Answer) -> Verdict:
    leaked = analysis_of(mask_bug, situation.key, texts_of(situation)).leaked
    most = max(float(shares[row_of(situation)]) for shares in leaked.values())
    truth = "zero" if most < 1e-9 else "little" if most < 0.1 else "much"
    return chosen(answer, {truth}, leaked=most)


def leak_of_fill(situation: Situation, answer: Answer) -> Verdict:
    """The share of the decoder's weight on masked keys if they are filled with 1e-12, in percent."""
    row = row_of(situation)
    right, wrong = (analysis_of(mask_bug, situation.key, texts_of(situation), name) for name in ("", "fill"))
    shares = {kind: float(found[row]) for kind, found in wrong.leaked.items()}
    return estimated(
        answer, 100 * shares["decoder"], within=10, **shares, correct=right.texts[row], wrong=wrong.texts[row]
    )


def depends_on_batch(situation: Situation, answer: Answer) -> Verdict:
    """Whether the translation of a sentence changes in a batch without the padding mask."""
    row = row_of(situation)
    right, wrong = (analysis_of(mask_bug, situation.key, texts_of(situation), name) for name in ("", "padding"))
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
        found = analysis_of(mask_bug, situation.key, texts_of(situation), bug).effect_of_future
        effects[name] = 0.0 if found is None else float(found[row_of(situation)])
    return chosen(answer, {"no" if effects["right_mask"] < CHANGED else "yes"}, **effects)


def keys_of_step(situation: Situation, answer: Answer) -> Verdict:
    """How many tokens the decoder may attend to at one step in its self-attention."""
    run = situation.translation
    step = min(whole_number(situation, "step", 1), len(run.written))
    keys = int(run.allowed("decoder")[0, step - 1].sum())
    read = " ".join(token.text for token in run.read[:step])
    return estimated(answer, keys, within=0, keys=keys, read=read, written=run.written[step - 1].text)


def differences(one: Result, other: Result) -> list[float]:
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


def nothing_to_leak(situation: Situation, _: Answer, *, least: int) -> Verdict:
    """Different sentences in one batch, for which a missing padding mask changes nothing."""
    texts = texts_of(situation)
    if len({*texts}) < least:
        return Verdict(right=False, outcome="few", values={"count": len({*texts}), "least": least})
    report = analysis_of(mask_bug, situation.key, texts, "padding")
    lengths = analysis_of(padded_batch, situation.key, texts).source_real.sum(axis=1)
    leaked = max(float(report.leaked[kind].max()) for kind in ("encoder", "cross"))
    values: Values = {"leaked": leaked, "lengths": ", ".join(map(str, lengths))}
    right = leaked < CHANGED
    return Verdict(right=right, outcome="right" if right else "leaks", values=values)


def hidden_mistake(situation: Situation, _: Answer, *, least: float) -> Verdict:
    """A mistake with much weight on masked keys, and yet the usual translation."""
    texts, row, name = texts_of(situation), row_of(situation), situation.choices.get("bug", "fill")
    right, wrong = (analysis_of(mask_bug, situation.key, texts, bug) for bug in ("", name))
    leaked = max(float(shares[row]) for shares in wrong.leaked.values())
    values: Values = {
        "sentence": texts[row],
        "leaked": leaked,
        "least": least,
        "correct": right.texts[row],
        "wrong": wrong.texts[row],
    }
    same = right.texts[row] == wrong.texts[row]
    outcome = "noticed" if not same else "right" if leaked >= least else "no-leak"
    return Verdict(right=outcome == "right", outcome=outcome, values=values)


LESSON = read_lesson(
    "masks-and-decoding",
    {
        "padding": padding_share,
        "right-mask": weight_on_masked,
        "tiny-fill": leak_of_fill,
        "alone-or-together": depends_on_batch,
        "read-so-far": keys_of_step,
        "no-future": effect_of_future,
        "forced-word": changed_rows,
        "question-mark": mark_at_the_end,
        "puzzle-verb-first": verb_first,
        "puzzle-no-leak": nothing_to_leak,
        "puzzle-hidden": hidden_mistake,
    },
)
