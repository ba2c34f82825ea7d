"""Lesson 1: why attention. One vector is not enough for a long sentence."""

from collections.abc import Mapping

import numpy as np

from model.checkpoints.checkpoint import CheckpointConfig
from model.inference.result import Result
from model.inference.run import Run
from model.inference.translate import record_translation
from viz_app.content.demonstrations import WITH_ATTENTION, WITHOUT_ATTENTION
from viz_app.course.lesson import Answer, Values, Verdict, chosen, estimated
from viz_app.course.lesson_file import read_lesson
from viz_app.course.situation import Situation
from viz_app.course.words import count_words, word_at, words_of
from viz_app.services.listing import CheckpointKey, shared_checkpoints
from viz_app.services.loading import config_of, translator
from viz_app.services.results import result_of

__all__ = ["LESSON"]

TRANSFORMER = "everyday-de-en"
SHORT = "Ein Hund rennt."
CLEAR = 0.5  # of a row's weight: the network looks at one token


def named(name: str) -> CheckpointKey:
    """The key of a bundled checkpoint."""
    return next(one.key for one in shared_checkpoints() if one.key.name == name)


def numbers_of_vector(key: CheckpointKey, text: str) -> int:
    """How many numbers the last states of both directions have together, when a recurrent encoder reads the text."""
    _, recording = record_translation(translator(key), text, record=("encoder.states",))
    return int(recording.array("encoder.states").shape[-1])  # (S, 2C)


def longer_vector(situation: Situation, answer: Answer) -> Verdict:
    short, long = (numbers_of_vector(situation.key, text) for text in (SHORT, situation.text))
    truth = "same" if short == long else "more" if long > short else "fewer"
    return chosen(answer, {truth}, short=short, long=long, tokens=len(situation.translation.source))


def words_for(key: CheckpointKey, text: str, word: str) -> list[str]:
    """The words that a network with attention writes while it looks most at a word of the source."""
    run = result_of(key, Run(text=text))
    best = run.maps["cross"][-1].mean(axis=0).argmax(axis=-1)  # (T,)
    rows = [row for row, index in enumerate(best) if word_at(run.source, int(index)) == word]
    written = dict.fromkeys(word_at(run.written, row).lower() for row in rows)
    return [one for one in written if words_of(one)]


def lost_word(situation: Situation, answer: Answer) -> Verdict:
    """Whether the network without attention leaves out a word that a network with attention writes for this token."""
    run = situation.translation
    index = int(float(str(answer)))
    word = word_at(run.source, index)
    judges = (WITH_ATTENTION, TRANSFORMER) if words_of(word) and not run.source[index].special else ()
    found = (words_for(named(name), situation.text, word) for name in judges)
    written = next(filter(None, found), [])
    missing = [one for one in written if one not in words_of(run.text)]
    outcome = "no-word" if not written else "right" if missing else "kept"
    values: Values = {"word": word, "written": ", ".join(missing or written), "translation": run.text}
    return Verdict(right=outcome == "right", outcome=outcome, values=values)


def shared_words(situation: Situation, answer: Answer) -> Verdict:
    """How many words of the Transformer's translation the network without attention writes."""
    wanted = words_of(result_of(named(TRANSFORMER), Run(text=situation.text)).text)
    plain, attention = (
        result_of(named(name), Run(text=situation.text)).text for name in (WITHOUT_ATTENTION, WITH_ATTENTION)
    )
    shared = {name: len(wanted & words_of(text)) for name, text in (("plain", plain), ("attention", attention))}
    back = (wanted & words_of(attention)) - words_of(plain)
    return estimated(answer, shared["plain"], within=2, **shared, all=len(wanted), back=", ".join(sorted(back)) or "–")


def measured_by_length(key: CheckpointKey) -> Mapping[str, float]:
    config = config_of(key)
    assert isinstance(config, CheckpointConfig)
    return config.bleu_by_length


def bleu_of_long(situation: Situation, answer: Answer) -> Verdict:
    """The BLEU of long sentences that was measured on the weights of the network without attention."""
    plain, attention = (list(measured_by_length(named(name)).values()) for name in (WITHOUT_ATTENTION, WITH_ATTENTION))
    lost = {
        name: 1 - figures[-1] / figures[0] for name, figures in (("plain_lost", plain), ("attention_lost", attention))
    }
    ends = {"plain_short": plain[0], "attention_short": attention[0], "attention_long": attention[-1]}
    return estimated(answer, plain[-1], within=4, plain_long=plain[-1], **ends, **lost)


