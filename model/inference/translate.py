"""Text in, text and trace out: the facade that the app and the command line use."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from model.checkpoint import Checkpoint
from model.config import SearchConfig
from model.decoding.beam import beam
from model.decoding.decode import NOTHING_FORCED, Hypothesis, Search, Specials, Step, finish, greedy, sample
from model.inference.padding import padded_for
from model.kinds import KINDS
from model.network.translators import Translator
from model.text.tokenizers import TokenizerPair
from model.text.vocab import BOS_ID, EOS_ID, PAD_ID, SPECIAL_TOKENS, UNK_ID
from model.trace import Edit, Trace, hook_name, tracing

__all__ = [
    "GREEDY",
    "SPECIALS",
    "AttentionMaps",
    "Candidate",
    "Recording",
    "Token",
    "Translation",
    "best_hypotheses",
    "record_translation",
    "source_ids",
    "start_search",
    "translate",
    "translate_lines",
    "translated_ids",
    "written_ids",
]

GREEDY = SearchConfig()
SPECIALS = Specials(bos=BOS_ID, eos=EOS_ID, banned=(PAD_ID, UNK_ID, BOS_ID))
FloatArray = NDArray[np.float32]


@dataclass(frozen=True)
class Candidate:
    """A token that the decoder considered, with the model's own probability of it."""

    token: str
    probability: float
    id: int


@dataclass(frozen=True, kw_only=True)
class Token:
    """A token as shown to a person. `word` numbers the words of the text, −1 for special tokens."""

    text: str
    id: int
    word: int
    probability: float = math.nan  # of written tokens only
    candidates: tuple[Candidate, ...] = ()  # the best that could have been written instead, best first
    entropy: float = math.nan  # of the distribution it was chosen from, in nats; of written tokens only

    @property
    def special(self) -> bool:
        return self.id < len(SPECIAL_TOKENS) and self.id != UNK_ID


# Of each kind that the model has, the attention weights that made a translation, (L, H, queries, keys); rows sum to 1.
AttentionMaps = Mapping[str, FloatArray]


@dataclass(frozen=True, kw_only=True)
class Translation:
    """A translation with all that the model did for it.

    Decoder position t read `read[t]`, the token before, and wrote `written[t]`; so decoder queries and keys have one
    length T, and the source, `</s>` included, has length S.
    """

    text: str
    source: tuple[Token, ...]  # S
    read: tuple[Token, ...]  # T: <s> and all but the last written
    written: tuple[Token, ...]  # T: ends with </s> unless the length limit cut it off
    maps: AttentionMaps
    finished: bool
    dropped: int  # source tokens that did not fit into the model's positions

    @property
    def log_prob(self) -> float:
        """Natural logarithm of the model's own probability of all that is written."""
        return sum(math.log(max(token.probability, 1e-30)) for token in self.written)

    def tokens_of(self, kind: str) -> tuple[tuple[Token, ...], tuple[Token, ...]]:
        """The tokens that label the queries and the keys of a kind of attention, one of `KINDS`."""
        tokens = {"source": self.source, "read": self.read, "written": self.written}
        return tokens[KINDS[kind].queries], tokens[KINDS[kind].keys]


def source_ids(tokenizers: TokenizerPair, text: str, max_length: int) -> tuple[list[int], int]:
    """Ids of a source with `</s>`, cut to what the model has positions for, and how many were cut off."""
    ids = tokenizers.source.encode(text).ids
    kept = ids[: max_length - 1]
    return [*kept, EOS_ID], len(ids) - len(kept)


def start_search(
    model: Translator, ids: Sequence[Sequence[int]], search: SearchConfig, forced: Mapping[int, int] = NOTHING_FORCED
) -> Search:
    """The search that the settings name, over source ids, not yet begun; see `finish`."""
    source = padded_for(model, ids)
    if search.method == "sample":
        return sample(
            model,
            source,
            specials=SPECIALS,
            seed=search.seed,
            temperature=search.temperature,
            top_k=search.top_k,
            top_p=search.top_p,
            forced=forced,
        )
    if search.method == "beam":
        size, penalty = search.beam_size, search.length_penalty
        return beam(model, source, specials=SPECIALS, size=size, length_penalty=penalty, forced=forced)
    return greedy(model, source, specials=SPECIALS, forced=forced)


def translate_lines(
    model: Translator,
    tokenizers: TokenizerPair,
    lines: Sequence[str],
    *,
    search: SearchConfig = GREEDY,
    batch_size: int = 64,
) -> list[str]:
    """Translate many texts, one for one and in their order; an empty text stays empty."""
    found = best_hypotheses(model, tokenizers, lines, search=search, batch_size=batch_size)
    return ["" if best is None else tokenizers.target.decode(written_ids(best)) for best in found]


def best_hypotheses(
    model: Translator,
    tokenizers: TokenizerPair,
    lines: Sequence[str],
    *,
    search: SearchConfig = GREEDY,
    batch_size: int = 64,
) -> list[Hypothesis | None]:
    """What a search finds for many texts, one for one and in their order; None for an empty text."""
    ids = [source_ids(tokenizers, line, model.config.max_length)[0] for line in lines]
    todo = sorted((i for i, line in enumerate(lines) if line.strip()), key=lambda i: len(ids[i]))
    done: list[Hypothesis | None] = [None] * len(lines)
    for start in range(0, len(todo), batch_size):
        chosen = todo[start : start + batch_size]
        _, hypotheses = finish(start_search(model, [ids[i] for i in chosen], search), keep_steps=False)
        for i, hypothesis in zip(chosen, hypotheses, strict=True):
            done[i] = hypothesis
    return done


