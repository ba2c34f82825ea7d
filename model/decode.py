"""Decoding: from a source to target ids, one step at a time, over a key/value cache.

Each search is a generator: it yields a `Step` for every pass through the decoder and returns the hypotheses it found.
`finish` runs one to its end. Token ids only; knows nothing of text. Whatever trace is active records the real passes.
"""

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import TypeVar

import torch
from torch import Tensor

from model.cache import DecoderCache
from model.transformer import Transformer

__all__ = ["Hypothesis", "Specials", "Step", "beam", "finish", "greedy", "length_limit"]

CANDIDATES = 10
Result = TypeVar("Result")


@dataclass(frozen=True, kw_only=True)
class Specials:
    """The ids that steer decoding."""

    bos: int
    eos: int
    banned: tuple[int, ...] = ()  # never written, whatever their probability


@dataclass(frozen=True)
class Step:
    """What the decoder offered in one pass: the best candidates of each batch row R, best first.

    The log-probabilities are the model's own, over the whole vocabulary, banned ids included.
    """

    ids: Tensor  # (R, N)
    log_probs: Tensor  # (R, N)


@dataclass(frozen=True, kw_only=True)
class Hypothesis:
    """One translation; the tuples have one entry a written token, `</s>` included where it was reached."""

    ids: tuple[int, ...] = ()
    log_probs: tuple[float, ...] = ()  # natural logarithm, the model's own
    rows: tuple[int, ...] = ()  # the batch row that computed the token in each pass
    finished: bool = False  # ended by itself, not by the length limit

    @property
    def log_prob(self) -> float:
        return sum(self.log_probs)

    def score(self, length_penalty: float) -> float:
        """Log p / length^penalty: 0 favours short translations, 1 ranks by the mean per token."""
        return self.log_prob / max(len(self.ids), 1) ** length_penalty

    def extended(self, *, token: int, log_prob: float, row: int, finished: bool) -> "Hypothesis":
        return Hypothesis(
            ids=(*self.ids, token),
            log_probs=(*self.log_probs, log_prob),
            rows=(*self.rows, row),
            finished=finished,
        )