def looks_at(situation: Situation, answer: Answer, *, written: str) -> Verdict:
    """The source token to which the network attends most while it writes this word."""
    run = situation.translation
    row = next(i for i, token in enumerate(run.written) if token.text == written)
    weights, index = run.maps["cross"][0, 0, row], int(float(str(answer)))
    best = int(weights.argmax())
    values: Values = {
        "token": run.source[best].text,
        "weight": float(weights[best]),
        "answer": run.source[index].text,
        "answer_weight": float(weights[index]),
    }
    right = index == best
    return Verdict(right=right, outcome="right" if right else "wrong", values=values)


def looks_at_stop(situation: Situation, answer: Answer) -> Verdict:
    """Where the network looks while it writes the last sentence mark."""
    run = situation.translation
    row = max(i for i, token in enumerate(run.written) if not token.special)
    weights = run.maps["cross"][0, 0, row]
    best = run.source[int(weights.argmax())]
    truth = "end" if best.special else "word" if words_of(best.text) else "stop"
    marks = [float(weight) for weight, token in zip(weights, run.source, strict=True) if token.text == "."]
    return chosen(
        answer,
        {truth},
        mark=run.written[row].text,
        token=best.text,
        weight=float(weights.max()),
        on_mark=sum(marks),
    )


def count_maps(situation: Situation, answer: Answer) -> Verdict:
    maps = situation.translation.maps
    layers, heads = next(iter(maps.values())).shape[:2]
    total = sum(one.shape[0] * one.shape[1] for one in maps.values())
    return estimated(answer, total, within=0, total=total, kinds=len(maps), layers=layers, heads=heads)


def same_as_beside(situation: Situation, _: Answer, *, words: int) -> Verdict:
    """A sentence of some length that both networks translate equally."""
    count = count_words(situation.text)
    if count < words:
        return Verdict(right=False, outcome="short", values={"count": count, "least": words})
    texts = [result_of(named(name), Run(text=situation.text)).text for name in (WITH_ATTENTION, WITHOUT_ATTENTION)]
    values: Values = {"attention": texts[0], "plain": texts[1], "count": count}
    right = texts[0] == texts[1]
    return Verdict(right=right, outcome="right" if right else "differs", values=values)


def loses_word(situation: Situation, _: Answer, *, most: int, letters: int) -> Verdict:
    """A short sentence: two networks with attention write a word that the network without attention does not write."""
    count = count_words(situation.text)
    if not 2 <= count <= most:
        return Verdict(right=False, outcome="length", values={"count": count, "most": most})
    plain, attention, transformer = (
        result_of(named(name), Run(text=situation.text)).text
        for name in (WITHOUT_ATTENTION, WITH_ATTENTION, TRANSFORMER)
    )
    agreed = {word for word in words_of(attention) & words_of(transformer) if len(word) >= letters}
    lost = sorted(agreed - words_of(plain))
    values: Values = {"plain": plain, "attention": attention, "transformer": transformer, "count": count}
    outcome = "right" if lost else "kept" if agreed else "disagree"
    return Verdict(right=bool(lost), outcome=outcome, values={**values, "lost": ", ".join(lost)})


def looks_back(situation: Situation, _: Answer, *, least: int) -> Verdict:
    """A sentence for which the network looks at one token, and later at another that stands some tokens before it."""
    run = situation.translation
    rows = clear_rows(run)
    jumps = [
        (first - second, i, j)
        for i, first in rows
        for j, second in rows
        if i < j and words_of(run.source[first].text) and words_of(run.source[second].text)
    ]
    if not jumps:
        return Verdict(right=False, outcome="unclear", values={"clear": CLEAR})
    back, i, j = max(jumps)
    values: Values = {"back": max(back, 0), "least": least, "first": word_at(run.written, i)}
    right = back >= least
    return Verdict(
        right=right, outcome="right" if right else "forward", values={**values, "second": word_at(run.written, j)}
    )


def clear_rows(run: Result) -> list[tuple[int, int]]:
    """The rows in which one source token has most of the weight, and this token."""
    weights = np.asarray(run.maps["cross"][0, 0])  # (T, S)
    return [(row, int(one.argmax())) for row, one in enumerate(weights) if one.max() >= CLEAR]


LESSON = read_lesson(
    "why-attention",
    {
        "one-vector": longer_vector,
        "lost-word": lost_word,
        "with-attention": shared_words,
        "by-length": bleu_of_long,
        "alignment": looks_at,
        "full-stop": looks_at_stop,
        "many-maps": count_maps,
        "puzzle-equal": same_as_beside,
        "puzzle-lost": loses_word,
        "puzzle-backwards": looks_back,
    },
)
