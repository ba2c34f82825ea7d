"""Greedy search, and the loop that it shares with sampling: one token per step in every sentence."""

from collections.abc import Callable, Mapping

import torch
from torch import Tensor

from model.decoding.decoder_state import NOTHING_FORCED, DecoderState
from model.decoding.search import Search
from model.network.protocols import Writes
from model.text.vocab import Specials

__all__ = ["greedy", "write_one_by_one"]


@torch.inference_mode()
def greedy(
    model: Writes,
    source: Tensor,
    *,
    specials: Specials,
    forced: Mapping[int, int] = NOTHING_FORCED,
    limit: int | None = None,
    prompt_length: int = 0,
) -> Search:
    """Write the most probable token at each step.

    Args:
        model: In evaluation mode.
        source: Token ids (B, S), padded.
        specials: The ids that start, end or never appear.
        forced: Position → token that is written there, whatever its probability, in every sentence of the batch.
        limit: The most tokens to write; by default `length_limit`. Forced tokens are written beyond it.
        prompt_length: How many of the first forced tokens are a prompt; see `Hypothesis.log_prob`.

    Returns:
        One hypothesis per sentence.
    """
    decoder = DecoderState(model, source, specials=specials, forced=forced, limit=limit, prompt_length=prompt_length)
    return (yield from write_one_by_one(decoder, specials.bos, lambda scores: scores.argmax(dim=-1).tolist()))


def write_one_by_one(decoder: DecoderState, bos: int, choose: Callable[[Tensor], list[int]]) -> Search:
    """Write one token per step in every sentence.

    Args:
        decoder: At its start.
        bos: The first token that the decoder reads.
        choose: From scores (B, V), see `DecoderState.advance`, to one token for each sentence.

    Returns:
        One hypothesis per sentence.
    """
    hypotheses = [decoder.start for _ in decoder.limits]
    tokens = [bos for _ in decoder.limits]
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
