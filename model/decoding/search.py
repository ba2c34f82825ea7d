"""What every search is made of: its steps and hypotheses, the decoder that it moves forward, and greedy search."""

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import count, groupby, takewhile
from typing import Literal, NamedTuple, TypeVar

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from model.config.section import ConfigError
from model.network.protocols import Writes
from model.text.vocab import OURS, Specials, TextRules
from model.trace import active_trace

__all__ = [
    *(
        "NOTHING_FORCED",
        "Compared",
        "Continuation",
        "DecoderState",
        "Fate",
        "Hypothesis",
        "Search",
        "SearchInput",
        "Step",
        "finish",
    ),
    *("forced_prefix", "greedy", "greedy_ids", "length_limit", "without_padding", "write_one_by_one"),
]

NOTHING_FORCED: Mapping[int, int] = {}
NUM_CANDIDATES = 10
Search = Generator["Step", None, list["Hypothesis"]]
Result = TypeVar("Result")
Fate = Literal["kept", "ended", "cut", "pruned"]  # cut: stopped by the length limit


@dataclass(frozen=True, kw_only=True)
class Step:
    """The distributions of one pass of the decoder, one for each batch row R.

    The log-probabilities are the model's own, over the whole vocabulary, with banned ids and before its rules. The
    properties are computed at their first use, so a translation without a viewer costs nothing extra.
    """

    distribution: Tensor  # (R, V), natural logarithms
    fixed: bool = False  # the model chose nothing: each text has this token, see `Specials.first`
    # By beam search: the sentences in their order, and of each the best first. The kept ones are the next rows.
    compared: tuple["Compared", ...] = ()

    def log_probs_of(self, rows: Tensor, tokens: Tensor) -> Tensor:
        """The log-probabilities of tokens of the pass, each in its row; 0 where the model chose nothing.

        Args:
            rows: Of any shape.
            tokens: Of the same shape.
        """
        found = self.distribution[rows, tokens]
        return torch.zeros_like(found) if self.fixed else found

    @cached_property
    def _best(self) -> tuple[Tensor, Tensor]:
        values, ids = self.distribution.topk(min(NUM_CANDIDATES, self.distribution.size(-1)))
        return values.cpu(), ids.cpu()

    @property
    def ids(self) -> Tensor:
        """The ten best candidates, best first, (R, N)."""
        return self._best[1]

    @property
    def log_probs(self) -> Tensor:
        """The log-probabilities of these candidates, (R, N)."""
        return self._best[0]

    @cached_property
    def entropy(self) -> Tensor:
        """The entropy of each distribution, (R,), in nats: how uncertain the model was."""
        return torch.special.entr(self.distribution.exp()).sum(dim=-1).cpu()


@dataclass(frozen=True, kw_only=True)
class Hypothesis:
    """One translation. Each tuple has one entry per written token, and one for `</s>` where the model reached it."""

    ids: tuple[int, ...] = ()
    log_probs: tuple[float, ...] = ()  # natural logarithms of the model's own probabilities; 0 for `Specials.first`
    total: float = 0.0  # the sum of these after the prompt, with the changes of the model's rules; for beam search
    rows: tuple[int, ...] = ()  # the batch row that computed the token in each pass
    finished: bool = False  # it ended by itself, not at the length limit
    prompt_length: int = 0  # how many of the first tokens are a prompt, which no search chose

    @property
    def log_prob(self) -> float:
        """The log-probability of all tokens after the prompt."""
        return sum(self.log_probs[self.prompt_length :])

    @property
    def written(self) -> tuple[int, ...]:
        """The ids without the end token."""
        return self.ids[:-1] if self.finished else self.ids

    def score(self, length_penalty: float) -> float:
        """`total` / length^penalty, for ranking. 0 favours short texts; 1 ranks by the mean per token.

        A prompt counts neither in the sum nor in the length.
        """
        return self.total / max(len(self.ids) - self.prompt_length, 1) ** length_penalty


