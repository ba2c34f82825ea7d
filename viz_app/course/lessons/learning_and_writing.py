"""Lesson 8: how a model learns, how it writes, and how many numbers it has."""

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from model.analysis.learning import SnapshotResult
from model.config.paths import CHECKPOINTS
from model.config.search import SearchConfig
from model.inference.result import Result
from model.inference.run import Run
from model.inference.searching import require_writing
from model.inference.tokens import Candidate
from viz_app.course.lesson import Answer, Values, Verdict, chosen, estimated
from viz_app.course.lesson_file import read_lesson
from viz_app.course.situation import Situation, run_of, search_of
from viz_app.services.listing import CheckpointKey, list_one
from viz_app.services.loading import config_of, parameter_table, translator
from viz_app.services.results import result_of
from viz_app.services.snapshots import snapshot_result_of

__all__ = ["LESSON"]

BERT, GPT = "tiny-bert-en", "tiny-gpt-en"
MASK = "[MASK]"
FloatArray = NDArray[np.float32]
STEPS = (0, 250, 500, 1000, 2000, 5000, 10000)  # of the snapshots of multi30k-en-de
BEAM, HOT, COOL, SEEDS = SearchConfig(method="beam"), 2.0, 0.5, range(10)
MILLION = 1e6
GPT2 = {"vocabulary": 50_257, "positions": 1_024, "width": 768, "layers": 12}


@dataclass(frozen=True, kw_only=True)
class Seen:
    """What a model looks at when it chooses one word, and the head that looks most at the token before.

    Attributes:
        guess: Its most probable token.
        keys: How many tokens have a weight above 0 in some head.
        later: Whether a token after the word is among them.
        place: The layer and the head, from 1.
        weight: The mean weight of this head on the token before each query.
    """

    guess: Candidate
    keys: int
    later: bool
    place: tuple[int, int]
    weight: float


def seen_by_bert(text: str) -> Seen | None:
    """What BERT looks at to fill the first gap of a text; None if there is no gap."""
    read = result_of(key_of(BERT), Run(text=text))
    gap = next((place for place, token in enumerate(read.source) if token.candidates), None)
    return None if gap is None else seen(read, "encoder", gap, read.source[gap].candidates[0])


def seen_by_gpt(text: str) -> Seen | None:
    """What GPT looks at to continue the part of a text before the first gap; None if this part is empty."""
    before = text.partition(MASK)[0].strip()
    if not before:
        return None
    run = result_of(key_of(GPT), Run(text=before))
    return seen(run, "decoder", run.prompt_length, run.written[run.prompt_length].candidates[0])


def key_of(name: str) -> CheckpointKey:
    return list_one(CHECKPOINTS / name).key


def seen(run: Result, kind: str, query: int, guess: Candidate) -> Seen:
    maps = run.maps[kind]
    looked_at: NDArray[np.bool_] = np.any(maps[:, :, query] > 0, axis=(0, 1))  # (S,)
    back: FloatArray = np.diagonal(maps, offset=-1, axis1=2, axis2=3).mean(axis=-1)  # (L, H)
    layer, head = np.unravel_index(int(back.argmax()), back.shape)
    return Seen(
        guess=guess,
        keys=int(looked_at.sum()),
        later=bool(looked_at[query + 1 :].any()),
        place=(int(layer) + 1, int(head) + 1),
        weight=float(back.max()),
    )


def result_after(situation: Situation, step: int) -> SnapshotResult:
    """What the snapshot after a step of the training run does with the text."""
    found = snapshot_result_of(situation.key, situation.text, step)
    assert isinstance(found, SnapshotResult), found.message
    return found


def nats_per_token(translation: Result) -> float:
    return -translation.log_prob / len(translation.written)


def before_training(situation: Situation, answer: Answer) -> Verdict:
    """Whether the untrained model repeats one word in more than half of its text."""
    result = result_after(situation, 0)
    words = result.text.split()
    often = max(Counter(words).values(), default=0)
    truth = "nothing" if not words else "repeats" if often > len(words) / 2 else "mixed"
    return chosen(answer, {truth}, text=result.text, often=often, words=len(words))


def loss_before_training(situation: Situation, answer: Answer) -> Verdict:
    loss, end = result_after(situation, 0).loss, nats_per_token(situation.usual)
    tokens = require_writing(translator(situation.key)).config.target_vocab_size
    return estimated(answer, loss, within=1.0, loss=loss, end=end, tokens=tokens, even=math.log(tokens))


def agreement(result: SnapshotResult, trained: Result) -> float:
    """The best head of the cross-attention: at how many rows its largest weight is where the trained model looks."""
    goal = trained.maps["cross"].mean(axis=(0, 1)).argmax(axis=-1)  # (T,)
    return float((result.maps["cross"].argmax(axis=-1) == goal).mean(axis=-1).max())


def weight_of_previous(result: SnapshotResult) -> float:
    """The best head of the encoder: its mean weight on the token before."""
    return float(np.diagonal(result.maps["encoder"], offset=-1, axis1=2, axis2=3).mean(axis=-1).max())


def first_step(sizes: Mapping[int, float]) -> int:
    """The first snapshot where a size is above the middle between its smallest and its largest value."""
    middle = (min(sizes.values()) + max(sizes.values())) / 2
    return next(step for step, size in sizes.items() if size > middle)


def which_comes_first(situation: Situation, answer: Answer) -> Verdict:
    results = {step: result_after(situation, step) for step in STEPS}
    align = first_step({step: agreement(result, situation.usual) for step, result in results.items()})
    previous = first_step({step: weight_of_previous(result) for step, result in results.items()})
    truth = "together" if align == previous else "alignment" if align < previous else "previous"
    return chosen(answer, {truth}, align=align, previous=previous)


