"""Decoding: from a source to target ids, one step at a time, over a key/value cache.

Each search is a generator: it yields a `Step` for every pass through the decoder and returns its hypotheses.
Greedy search and sampling are here, beam search in `beam.py`; `finish` runs any of them to its end. Token ids only;
knows nothing of text. Whatever trace is active records the real passes.
"""

import itertools
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, TypeVar

import torch
from torch import Tensor

from model.network.translator import Translator
from model.text.vocab import Specials

__all__ = [
    "NOTHING_FORCED",
    "Branch",
    "DecoderState",
    "Fate",
    "Hypothesis",
    "Search",
    "Step",
    "filter_log_probs",
    "finish",
    "forced_beginning",
    "greedy",
    "length_limit",
    "sample",
]

CANDIDATES = 10
NOTHING_FORCED: Mapping[int, int] = {}
Search = Generator["Step", None, list["Hypothesis"]]
Result = TypeVar("Result")
Fate = Literal["kept", "ended", "cut", "pruned"]  # cut: stopped by the length limit


@dataclass(frozen=True, kw_only=True)
class Branch:
    """A continuation that beam search weighed in one pass. The kept ones, in order, are the rows of the next pass."""

    sentence: int
    row: int  # of the prefix that it continues
    token: int
    log_prob: float  # of the whole hypothesis
    fate: Fate


@dataclass(frozen=True, kw_only=True)
class Step:
    """What the decoder offered in one pass to each batch row R.

    The log-probabilities are the model's own, over the whole vocabulary, banned ids included. What is derived from them
    is computed when it is asked for: a translation that nobody looks into need not pay for it.
    """

    distribution: Tensor  # (R, V), natural logarithms
    branches: tuple[Branch, ...] = ()  # of beam search

    @cached_property
    def _best(self) -> tuple[Tensor, Tensor]:
        values, ids = self.distribution.topk(min(CANDIDATES, self.distribution.size(-1)))
        return values.cpu(), ids.cpu()

    @property
    def ids(self) -> Tensor:
        """The best candidates, best first, (R, N)."""
        return self._best[1]

    @property
    def log_probs(self) -> Tensor:
        """Of the best candidates, (R, N)."""
        return self._best[0]

    @cached_property
    def entropy(self) -> Tensor:
        """How undecided the model was, (R,), in nats."""
        return torch.special.entr(self.distribution.exp()).sum(dim=-1).cpu()


@dataclass(frozen=True, kw_only=True)
class Hypothesis:
    """One translation; the tuples have one entry a written token, `</s>` included where it was reached."""

    ids: tuple[int, ...] = ()
    log_probs: tuple[float, ...] = ()  # natural logarithm, the model's own; 0 of `Specials.first`
    rows: tuple[int, ...] = ()  # the batch row that computed the token in each pass
    finished: bool = False  # ended by itself, not by the length limit
    prompt_length: int = 0  # how many tokens at the start are those of a prompt, which no search chose

    @property
    def log_prob(self) -> float:
        """Of all tokens after the prompt."""
        return sum(self.log_probs[self.prompt_length :])

    def score(self, length_penalty: float) -> float:
        """Rank by log p / length^penalty: 0 favours short texts, 1 ranks by the mean per token.

        A prompt counts neither in the sum nor in the length.
        """
        return self.log_prob / max(len(self.ids) - self.prompt_length, 1) ** length_penalty

    def extended(self, *, token: int, log_prob: float, row: int, finished: bool) -> "Hypothesis":
        return Hypothesis(
            ids=(*self.ids, token),
            log_probs=(*self.log_probs, log_prob),
            rows=(*self.rows, row),
            finished=finished,
            prompt_length=self.prompt_length,
        )


