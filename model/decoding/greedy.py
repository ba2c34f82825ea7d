"""Greedy search, and the loop that it shares with sampling: one token per step in every sentence."""

from collections.abc import Callable

import torch
from torch import Tensor

from model.decoding.decoder_state import DecoderState, SearchInput
from model.decoding.search import Search
from model.network.protocols import Writes

__all__ = ["greedy", "write_one_by_one"]


@torch.inference_mode()
def greedy(model: Writes, start: SearchInput) -> Search:
    """Write the most probable token at each step.

    Args:
        model: In evaluation mode.
        start: The input of the search.

    Returns:
        One hypothesis per sentence.
    """
    return (yield from write_one_by_one(DecoderState(model, start), lambda scores: scores.argmax(dim=-1).tolist()))


def write_one_by_one(decoder: DecoderState, choose: Callable[[Tensor], list[int]]) -> Search:
    """Write one token per step in every sentence.

    Args:
        decoder: At its start.
        choose: From scores (B, V), see `DecoderState.advance`, to one token for each sentence.

    Returns:
        One hypothesis per sentence.
    """
    hypotheses = [decoder.empty for _ in decoder.limits]
    tokens = [decoder.bos for _ in decoder.limits]
    for length in range(1, max(decoder.limits) + 1):
        scores, step = decoder.advance(tokens)
        yield step
        given = decoder.forced.get(length - 1)  # no token is drawn there, so a prompt does not change a sample
        tokens = choose(scores) if given is None else [given for _ in tokens]
        for row, token in enumerate(tokens):
            if not hypotheses[row].finished and length <= decoder.limits[row]:
                log_prob, ended = step.log_prob(row, token), decoder.ends(token)
                hypotheses[row] = hypotheses[row].extended(
                    token=token, log_prob=log_prob, score=log_prob, row=row, finished=ended
                )
        if all(h.finished or length >= limit for h, limit in zip(hypotheses, decoder.limits, strict=True)):
            break
    return hypotheses