def length_limit(source_length: int, max_length: int) -> int:
    """How many tokens a translation may have: enough for any honest one, too few for an endless repetition."""
    return min(max_length, source_length * 3 // 2 + 8)


class _Decoder:
    """The model with the state that a search moves forward."""

    def __init__(self, model: Transformer, source: Tensor, specials: Specials) -> None:
        self.model = model
        self.memory, self.mask = model.encode(source)
        self.cache = DecoderCache(model.config.num_decoder_layers)
        self.banned = list(specials.banned)
        self.limits = [length_limit(int(n), model.config.max_length) for n in (source != model.pad_id).sum(dim=1)]

    def advance(self, tokens: Sequence[int]) -> tuple[Tensor, Step]:
        """One pass: the newest token of each row in, (R, V) log-probabilities with banned ids at minus infinity out."""
        ids = torch.tensor(tokens, device=self.memory.device)[:, None]  # (R, 1)
        states = self.model.decode(ids, self.memory, self.mask, cache=self.cache)  # (R, 1, D)
        log_probs = self.model.project(states)[:, 0].float().log_softmax(dim=-1)  # (R, V)
        best = log_probs.topk(min(CANDIDATES, log_probs.size(-1)))
        step = Step(best.indices.cpu(), best.values.cpu())
        log_probs[:, self.banned] = float("-inf")
        return log_probs, step

    def select(self, rows: Sequence[int], *, same_source: bool) -> None:
        index = torch.tensor(rows, device=self.memory.device)
        self.cache.select(index, same_source=same_source)
        if not same_source:
            self.memory, self.mask = self.memory[index], self.mask[index]


@torch.inference_mode()
def greedy(model: Transformer, source: Tensor, *, specials: Specials) -> Generator[Step, None, list[Hypothesis]]:
    """Write the most probable token at each step.

    Args:
        model: In evaluation mode.
        source: Token ids (B, S), padded.
        specials: Where to begin, where to end, what never to write.

    Returns:
        One hypothesis a sentence.
    """
    decoder = _Decoder(model, source, specials)
    hypotheses = [Hypothesis() for _ in range(source.size(0))]
    tokens = [specials.bos] * source.size(0)
    for length in range(1, max(decoder.limits) + 1):
        log_probs, step = decoder.advance(tokens)
        yield step
        best = log_probs.max(dim=-1)
        tokens = best.indices.tolist()
        for row, (token, log_prob) in enumerate(zip(tokens, best.values.tolist(), strict=True)):
            hypothesis = hypotheses[row]
            if not hypothesis.finished and length <= decoder.limits[row]:
                ended = token == specials.eos
                hypotheses[row] = hypothesis.extended(token=token, log_prob=log_prob, row=row, finished=ended)
        if all(h.finished or length >= limit for h, limit in zip(hypotheses, decoder.limits, strict=True)):
            break
    return hypotheses


@torch.inference_mode()
def beam(
    model: Transformer, source: Tensor, *, specials: Specials, size: int, length_penalty: float = 1.0
) -> Generator[Step, None, list[Hypothesis]]:
    """Keep the `size` most probable prefixes of each sentence until as many have ended.

    Args:
        model: In evaluation mode.
        source: Token ids (B, S), padded.
        specials: Where to begin, where to end, what never to write.
        size: Width of the beam; 1 is greedy search.
        length_penalty: See `Hypothesis.score`.

    Returns:
        The best hypothesis of each sentence, ended ones first.
    """
    decoder = _Decoder(model, source, specials)
    done: list[list[Hypothesis]] = [[] for _ in range(source.size(0))]
    # The prefixes that are still growing, of the sentences that are not done; batch rows follow this order.
    growing = {sentence: [Hypothesis()] for sentence in range(source.size(0))}
    while growing:
        newest = [h.ids[-1] if h.ids else specials.bos for prefixes in growing.values() for h in prefixes]
        log_probs, step = decoder.advance(newest)
        yield step
        grown: dict[int, list[Hypothesis]] = {}
        first_row = 0
        for sentence, prefixes in growing.items():
            rows = range(first_row, first_row + len(prefixes))
            first_row = rows.stop
            kept = _extend(prefixes, rows, log_probs[rows.start : rows.stop], size, specials, done[sentence])
            if len(done[sentence]) >= size or not kept:
                continue
            if len(kept[0].ids) >= decoder.limits[sentence]:
                done[sentence] += kept
            else:
                grown[sentence] = kept
        if grown:
            moved = [h.rows[-1] for kept in grown.values() for h in kept]
            decoder.select(moved, same_source=sentence_of_rows(grown) == sentence_of_rows(growing))
        growing = grown
    return [max(found, key=lambda h: (h.finished, h.score(length_penalty))) for found in done]


def sentence_of_rows(prefixes: dict[int, list[Hypothesis]]) -> list[int]:
    return [sentence for sentence, kept in prefixes.items() for _ in kept]


def _extend(
    prefixes: list[Hypothesis],
    rows: range,
    log_probs: Tensor,
    size: int,
    specials: Specials,
    done: list[Hypothesis],
) -> list[Hypothesis]:
    """Extend one sentence's prefixes by their best tokens; ended ones go to `done`, the best others are returned."""
    totals = torch.tensor([h.log_prob for h in prefixes], device=log_probs.device)[:, None] + log_probs  # (K, V)
    vocabulary = totals.size(-1)
    best = totals.flatten().topk(min(2 * size, totals.numel())).indices.tolist()
    kept: list[Hypothesis] = []
    for rank, index in enumerate(best):
        which, token = divmod(index, vocabulary)
        ended = token == specials.eos
        if ended and rank >= size:
            continue
        log_prob = float(log_probs[which, token])
        if log_prob == float("-inf"):
            break  # only banned tokens are left
        extended = prefixes[which].extended(token=token, log_prob=log_prob, row=rows[which], finished=ended)
        (done if ended else kept).append(extended)
        if len(kept) == size:
            break
    return kept


def finish(search: Generator[Step, None, Result]) -> tuple[list[Step], Result]:
    """Run a search to its end: all its steps, and what it returned."""
    steps = []
    while True:
        try:
            steps.append(next(search))
        except StopIteration as stop:
            return steps, stop.value