def beam_and_greedy(situation: Situation) -> tuple[Result, Result]:
    beam = search_of(situation) if search_of(situation).method == "beam" else BEAM
    return result_of(situation.key, Run(text=situation.text, search=beam)), situation.usual


def compared(situation: Situation) -> Values:
    beam, greedy = beam_and_greedy(situation)
    return {
        "beam": beam.text,
        "greedy": greedy.text,
        "beam_loss": nats_per_token(beam),
        "greedy_loss": nats_per_token(greedy),
    }


def greedy_or_beam(situation: Situation, answer: Answer) -> Verdict:
    beam, greedy = beam_and_greedy(situation)
    better = nats_per_token(beam) < nats_per_token(greedy)
    truth = "same" if beam.text == greedy.text else "better" if better else "worse"
    return chosen(answer, {truth}, **compared(situation))


def sampled(situation: Situation, temperature: float) -> list[str]:
    """The texts of ten seeds at a temperature."""
    searches = (SearchConfig(method="sample", temperature=temperature, seed=seed) for seed in SEEDS)
    return [result_of(situation.key, Run(text=situation.text, search=search)).text for search in searches]


def hot_and_cool(situation: Situation, answer: Answer) -> Verdict:
    greedy = situation.usual.text
    hot, cool = (sampled(situation, temperature) for temperature in (HOT, COOL))
    count, cold = hot.count(greedy), cool.count(greedy)
    return estimated(answer, count, within=1, count=count, cold=cold, all=len(hot), example=hot[0])


def count_here(situation: Situation, answer: Answer) -> Verdict:
    """The sum of all parameters of an encoder-decoder with one shared matrix for its vocabulary."""
    table = parameter_table(situation.key)
    total = int(table["parameters"].sum())
    parts = {
        name: int(table.loc[table["module"].str.startswith(start), "parameters"].sum())
        for name, start in (
            ("vocabulary", "encoder.embedding"),
            ("encoder", "encoder.layers.0."),
            ("decoder", "decoder.layers.0."),
        )
    }
    layers = config_of(situation.key).model.num_encoder_layers
    return estimated(answer, total / MILLION, within=0.3, total=total, layers=layers, **parts)


def gpt2_parts() -> dict[str, int]:
    """The parameters of the small GPT-2, by part: its settings are all that the sum needs."""
    width = GPT2["width"]
    attention = width * 3 * width + 3 * width + width * width + width
    forward = width * 4 * width + 4 * width + 4 * width * width + width
    return {
        "vocabulary": GPT2["vocabulary"] * width,
        "positions": GPT2["positions"] * width,
        "layer": attention + forward + 2 * 2 * width,  # and two norms
        "norm": 2 * width,
    }


def count_gpt2(_: Situation, answer: Answer) -> Verdict:
    parts = gpt2_parts()
    total = parts["vocabulary"] + parts["positions"] + GPT2["layers"] * parts["layer"] + parts["norm"]
    return estimated(answer, total / MILLION, within=8, total=total, layers=GPT2["layers"], **parts)


def gpt_and_bert(situation: Situation, answer: Answer) -> Verdict:
    """Which of the two tiny models looks at the tokens after the word that it chooses."""
    bert, gpt = seen_by_bert(situation.text), seen_by_gpt(situation.text)
    if bert is None or gpt is None:
        return Verdict(right=False, outcome="no-gap")
    truth = {(True, False): "bert", (False, True): "gpt", (True, True): "both"}.get((bert.later, gpt.later), "none")
    values: Values = {}
    for name, one in (("bert", bert), ("gpt", gpt)):
        values |= {f"{name}_word": one.guess.token, f"{name}_sure": one.guess.probability, f"{name}_keys": one.keys}
        values |= {f"{name}_layer": one.place[0], f"{name}_head": one.place[1], f"{name}_back": one.weight}
    return chosen(answer, {truth}, **values)


def samples_like_greedy(situation: Situation, _: Answer) -> Verdict:
    search = search_of(situation)
    text = result_of(situation.key, run_of(situation)).text
    greedy = situation.usual.text
    outcome = "other-search" if search.method != "sample" else "right" if text == greedy else "differs"
    values: Values = {"text": text, "greedy": greedy, "temperature": search.temperature}
    return Verdict(right=outcome == "right", outcome=outcome, values=values)


def beam_differs(situation: Situation, _: Answer) -> Verdict:
    beam, greedy = beam_and_greedy(situation)
    outcome = (
        "other-search" if search_of(situation).method != "beam" else "same" if beam.text == greedy.text else "right"
    )
    return Verdict(right=outcome == "right", outcome=outcome, values=compared(situation))


def better_than_greedy(situation: Situation, _: Answer) -> Verdict:
    """A sampled translation that the model finds more likely than its greedy one."""
    run, greedy = result_of(situation.key, run_of(situation)), situation.usual
    if search_of(situation).method != "sample":
        return Verdict(right=False, outcome="other-search")
    better = run.log_prob > greedy.log_prob + 1e-3
    outcome = "right" if better else "same" if run.text == greedy.text else "less"
    values: Values = {"text": run.text, "greedy": greedy.text, "own": run.log_prob, "other": greedy.log_prob}
    return Verdict(right=better, outcome=outcome, values=values)


LESSON = read_lesson(
    "learning-and-writing",
    {
        "before-training": before_training,
        "first-loss": loss_before_training,
        "what-comes-first": which_comes_first,
        "greedy-or-beam": greedy_or_beam,
        "hot": hot_and_cool,
        "count-here": count_here,
        "count-gpt2": count_gpt2,
        "gpt-and-bert": gpt_and_bert,
        "puzzle-like-greedy": samples_like_greedy,
        "puzzle-beam": beam_differs,
        "puzzle-better": better_than_greedy,
    },
)