class Continuation(NamedTuple):
    """A hypothesis with one more token. Beam search compares many, and extends few."""

    prefix: Hypothesis
    row: int  # the batch row that computed the token
    token: int
    log_prob: float  # the model's own
    score: float  # the log-probability with the changes of the model's rules
    finished: bool  # the token ends the text

    def extended(self) -> Hypothesis:
        """The longer hypothesis."""
        prefix = self.prefix
        return Hypothesis(
            ids=(*prefix.ids, self.token),
            log_probs=(*prefix.log_probs, self.log_prob),
            total=prefix.total + self.score if len(prefix.ids) >= prefix.prompt_length else 0.0,
            rows=(*prefix.rows, self.row),
            finished=self.finished,
            prompt_length=prefix.prompt_length,
        )


Compared = tuple[int, Continuation, Fate]  # a sentence, a continuation of it, and the fate of that


def finish(search: Generator[Step, None, Result], *, keep_steps: bool = True) -> tuple[list[Step], Result]:
    """Run a search to its end.

    Args:
        search: A search that has not started.
        keep_steps: Keep the steps. Each holds a whole distribution, so a caller who needs only the result saves memory.

    Returns:
        The steps, and the result of the search.
    """
    steps: list[Step] = []
    while True:
        try:
            step = next(search)
        except StopIteration as stop:
            return steps, stop.value
        if keep_steps:
            steps.append(step)


@dataclass(frozen=True, kw_only=True)
class SearchInput:
    """The input of a search over a batch of sources."""

    sources: Sequence[Sequence[int]]  # the token ids of each source
    specials: Specials = OURS  # the ids that start, end or never appear
    forced: Mapping[int, int] = field(default_factory=dict)  # position → token that every sentence has there
    limit: int | None = None  # the most tokens to write; by default `length_limit`. Forced ones are written beyond it
    prompt_length: int = 0  # how many of the first forced tokens are a prompt; see `Hypothesis.log_prob`
    dropped: int = 0  # tokens of the text that did not fit into the model's positions


class RuledRows:
    """What each row of a search has written, and the rules of a model that it obeys: those for its own source."""

    def __init__(self, rules: Sequence[TextRules]) -> None:
        """Start with one row for each source.

        Args:
            rules: Of each source.
        """
        self.rules = rules
        self.written = torch.empty(len(rules), 0, dtype=torch.long)  # (R, T)

    def append(self, tokens: Sequence[int], device: torch.device) -> None:
        """Add the token that each row reads next."""
        newest = torch.tensor(tokens, device=device)[:, None]
        self.written = torch.cat([self.written.to(device), newest], dim=1)

    def select(self, rows: Tensor) -> None:
        """Take these rows for the next pass."""
        self.written = self.written[rows]

    def scores(self, scores: Tensor, sources: Sequence[int], banned: Tensor) -> Tensor:
        """The scores (R, V) after the rules of each row's source, and without the banned tokens.

        Raises:
            ConfigError: no token is left.
        """
        parts, first = [], 0
        for source, rows in groupby(sources):  # the rows of a source are neighbours
            part = slice(first, first + len(list(rows)))
            parts.append(self.rules[source](self.written[part], scores[part]))
            first = part.stop
        changed = torch.cat(parts).index_fill(1, banned, float("-inf"))
        if bool((changed.amax(dim=1) == float("-inf")).any()):
            raise ConfigError(
                "The generation settings of this model allow no token after {n} tokens. Change generation_config.json.",
                n=self.written.size(1),
            )
        return changed


