"""Beam search: several hypotheses of a translation grow side by side. Each step reports all that were compared."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate, repeat

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from model.config.search import SearchConfig
from model.decoding.search import Compared, Continuation, DecoderState, Fate, Hypothesis, Search, SearchInput, Step
from model.network.protocols import Writes

__all__ = ["beam"]


@torch.inference_mode()
def beam(model: Writes, start: SearchInput, search: SearchConfig) -> Search:
    """Keep the `beam_size` most probable hypotheses of each sentence, at least until as many have ended.

    Args:
        model: In evaluation mode.
        start: The input of the search.
        search: Of these settings, a `beam_size` of 1 is greedy search. `early_stopping` decides when to stop after
            `beam_size` hypotheses have ended, with the library's rules (`early_stopping` of `transformers`): "always",
            "unlikely" where the best other one would not be among them if it ended now, or "never" before its best
            possible score is too low.

    Returns:
        For each sentence, the hypothesis with the best score. It has ended, or the limit has cut it.
    """
    decoder, size = DecoderState(model, start, normalized=True), search.beam_size
    done: list[list[Hypothesis]] = [[] for _ in start.sources]
    # Sentence → its hypotheses that still grow. The rows of the next pass follow this order.
    growing = {sentence: [decoder.empty] for sentence in range(len(done))}
    while growing:
        newest = [h.ids[-1] if h.ids else decoder.bos for prefixes in growing.values() for h in prefixes]
        scores, step = decoder.advance(newest)
        compared: list[Compared] = []
        kept: dict[int, list[Hypothesis]] = {}
        found = continuations(list(growing.values()), scores, size, decoder, step)
        for sentence, longer in zip(growing, found, strict=True):
            limit = decoder.limits[sentence]
            fates = decide_fates(longer, size=size, cut=decoder.length >= limit)
            going = [c.extended() for c, fate in zip(longer, fates, strict=True) if fate == "kept"]
            done[sentence] += [c.extended() for c, fate in zip(longer, fates, strict=True) if fate in ("ended", "cut")]
            if going and stops(search, going[0], done[sentence], limit=limit):
                going, fates = [], ["pruned" if fate == "kept" else fate for fate in fates]
            if going:
                kept[sentence] = going
            compared += zip(repeat(sentence), longer, fates)
        yield replace(step, compared=tuple(compared))
        growing = kept
        if growing:
            decoder.select([hypothesis.rows[-1] for prefixes in growing.values() for hypothesis in prefixes])
    return [max(ended, key=lambda h: h.score(search.length_penalty)) for ended in done]


def stops(search: SearchConfig, best: Hypothesis, done: Sequence[Hypothesis], *, limit: int) -> bool:
    """Whether the search for one sentence stops, although some hypotheses could go on.

    Args:
        search: The settings.
        best: The best hypothesis that goes on.
        done: Those that have ended.
        limit: The most tokens, with a prompt.
    """
    size, penalty = search.beam_size, search.length_penalty
    if len(done) < size or search.early_stopping == "always":
        return len(done) >= size
    length = limit if search.early_stopping == "never" and penalty > 0 else len(best.ids)
    possible = best.total / max(length - best.prompt_length, 1) ** penalty
    return possible <= sorted((h.score(penalty) for h in done), reverse=True)[size - 1]


def continuations(
    growing: Sequence[Sequence[Hypothesis]], scores: Tensor, size: int, decoder: DecoderState, step: Step
) -> list[list[Continuation]]:
    """The best continuations of each sentence's hypotheses, best first: enough that `size` of them can go on.

    Args:
        growing: The hypotheses of each sentence, in the order of their rows.
        scores: Of all rows, (R, V).
        size: Width of the beam.
        decoder: After the pass.
        step: The pass.
    """
    most = (1 + len(decoder.end_ids)) * size
    # The best of a sentence are among the best of each of its rows.
    values, tokens = scores.topk(min(most, scores.size(-1)))  # (R, N)
    prefixes, width = [h for hypotheses in growing for h in hypotheses], values.size(-1)
    totals = torch.tensor([h.total for h in prefixes], device=values.device)[:, None] + values  # (R, N)
    by_sentence = pad_sequence(
        totals.split([len(hypotheses) for hypotheses in growing]), batch_first=True, padding_value=float("-inf")
    ).flatten(1)  # (B, P·N)
    best = by_sentence.topk(min(most, by_sentence.size(1)))  # (B, M)
    first_rows = torch.tensor([0, *accumulate(map(len, growing))][:-1], device=values.device)[:, None]
    # The padding of the last sentence points behind the last row.
    rows = (first_rows + best.indices // width).clamp(max=len(prefixes) - 1)  # (B, M)
    places = best.indices % width
    chosen = tokens[rows, places]
    columns = (best.values, rows, chosen, step.log_probs_of(rows, chosen), values[rows, places])
    return [
        [
            Continuation(prefixes[row], row, token, log_prob, score, decoder.ends(token))
            for total, row, token, log_prob, score in zip(*sentence, strict=True)
            if total > float("-inf")  # the rest is masked
        ]
        for sentence in zip(*(column.tolist() for column in columns), strict=True)
    ]


def decide_fates(compared: Sequence[Continuation], *, size: int, cut: bool) -> list[Fate]:
    """Decide which continuations of one sentence end, go on, are cut or are pruned.

    A hypothesis that ends counts if it is among the `size` best. Of the others, the `size` best go on.

    Args:
        compared: The continuations, best first.
        size: Width of the beam.
        cut: The sentence has as many tokens as it may have.
    """
    others: Fate = "cut" if cut else "kept"
    fates: list[Fate] = []
    places_left = size
    for rank, continuation in enumerate(compared):
        if continuation.finished:
            fates.append("ended" if rank < size else "pruned")
        else:
            fates.append(others if places_left else "pruned")
            places_left = max(places_left - 1, 0)
    return fates
