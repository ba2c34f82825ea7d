"""Beam search: several hypotheses of a translation grow side by side. Each step reports all that were compared."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import torch
from torch import Tensor

from model.config.search import SearchConfig
from model.decoding.search import Branch, DecoderState, Fate, Hypothesis, Search, SearchInput, Step
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
        branches: list[Branch] = []
        kept: dict[int, list[Hypothesis]] = {}
        first_row = 0
        for sentence, prefixes in growing.items():
            compared = continuations(prefixes, first_row, scores, size, decoder, step)
            first_row += len(prefixes)
            fates = decide_fates(compared, size=size, limit=decoder.limits[sentence])
            done[sentence] += [h for h, fate in zip(compared, fates, strict=True) if fate in ("ended", "cut")]
            going = [h for h, fate in zip(compared, fates, strict=True) if fate == "kept"]
            if going and stops(search, going[0], done[sentence], limit=decoder.limits[sentence]):
                going, fates = [], ["pruned" if fate == "kept" else fate for fate in fates]
            kept[sentence] = going
            branches += [make_branch(sentence, h, fate) for h, fate in zip(compared, fates, strict=True)]
        yield replace(step, branches=tuple(branches))
        before, growing = growing, {sentence: prefixes for sentence, prefixes in kept.items() if prefixes}
        if growing:
            rows = [hypothesis.rows[-1] for prefixes in growing.values() for hypothesis in prefixes]
            decoder.select(rows, same_source=sentence_per_row(growing) == sentence_per_row(before))
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
    prefixes: Sequence[Hypothesis], first_row: int, scores: Tensor, size: int, decoder: DecoderState, step: Step
) -> list[Hypothesis]:
    """The best continuations of one sentence's hypotheses, best first: enough that `size` of them can go on.

    Args:
        prefixes: The hypotheses, in the order of their rows.
        first_row: The batch row of the first one.
        scores: Of all rows, (R, V).
        size: Width of the beam.
        decoder: After the pass.
        step: The pass.
    """
    rows = scores[first_row : first_row + len(prefixes)]  # (P, V)
    totals = torch.tensor([hypothesis.total for hypothesis in prefixes], device=rows.device)[:, None] + rows  # (P, V)
    best = totals.flatten().topk(min((1 + len(decoder.end_ids)) * size, totals.numel()))
    longer = []
    for total, index in zip(best.values.tolist(), best.indices.tolist(), strict=True):
        if total == float("-inf"):
            break  # the rest is masked
        prefix, token = divmod(index, totals.size(-1))
        row = first_row + prefix
        longer.append(
            prefixes[prefix].extended(
                token=token,
                log_prob=step.log_prob(row, token),
                score=float(rows[prefix, token]),
                row=row,
                finished=decoder.ends(token),
            )
        )
    return longer


def decide_fates(compared: Sequence[Hypothesis], *, size: int, limit: int) -> list[Fate]:
    """Decide which continuations of one sentence end, go on, are cut or are pruned.

    A hypothesis that ends counts if it is among the `size` best. Of the others, the `size` best go on.

    Args:
        compared: The continuations, best first.
        size: Width of the beam.
        limit: How many tokens a hypothesis may have.
    """
    others: Fate = "cut" if len(compared[0].ids) >= limit else "kept"
    fates: list[Fate] = []
    places_left = size
    for rank, hypothesis in enumerate(compared):
        if hypothesis.finished:
            fates.append("ended" if rank < size else "pruned")
        else:
            fates.append(others if places_left else "pruned")
            places_left = max(places_left - 1, 0)
    return fates


def make_branch(sentence: int, hypothesis: Hypothesis, fate: Fate) -> Branch:
    """The newest token of a hypothesis as a branch of the search."""
    row, token = hypothesis.rows[-1], hypothesis.ids[-1]
    return Branch(
        sentence=sentence, row=row, token=token, log_prob=hypothesis.log_prob, total=hypothesis.total, fate=fate
    )


def sentence_per_row(growing: Mapping[int, Sequence[Hypothesis]]) -> list[int]:
    """The sentence of each batch row."""
    return [sentence for sentence, prefixes in growing.items() for _ in prefixes]