def written_ids(hypothesis: Hypothesis) -> tuple[int, ...]:
    return hypothesis.ids[:-1] if hypothesis.finished else hypothesis.ids


def translated_ids(model: Translator, sources: Sequence[Sequence[int]]) -> list[tuple[int, ...]]:
    """What greedy search writes for each source, `</s>` included where it was reached."""
    if not sources:
        return []
    _, hypotheses = finish(start_search(model, sources, GREEDY), keep_steps=False)
    return [hypothesis.ids for hypothesis in hypotheses]


@dataclass(frozen=True, kw_only=True)
class Recording:
    """What passed chosen hook points while one hypothesis was written."""

    trace: Trace
    rows: tuple[int, ...]  # see `Hypothesis`

    def array(self, name: str) -> FloatArray:
        """All passes of a hook point as one array without a batch axis, queries (or keys) on the last axis but one.

        Raises:
            KeyError: it was not recorded.
        """
        return np.asarray(self.trace.joined(name, self.rows).numpy(), dtype=np.float32)


def translate(
    checkpoint: Checkpoint,
    text: str,
    *,
    search: SearchConfig = GREEDY,
    forced: Mapping[int, int] = NOTHING_FORCED,
    edits: Mapping[str, Edit] | None = None,
) -> Translation:
    """Translate one text and keep every attention map of the very passes that wrote it.

    Args:
        checkpoint: A loaded checkpoint; never changed.
        text: Anything, even nothing.
        search: Greedy, beam or sampling, with its settings.
        forced: Position → target id that is written there whatever its probability.
        edits: See `tracing`.
    """
    return record_translation(checkpoint, text, search=search, forced=forced, edits=edits)[0]


def record_translation(
    checkpoint: Checkpoint,
    text: str,
    *,
    record: Sequence[str] = (),
    search: SearchConfig = GREEDY,
    forced: Mapping[int, int] = NOTHING_FORCED,
    edits: Mapping[str, Edit] | None = None,
) -> tuple[Translation, Recording]:
    """As `translate`, and keep what passes other hook points too.

    Args:
        checkpoint: A loaded checkpoint; never changed.
        text: Anything, even nothing.
        record: Patterns of the names of hook points, beside those of the weights.
        search: Greedy, beam or sampling, with its settings.
        forced: Position → target id that is written there whatever its probability.
        edits: See `tracing`.
    """
    model, tokenizers = checkpoint.model, checkpoint.tokenizers
    ids, dropped = source_ids(tokenizers, text, model.config.max_length)
    with tracing(record=("*.weights", *record), edits=edits) as trace:
        steps, hypotheses = finish(start_search(model, [ids], search, forced))
    hypothesis = hypotheses[0]
    encoding = tokenizers.source.encode(text)
    words = (*encoding.words[: len(ids) - 1], -1)
    shown = (*encoding.tokens[: len(ids) - 1], SPECIAL_TOKENS[EOS_ID])
    written = written_tokens(tokenizers, hypothesis, steps)
    begin = Token(text=SPECIAL_TOKENS[BOS_ID], id=BOS_ID, word=-1)
    translation = Translation(
        text=tokenizers.target.decode(written_ids(hypothesis)),
        source=tuple(Token(text=t, id=i, word=w) for t, i, w in zip(shown, ids, words, strict=True)),
        read=(begin, *written[:-1]),
        written=written,
        maps=attention_maps(trace, model, hypothesis),
        finished=hypothesis.finished,
        dropped=dropped,
    )
    return translation, Recording(trace=trace, rows=hypothesis.rows)


def written_tokens(tokenizers: TokenizerPair, hypothesis: Hypothesis, steps: Sequence[Step]) -> tuple[Token, ...]:
    ids = hypothesis.ids
    texts, words = tokenizers.target.tokens(ids), tokenizers.target.words(written_ids(hypothesis))
    tokens = []
    for t, (step, row) in enumerate(zip(steps, hypothesis.rows, strict=False)):
        best = step.ids[row].tolist()
        offered = zip(tokenizers.target.tokens(best), step.log_probs[row].exp().tolist(), best, strict=True)
        tokens.append(
            Token(
                text=texts[t],
                id=ids[t],
                word=words[t] if t < len(words) else -1,
                probability=math.exp(hypothesis.log_probs[t]),
                candidates=tuple(Candidate(*offer) for offer in offered),
                entropy=float(step.entropy[row]),
            )
        )
    return tuple(tokens)


def attention_maps(trace: Trace, model: Translator, hypothesis: Hypothesis) -> AttentionMaps:
    """Collect the recorded weights of one hypothesis of a search over one sentence, out of the trace."""

    def stack(kind: str, rows: Sequence[int]) -> FloatArray:
        layers = model.config.layers_of(kind)
        first = trace.take(hook_name(kind, 0, "weights"), rows)
        maps = np.empty((layers, *first.shape), dtype=np.float32)
        maps[0] = first
        for layer in range(1, layers):
            maps[layer] = trace.take(hook_name(kind, layer, "weights"), rows)
        return maps

    rows = {"encoder": (0,), "decoder": hypothesis.rows}
    return {kind: stack(kind, rows[KINDS[kind].stack]) for kind in model.config.kinds}