class DecoderState:
    """A model that is searched, with everything that changes from pass to pass."""

    def __init__(self, model: Writes, start: SearchInput, *, normalized: bool = False) -> None:
        """Encode the sources and read the forced prefix.

        Args:
            model: In evaluation mode.
            start: The input of the search.
            normalized: Whether the model's rules change log-probabilities or logits. It is the same for most rules.
        """
        self.model, self.forced, specials = model, start.forced, start.specials
        self.empty = Hypothesis(prompt_length=start.prompt_length)
        ids = [torch.tensor(source, device=model.device) for source in start.sources]
        source = pad_sequence(ids, batch_first=True, padding_value=model.pad_id)  # (B, S)
        self.memory, mask = model.encode(source)
        # Attention without a mask is twice as fast, and a single sentence has no padding.
        self.mask = None if bool(mask.all()) else mask
        self.cache = model.start_cache()
        self.sources = list(range(len(source)))  # of each row
        self.held = self.sources  # the source of each row of the memory
        self.length = 0  # how many tokens the search has read
        self.bos, self.first = specials.bos, specials.first
        self.eos, self.end_ids = specials.eos, {specials.eos, *specials.more_ends}
        self.last_forced = max(self.forced, default=-1)
        self.banned = torch.tensor(specials.banned, dtype=torch.long, device=self.memory.device)
        lengths = (source != model.pad_id).sum(dim=1).tolist()
        max_length = model.config.max_length
        forced_length = min(self.last_forced + 1, max_length)
        usual = [length_limit(length, max_length, fewest=specials.fewest) for length in lengths]
        self.limits = [max(min(start.limit or most, max_length), forced_length) for most in usual]
        self.normalized = normalized
        self.ruled: RuledRows | None = None
        if specials.rules:
            self.ruled = RuledRows(
                [
                    specials.rules.for_text(ids, given=start.prompt_length + 1, limit=most, device=self.memory.device)
                    for ids, most in zip(without_padding(source, model.pad_id), self.limits, strict=True)
                ]
            )
        self.ahead = self.read_ahead(forced_prefix(model, start)[: max(self.limits)])

    def advance(self, tokens: Sequence[int]) -> tuple[Tensor, Step]:
        """One pass of the decoder.

        Args:
            tokens: The newest token of each row.

        Returns:
            Scores (R, V) of the next token: the model's own log-probabilities, or its logits with the changes of its
            rules; minus infinity for each token that must not be written. Where they are not numbers, the text ends.
            And the step, with the model's own distribution.

        Raises:
            ConfigError: the rules leave no token.
        """
        forced, position = self.forced.get(self.length), self.length
        if self.ruled:
            self.ruled.append(tokens, self.memory.device)
        if position < self.ahead.size(1):
            logits = log_probs = self.ahead[:, position]
        else:
            logits = self.read_logits([[token] for token in tokens])[:, 0]  # (R, V)
            log_probs = logits.log_softmax(dim=-1)
        self.length += 1
        step = Step(distribution=log_probs)
        if forced is not None:
            return only(forced, log_probs, log_probs[:, forced].nan_to_num()), step
        if self.first is not None and position == 0:
            return only(self.first, log_probs, 0.0), Step(distribution=log_probs, fixed=True)
        if self.ruled:
            scores = log_probs if self.normalized else logits
            return self.ending_unknown(self.ruled.scores(scores, self.sources, self.banned)), step
        return self.ending_unknown(log_probs.index_fill(1, self.banned, float("-inf"))), step

    def ending_unknown(self, scores: Tensor) -> Tensor:
        """Scores (R, V) with the end of the text as the only choice in each row that has NaN."""
        unknown = scores.amax(dim=-1, keepdim=True).isnan()  # the largest of a row with NaN is NaN
        return torch.where(unknown, only(self.eos, scores, 0.0), scores) if bool(unknown.any()) else scores

    def read_logits(self, tokens: Sequence[Sequence[int]]) -> Tensor:
        """One pass over tokens (R, T): the logits of the token after each, (R, T, V)."""
        ids = torch.tensor(tokens, device=self.memory.device)
        return self.model.decode(ids, self.memory, self.mask, cache=self.cache).float()

    def read_ahead(self, prefix: Sequence[int]) -> Tensor:
        """Read a forced prefix, without its last token, in one pass: log-probabilities (R, N, V), without one N = 0."""
        if not prefix:
            return self.memory.new_empty(len(self.limits), 0, 0)
        return self.read_logits([[self.bos, *prefix[:-1]] for _ in self.limits]).log_softmax(dim=-1)

    def ends(self, token: int) -> bool:
        """Whether this token of the latest pass ends the text.

        A forced token ends it only at the last forced place, and a token of the prompt never does.
        """
        return token in self.end_ids and self.length > max(self.last_forced, self.empty.prompt_length)

    def select(self, rows: Sequence[int]) -> None:
        """Take these rows of the batch for the next pass.

        Args:
            rows: Of the latest pass; a row may appear more than once.
        """
        device = self.memory.device
        index = torch.tensor(rows, device=device)
        self.sources = [self.sources[row] for row in rows]
        before, self.held = self.held, self.sources
        # A trace expects that each row has its own keys.
        if self.cache.shares_memory and active_trace() is None:
            self.held = once_each(self.sources)
        kept = None
        if self.held != before:
            places = {source: place for place, source in enumerate(before)}
            kept = torch.tensor([places[source] for source in self.held], device=device)
            self.memory = self.memory[kept]
            self.mask = None if self.mask is None else self.mask[kept]
        self.cache.select(index, sources=kept)
        if self.ruled:
            self.ruled.select(index)
        if self.length < self.ahead.size(1):  # part of the prefix is not yet used
            self.ahead = self.ahead[index]