def length_limit(source_length: int, max_length: int) -> int:
    """How many tokens a translation may have: enough for any honest one, too few for an endless repetition."""
    return min(max_length, source_length * 3 // 2 + 8)


def filter_log_probs(log_probs: Tensor, *, temperature: float, top_k: int, top_p: float) -> Tensor:
    """Leave only what sampling may choose from; everything else becomes minus infinity.

    Args:
        log_probs: (R, V).
        temperature: Above 0; below 1 sharpens, above 1 flattens.
        top_k: Keep the k best; 0 keeps all.
        top_p: Keep the fewest best tokens that hold this share (nucleus sampling, Holtzman et al. 2020, section 3.1);
            1 keeps all.

    Returns:
        (R, V), normalized.
    """
    kept = (log_probs / temperature).log_softmax(dim=-1)
    if top_k:
        worst = kept.topk(min(top_k, kept.size(-1))).values[:, -1:]
        kept = kept.masked_fill(kept < worst, float("-inf")).log_softmax(dim=-1)
    if top_p >= 1:  # nothing to leave out; a sum of all shares may reach 1 before its last terms
        return kept
    ordered, order = kept.sort(dim=-1, descending=True)
    before = ordered.exp().cumsum(dim=-1) - ordered.exp()  # the share of all better tokens; 0 for the best
    outside = torch.zeros_like(kept, dtype=torch.bool).scatter(-1, order, before >= top_p)
    return kept.masked_fill(outside, float("-inf")).log_softmax(dim=-1)


class DecoderState:
    """The model with the state that a search moves forward."""

    def __init__(
        self,
        model: Translator,
        source: Tensor,
        specials: Specials,
        forced: Mapping[int, int] = NOTHING_FORCED,
        limit: int | None = None,
        prompt_length: int = 0,
    ) -> None:
        self.model = model
        self.start = Hypothesis(prompt_length=prompt_length)
        self.memory, mask = model.encode(source)
        # Attention without a mask is twice as fast, and a single sentence has no padding.
        self.mask = None if bool(mask.all()) else mask
        self.cache: Any = model.start_cache()  # each architecture has its own
        self.length = 0  # tokens that the search has read
        self.first = specials.first
        self.end_ids = {specials.eos, *specials.more_ends}
        self.last_forced = max(forced, default=-1)
        self.banned = torch.tensor(specials.banned, dtype=torch.long, device=self.memory.device)
        self.forced = forced
        lengths, room = (source != model.pad_id).sum(dim=1).tolist(), model.config.max_length
        # What is forced is written to its end, as far as there are positions.
        forced_to = min(self.last_forced + 1, room)
        self.limits = [max(min(limit, room) if limit else length_limit(n, room), forced_to) for n in lengths]
        beginning = forced_beginning(model, specials, forced)[: max(self.limits)]
        self.ahead = self.read_ahead(beginning, specials.bos)

    def advance(self, tokens: Sequence[int]) -> tuple[Tensor, Step]:
        """One pass: the newest token of each row in, (R, V) log-probabilities out, minus infinity where not allowed."""
        forced, place = self.forced.get(self.length), self.length
        if place < self.ahead.size(1):
            log_probs = self.ahead[:, place]
        else:
            log_probs = self.read([[token] for token in tokens])[:, 0]  # (R, V)
        self.length += 1
        step = Step(distribution=log_probs)
        if forced is not None:
            return only(forced, log_probs, log_probs[:, forced]), step
        if self.first is not None and place == 0:
            return only(self.first, log_probs, 0.0), step
        return log_probs.index_fill(1, self.banned, float("-inf")), step

    def read(self, tokens: Sequence[Sequence[int]]) -> Tensor:
        """One pass of the decoder over tokens (R, T): log-probabilities of the token after each, (R, T, V)."""
        ids = torch.tensor(tokens, device=self.memory.device)
        states = self.model.decode(ids, self.memory, self.mask, cache=self.cache)  # (R, T, D)
        return self.model.project(states).float().log_softmax(dim=-1)

    def read_ahead(self, beginning: Sequence[int], bos: int) -> Tensor:
        """Read all but the last token of a forced beginning in one pass, (R, N, V); without a beginning N is 0."""
        if not beginning:
            return self.memory.new_empty(len(self.limits), 0, 0)
        return self.read([[bos, *beginning[:-1]] for _ in self.limits])

    def ends(self, token: int) -> bool:
        """Whether a token that the latest pass wrote ends the text; no forced token before the last one does."""
        return token in self.end_ids and self.length > self.last_forced

    def select(self, rows: Sequence[int], *, same_source: bool) -> None:
        index = torch.tensor(rows, device=self.memory.device)
        self.cache.select(index, same_source=same_source)
        if self.length < self.ahead.size(1):  # else all of it has been read
            self.ahead = self.ahead[index]
        if not same_source:
            self.memory = self.memory[index]
            self.mask = None if self.mask is None else self.mask[index]


def forced_beginning(model: Translator, specials: Specials, forced: Mapping[int, int]) -> list[int]:
    """The forced tokens without a gap from the first one on, where the model reads them in one pass."""
    if not model.reads_ahead or specials.first is not None:
        return []
    places = itertools.takewhile(forced.__contains__, itertools.count())
    return [forced[place] for place in places]


def only(token: int, log_probs: Tensor, value: Tensor | float) -> Tensor:
    """(R, V) log-probabilities in which nothing else may be written, and this token has the given ones, (R,)."""
    allowed = torch.full_like(log_probs, float("-inf"))
    allowed[:, token] = value
    return allowed


@torch.inference_mode()
def greedy(
    model: Translator,
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
        specials: Where to begin, where to end, what never to write.
        forced: Position → token that is written there whatever its probability; in every sentence of the batch.
        limit: The most tokens to write; by default what `length_limit` says. What is forced is written all the same.
        prompt_length: How many of the first forced tokens are a prompt; see `Hypothesis.log_prob`.

    Returns:
        One hypothesis a sentence.
    """
    decoder = DecoderState(model, source, specials, forced, limit, prompt_length)
    return (yield from _walk(decoder, specials, lambda log_probs: log_probs.argmax(dim=-1).tolist()))


@torch.inference_mode()
def sample(
    model: Translator,
    source: Tensor,
    *,
    specials: Specials,
    seed: int,
    temperature: float = 1.0,
    top_k: int = 0,
    top_p: float = 1.0,
    forced: Mapping[int, int] = NOTHING_FORCED,
    limit: int | None = None,
    prompt_length: int = 0,
) -> Search:
    """Draw each token at random; see `filter_log_probs` and `greedy` for the settings.

    The same seed draws the same translation, whatever other sentences are in the batch.

    Returns:
        One hypothesis a sentence, with the model's own log-probabilities, not the tempered ones.
    """
    decoder = DecoderState(model, source, specials, forced, limit, prompt_length)
    dice = [torch.Generator().manual_seed(seed) for _ in range(source.size(0))]

    def draw(log_probs: Tensor) -> list[int]:
        chances = filter_log_probs(log_probs, temperature=temperature, top_k=top_k, top_p=top_p).exp().cpu()
        return [int(torch.multinomial(row, 1, generator=die)) for row, die in zip(chances, dice, strict=True)]

    return (yield from _walk(decoder, specials, draw))


def _walk(decoder: DecoderState, specials: Specials, choose: Callable[[Tensor], list[int]]) -> Search:
    """Write one token a step in every sentence, chosen from (B, V) log-probabilities."""
    hypotheses = [decoder.start for _ in decoder.limits]
    tokens = [specials.bos for _ in decoder.limits]
    for length in range(1, max(decoder.limits) + 1):
        log_probs, step = decoder.advance(tokens)
        yield step
        tokens = choose(log_probs)
        for row, token in enumerate(tokens):
            if not hypotheses[row].finished and length <= decoder.limits[row]:
                log_prob, ended = float(log_probs[row, token]), decoder.ends(token)
                hypotheses[row] = hypotheses[row].extended(token=token, log_prob=log_prob, row=row, finished=ended)
        if all(h.finished or length >= limit for h, limit in zip(hypotheses, decoder.limits, strict=True)):
            break
    return hypotheses


def finish(search: Generator[Step, None, Result], *, keep_steps: bool = True) -> tuple[list[Step], Result]:
    """Run a search to its end: its steps, which hold a distribution each, and what it returned."""
    steps: list[Step] = []
    while True:
        try:
            step = next(search)
        except StopIteration as stop:
            return steps, stop.value
        if keep_steps:
            steps.append(step)
