"""The decoder with the state that every search moves forward: key/value cache, forced tokens, banned tokens, limits."""

import itertools
from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from model.decoding.search import Hypothesis, Step
from model.network.protocols import Writes
from model.text.vocab import Specials

__all__ = ["NOTHING_FORCED", "DecoderState", "forced_prefix", "length_limit"]

NOTHING_FORCED: Mapping[int, int] = {}


class DecoderState:
    """A model that is searched, with everything that changes from pass to pass."""

    def __init__(
        self,
        model: Writes,
        source: Tensor,
        *,
        specials: Specials,
        forced: Mapping[int, int] = NOTHING_FORCED,
        limit: int | None = None,
        prompt_length: int = 0,
    ) -> None:
        """Encode the source and read the forced prefix.

        Args:
            model: In evaluation mode.
            source: Token ids (B, S), padded.
            specials: The ids that start, end or never appear.
            forced: Position → token that is written there, in every sentence of the batch.
            limit: The most tokens to write; by default `length_limit`. Forced tokens are written beyond it.
            prompt_length: How many of the first forced tokens are a prompt.
        """
        self.model = model
        self.start = Hypothesis(prompt_length=prompt_length)
        self.memory, mask = model.encode(source)
        # Attention without a mask is twice as fast, and a single sentence has no padding.
        self.mask = None if bool(mask.all()) else mask
        self.cache = model.start_cache()
        self.length = 0  # how many tokens the search has read
        self.first = specials.first
        self.end_ids = {specials.eos, *specials.more_ends}
        self.last_forced = max(forced, default=-1)
        self.banned = torch.tensor(specials.banned, dtype=torch.long, device=self.memory.device)
        self.forced = forced
        lengths = (source != model.pad_id).sum(dim=1).tolist()
        max_length = model.config.max_length
        forced_length = min(self.last_forced + 1, max_length)
        self.limits = [
            max(min(limit, max_length) if limit else length_limit(length, max_length), forced_length)
            for length in lengths
        ]
        prefix = forced_prefix(model, specials, forced)[: max(self.limits)]
        self.ahead = self.read_ahead(prefix, specials.bos)

    def advance(self, tokens: Sequence[int]) -> tuple[Tensor, Step]:
        """One pass of the decoder.

        Args:
            tokens: The newest token of each row.

        Returns:
            Log-probabilities (R, V), minus infinity for each token that must not be written; and the step, with the
            model's own distribution.
        """
        forced, position = self.forced.get(self.length), self.length
        if position < self.ahead.size(1):
            log_probs = self.ahead[:, position]
        else:
            log_probs = self.read([[token] for token in tokens])[:, 0]  # (R, V)
        self.length += 1
        step = Step(distribution=log_probs)
        if forced is not None:
            return only(forced, log_probs, log_probs[:, forced]), step
        if self.first is not None and position == 0:
            return only(self.first, log_probs, 0.0), step
        return log_probs.index_fill(1, self.banned, float("-inf")), step

    def read(self, tokens: Sequence[Sequence[int]]) -> Tensor:
        """One pass over tokens (R, T): the log-probabilities of the token after each, (R, T, V)."""
        ids = torch.tensor(tokens, device=self.memory.device)
        return self.model.decode(ids, self.memory, self.mask, cache=self.cache).float().log_softmax(dim=-1)

    def read_ahead(self, prefix: Sequence[int], bos: int) -> Tensor:
        """Read a forced prefix, without its last token, in one pass: (R, N, V), or N = 0 without a prefix."""
        if not prefix:
            return self.memory.new_empty(len(self.limits), 0, 0)
        return self.read([[bos, *prefix[:-1]] for _ in self.limits])

    def ends(self, token: int) -> bool:
        """Whether this token of the latest pass ends the text. A forced token ends it only at the last forced place."""
        return token in self.end_ids and self.length > self.last_forced

    def select(self, rows: Sequence[int], *, same_source: bool) -> None:
        """Take these rows of the batch for the next pass.

        Args:
            rows: Of the latest pass; a row may appear more than once.
            same_source: Each row keeps its source sentence, so the encoder's output stays in place.
        """
        index = torch.tensor(rows, device=self.memory.device)
        self.cache.select(index, same_source=same_source)
        if self.length < self.ahead.size(1):  # part of the prefix is not yet used
            self.ahead = self.ahead[index]
        if not same_source:
            self.memory = self.memory[index]
            self.mask = None if self.mask is None else self.mask[index]


def forced_prefix(model: Writes, specials: Specials, forced: Mapping[int, int]) -> list[int]:
    """The forced tokens from the first position up to the first gap, for a model that can read them in one pass."""
    if not model.reads_ahead or specials.first is not None:
        return []
    positions = itertools.takewhile(forced.__contains__, itertools.count())
    return [forced[position] for position in positions]


def length_limit(source_length: int, max_length: int) -> int:
    """How many tokens a translation may have: enough for a real translation, too few for endless repetition."""
    return min(max_length, source_length * 3 // 2 + 8)


def only(token: int, log_probs: Tensor, value: Tensor | float) -> Tensor:
    """Log-probabilities (R, V) that allow one token only, with the given value, (R,) or a number."""
    allowed = torch.full_like(log_probs, float("-inf"))
    allowed[:, token] = value
    return allowed