def once_each(sources: Sequence[int]) -> list[int]:
    """Each source once if all have the same number of neighbouring rows, else the source of each row."""
    each = list(dict.fromkeys(sources))
    rows = len(sources) // len(each)
    return each if list(sources) == [source for source in each for _ in range(rows)] else list(sources)


def forced_prefix(model: Writes, start: SearchInput) -> list[int]:
    """The forced tokens from the first position up to the first gap, for a model that can read them in one pass."""
    if not model.reads_ahead or start.specials.first is not None:
        return []
    positions = takewhile(start.forced.__contains__, count())
    return [start.forced[position] for position in positions]


def length_limit(source_length: int, max_length: int, *, fewest: int = 0) -> int:
    """How many tokens a translation may have: enough for a real translation, too few for endless repetition.

    Args:
        source_length: Tokens of the source.
        max_length: The positions of the model.
        fewest: Tokens that each text of the model has at least.
    """
    return min(max_length, max(source_length * 3 // 2, fewest) + 8)


def without_padding(source: Tensor, pad_id: int) -> list[list[int]]:
    """The ids of each row of a source (B, S). A single row has no padding, whatever its ids."""
    if len(source) == 1:
        return source.tolist()
    return [row[row != pad_id].tolist() for row in source]


def only(token: int, log_probs: Tensor, value: Tensor | float) -> Tensor:
    """Log-probabilities (R, V) that allow one token only, with the given value, (R,) or a number."""
    allowed = torch.full_like(log_probs, float("-inf"))
    allowed[:, token] = value
    return allowed


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
        chosen = torch.tensor(tokens, device=scores.device)  # (B,)
        log_probs = step.log_probs_of(torch.arange(len(tokens), device=scores.device), chosen).tolist()
        for row, (token, log_prob) in enumerate(zip(tokens, log_probs, strict=True)):
            if not hypotheses[row].finished and length <= decoder.limits[row]:
                ended = decoder.ends(token)
                hypotheses[row] = Continuation(hypotheses[row], row, token, log_prob, log_prob, ended).extended()
        if all(h.finished or length >= limit for h, limit in zip(hypotheses, decoder.limits, strict=True)):
            break
    return hypotheses


def greedy_ids(model: Writes, sources: Sequence[Sequence[int]], *, specials: Specials = OURS) -> list[tuple[int, ...]]:
    """The ids that greedy search writes for each source, with `</s>` where the model reached it.

    Args:
        model: In evaluation mode.
        sources: The token ids of each source.
        specials: The ids that start, end or never appear.
    """
    if not sources:
        return []
    start = SearchInput(sources=sources, specials=specials)
    _, hypotheses = finish(greedy(model, start), keep_steps=False)
    return [hypothesis.ids for hypothesis in hypotheses]
