"""A run and its result. A `Run` says what to compute: a text and everything that decides the result.

A `Result` says what the model did, for every task: tokens, attention maps, and outcomes. An outcome is what a model
predicts in a text: the next token, the token in a gap, or the label, each with its rivals.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from model.config.kinds import KINDS
from model.config.search import GREEDY, SearchConfig
from model.config.section import ConfigError
from model.decoding.search import Hypothesis, Step
from model.interventions import Intervention
from model.network.protocols import Reads
from model.network.residual_stream import StackName
from model.text.encoding import Encoding, Tokenizer
from model.text.pair import Text, TextPair, paired, texts_of
from model.text.tokenizers import TokenizerPair
from model.trace import Trace, hook_name

__all__ = [
    *("UNTOUCHED", "Forced", "Run"),
    *("Candidate", "Token", "labelled", "mark", "parts_of", "source_tokens", "with_candidates", "written_tokens"),
    *("AttentionMaps", "BoolArray", "FloatArray", "Outcome", "RecordedArrays", "Recording", "Result"),
    *("attention_maps", "attention_masks", "outcome_of_token"),
]

FloatArray = NDArray[np.float32]
BoolArray = NDArray[np.bool_]
Forced = tuple[tuple[int, int], ...]  # (position, target id) pairs
UNTOUCHED = Intervention()
# Kind → the attention weights of a translation, (L, H, queries, keys); each row sums to 1.
AttentionMaps = Mapping[str, FloatArray]


@dataclass(frozen=True, kw_only=True)
class Run:
    """What a model computes. Together with a checkpoint it decides every number, so it is the key of a cache."""

    text: Text  # a text, or a pair of texts
    search: SearchConfig = GREEDY  # this and the next one: only for models that write
    forced: Forced = ()
    changes: Intervention = UNTOUCHED

    @property
    def usual(self) -> "Run":
        """The run over the same text by greedy search, with the model as trained."""
        return Run(text=self.text)

    def shortened(self, most: int) -> "Run":
        """The run over the first characters of each text."""
        first, second = (text[:most] for text in texts_of(self.text))
        return replace(self, text=TextPair(first, second) if isinstance(self.text, TextPair) else first)

    def to_json(self) -> dict[str, object]:
        """The run as JSON has it, without what is usual. Painted weights have six decimals, as in a link."""
        first, second = texts_of(self.text)
        usual = SearchConfig().to_dict()
        parts = {
            "second": second,
            "search": {name: value for name, value in self.search.to_dict().items() if value != usual[name]},
            "forced": [list(pair) for pair in self.forced],
            "changes": self.changes.code(),
        }
        return {"text": first, **{name: part for name, part in parts.items() if part}}

    @classmethod
    def from_json(cls, parts: Mapping[str, object]) -> "Run":
        """Read what `to_json` writes.

        Raises:
            ConfigError: a setting of the search or a change is wrong.
            ValueError: a part has another form.
        """
        match {"second": "", "search": {}, "forced": [], "changes": "", **parts}:
            case {
                "text": str(text),
                "second": str(second),
                "search": dict(search),
                "forced": list(forced),
                "changes": str(changes),
                **unknown,
            } if not unknown and all(is_pair(one) for one in forced):
                return cls(
                    text=paired(text, second),
                    search=SearchConfig.from_dict(search),
                    forced=tuple((position, i) for position, i in forced),
                    changes=Intervention.from_code(changes),
                )
        raise ValueError(f"This is no run: {parts}")


def is_pair(value: object) -> bool:
    """Whether a value is a pair of whole numbers."""
    return isinstance(value, list) and [type(part) for part in value] == [int, int]


@dataclass(frozen=True)
class Candidate:
    """A token that the model could have written, with its probability."""

    token: str
    probability: float
    id: int


@dataclass(frozen=True, kw_only=True)
class Token:
    """One token of a text."""

    text: str
    id: int
    word: int  # the index of its word in the text; −1 for a special token
    part: str = ""  # "A" in the first text of a pair, "B" in the second one; "" elsewhere
    unknown: bool = False  # it replaces a word that is not in the vocabulary
    probability: float = math.nan  # for written tokens only
    candidates: tuple[Candidate, ...] = ()  # the most probable tokens at its position, best first
    entropy: float = math.nan  # of the distribution at its position, in nats; for written tokens only

    @property
    def special(self) -> bool:
        """It belongs to no word, like `</s>`."""
        return self.word < 0

    @property
    def label(self) -> str:
        """The text, with the name of its part of a pair."""
        return labelled(self.text, self.part)


def source_tokens(tokenizers: TokenizerPair, encoding: Encoding, ids: Sequence[int]) -> tuple[Token, ...]:
    """The tokens of a source, from the ids of `TokenizerPair.source_ids`.

    Args:
        tokenizers: Of the model.
        encoding: Of the whole text.
        ids: With special tokens, cut to the positions of the model.
    """
    specials = tokenizers.specials
    filled = 0
    while specials.fill and ids[-1 - filled] == specials.fill[0]:
        filled += 1
    own = ids[len(specials.before) : len(ids) - len(specials.after) - filled]
    if not encoding.tokens:
        own = ()  # an empty text may have a start token among its ids, which is no token of the text
    tokens = (
        *(mark(tokenizers.source, i) for i in specials.before),
        *(
            Token(text=text, id=i, word=word, unknown=i == specials.unknown)
            for text, i, word in zip(encoding.tokens[: len(own)], own, encoding.words[: len(own)], strict=True)
        ),
        *(mark(tokenizers.source, i) for i in (*specials.after, *specials.fill[:filled])),
    )
    parts = parts_of(tokenizers, encoding, len(tokens))
    return tuple(replace(token, part=part) for token, part in zip(tokens, parts, strict=True))


def parts_of(tokenizers: TokenizerPair, encoding: Encoding, length: int) -> list[str]:
    """The part of a pair that each token of a source is in, "A" or "B"; "" around the texts and in a single text."""
    specials, start = tokenizers.specials, encoding.second_start
    if not start:
        return [""] * length
    between, second = len(specials.separator), len(encoding.ids) - start
    parts = [*[""] * len(specials.before), *["A"] * (start - between), *[""] * between, *["B"] * second]
    return [*parts, *[""] * (length - len(parts))]


def labelled(text: str, part: str) -> str:
    """A token of a pair as pictures name it."""
    return f"{part}: {text}" if part else text


def mark(tokenizer: Tokenizer, i: int) -> Token:
    """A special token, which belongs to no word."""
    return Token(text=tokenizer.tokens([i])[0], id=i, word=-1)


def written_tokens(tokenizers: TokenizerPair, hypothesis: Hypothesis, steps: Sequence[Step]) -> tuple[Token, ...]:
    """The tokens of a hypothesis, each with its probability, candidates and entropy.

    Args:
        tokenizers: Of the model.
        hypothesis: The result of a search.
        steps: The steps of the search, one for each written token.
    """
    ids, marks = hypothesis.ids, tokenizers.specials.target
    texts, words = tokenizers.target.tokens(ids), tokenizers.target.words(hypothesis.written)
    tokens = []
    for t, (step, row) in enumerate(zip(steps[: len(ids)], hypothesis.rows, strict=True)):
        token = Token(
            text=texts[t],
            id=ids[t],
            word=words[t] if t < len(words) and ids[t] not in marks.special else -1,
            unknown=ids[t] == marks.unknown,
            probability=math.exp(hypothesis.log_probs[t]),
        )
        tokens.append(with_candidates(token, tokenizers.target, step, row))
    return tuple(tokens)


def with_candidates(token: Token, tokenizer: Tokenizer, step: Step, row: int) -> Token:
    """The token with the candidates at its position and the entropy of their distribution."""
    best = step.ids[row].tolist()
    candidates = zip(tokenizer.tokens(best), step.log_probs[row].double().exp().tolist(), best, strict=True)
    return replace(
        token,
        candidates=tuple(Candidate(*candidate) for candidate in candidates),
        entropy=float(step.entropy[row]),
    )


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What a model predicted at one place."""

    stack: StackName  # the stack that makes the logits
    position: int | None  # of the state that is read, counted from 0; None for the pooled vector of a classifier
    id: int  # of the token that was written or guessed, or the number of the label
    text: str  # of this token or label
    probability: float
    candidates: Sequence[Candidate]  # the most probable tokens, best first; or all labels in their order
    logits: Mapping[int, float]  # id → logit, of the candidates and of `id`; up to a constant that all share
    fixed: bool = False  # the model did not choose it, such as a first token that names a language
    several: bool = False  # each label has its own probability; they do not sum to 1

    def names(self, tokenizer: Tokenizer, ids: Sequence[int]) -> tuple[str, ...]:
        """The tokens of a tokenizer with these ids, or the labels with these numbers."""
        if self.position is None:
            return tuple(self.candidates[i].token for i in ids)
        return tuple(tokenizer.tokens(ids))


def outcome_of_token(token: Token, position: int, *, written: bool, fixed: bool) -> Outcome:
    """The outcome at a written token, or at a masked token of a source, where the best candidate is the guess."""
    best = token.candidates[0]
    chosen = Candidate(token.text, token.probability, token.id) if written else best
    return Outcome(
        stack="decoder" if written else "encoder",
        position=position,
        id=chosen.id,
        text=chosen.token,
        probability=token.probability,
        candidates=token.candidates,
        logits={one.id: math.log(max(one.probability, 1e-300)) for one in (*token.candidates, chosen)},
        fixed=fixed,
    )


@dataclass(frozen=True, kw_only=True)
class Result:
    """The result of a run with its attention maps and probabilities.

    A model that only reads writes nothing: its result has a source and no written tokens. At position t the decoder
    reads `read[t]`, the token before, and writes `written[t]`. So the decoder has T queries and T keys. The source has
    S tokens, with `</s>`.
    """

    text: str
    source: tuple[Token, ...]  # S
    read: tuple[Token, ...]  # T: <s>, then all written tokens but the last
    written: tuple[Token, ...]  # T: the last one is </s>, unless the length limit cut the translation
    maps: AttentionMaps
    finished: bool  # it ended by itself, not at the length limit
    dropped: int  # source tokens that did not fit into the model's positions
    prompt_length: int = 0  # how many of the first written tokens are a prompt
    languages: tuple[str, str] = ("", "")  # of the source and of the written tokens; see `languages.tag`
    first_token_fixed: bool = False  # the model did not choose the first written token, such as a language
    # Kind → (L, queries, keys), False where masked; only for kinds that do not have the usual mask, such as windows.
    masks: Mapping[str, BoolArray] = field(default_factory=dict)

    @property
    def log_prob(self) -> float:
        """The log-probability of all written tokens after the prompt."""
        return sum(math.log(max(token.probability, 1e-30)) for token in self.written[self.prompt_length :])

    @property
    def second_start(self) -> int:
        """The first source token of the second text of a pair; 0 for a single text."""
        return next((i for i, token in enumerate(self.source) if token.part == "B"), 0)

    @property
    def as_forced(self) -> dict[int, int]:
        """Position → id of every written token. The same model, forced to write them, does so in one pass."""
        return {
            position: token.id for position, token in enumerate(self.written) if position or not self.first_token_fixed
        }

    @property
    def outcomes(self) -> tuple[Outcome, ...]:
        """What the model predicted: all written tokens with a prompt, the masked tokens of a source, or the label."""
        written = bool(self.written)
        return tuple(
            outcome_of_token(token, position, written=written, fixed=self.first_token_fixed and not position)
            for position, token in enumerate(self.written or self.source)
            if token.candidates
        )

    def outcome_at(self, position: int) -> Outcome:
        """The outcome at a position; of a classifier at any position.

        Raises:
            ConfigError: the model did not choose this token.
        """
        for outcome in self.outcomes:
            if outcome.position in (position, None) and not outcome.fixed:
                return outcome
        text = (self.written or self.source)[position].text
        raise ConfigError("The model did not choose “{text}”. Choose another token.", text=text)

    def language_of(self, tokens: str) -> str:
        """The language of the "source", "read" or "written" tokens; see `languages.tag`."""
        return self.languages[tokens != "source"]

    def tokens_of(self, kind: str) -> tuple[tuple[Token, ...], tuple[Token, ...]]:
        """The tokens that label the queries and the keys of a kind of attention, one of `KINDS`."""
        tokens = {"source": self.source, "read": self.read, "written": self.written}
        return tokens[KINDS[kind].queries], tokens[KINDS[kind].keys]

    def allowed(self, kind: str) -> BoolArray:
        """See `mask_of`."""
        return self.mask_of(kind)

    def mask_of(self, kind: str) -> BoolArray:
        """The masks of a kind of attention, (L, queries, keys): False where the query may not attend to the key."""
        if kind in self.masks:
            return self.masks[kind]
        layers, _, queries, keys = self.maps[kind].shape
        return np.broadcast_to(usual_mask(kind, queries, keys), (layers, queries, keys))


@dataclass(frozen=True, kw_only=True)
class Recording:
    """The tensors that passed the recorded hook points while one hypothesis was written."""

    trace: Trace
    rows: Sequence[int] = (0,)  # for each pass of the decoder, the batch row of the hypothesis

    def array(self, name: str) -> FloatArray:
        """All passes of a hook point as one array, (…, T, X), without a batch axis; T are queries or keys.

        Raises:
            KeyError: the hook point was not recorded.
        """
        return np.asarray(self.trace.joined(name, self.rows).numpy(), dtype=np.float32)

    def arrays(self) -> "RecordedArrays":
        """Everything that was recorded, as arrays. The recording is empty afterwards."""
        joined = ((name, self.trace.pop_joined(name, self.rows)) for name in self.trace.names)
        return RecordedArrays(arrays={name: np.asarray(tensor.numpy(), dtype=np.float32) for name, tensor in joined})


@dataclass(frozen=True, kw_only=True)
class RecordedArrays:
    """A recording that can be kept: plain arrays, without the passes."""

    arrays: Mapping[str, FloatArray]  # name of a hook point → (…, T, X)

    def array(self, name: str) -> FloatArray:
        """What passed a hook point, see `Recording.array`.

        Raises:
            KeyError: the hook point was not recorded.
        """
        return self.arrays[name]


def attention_maps(
    trace: Trace, model: Reads, decoder_rows: Sequence[int | slice], *, encoder_row: int | slice = 0
) -> AttentionMaps:
    """Take the recorded weights out of a trace: of one text, or with `EVERY_ROW` of a batch, (L, B, H, queries, keys).

    Args:
        trace: Of a search; the weights are removed from it.
        model: The model that ran.
        decoder_rows: For each pass of the decoder, the batch row of the hypothesis.
        encoder_row: The batch row of the text.
    """

    def stack(kind: str, rows: Sequence[int | slice]) -> FloatArray:
        layers = model.config.num_layers(kind)
        first = trace.pop_joined(hook_name(kind, 0, "weights"), rows)
        maps = np.empty((layers, *first.shape), dtype=np.float32)
        maps[0] = first
        for layer in range(1, layers):
            maps[layer] = trace.pop_joined(hook_name(kind, layer, "weights"), rows)
        return maps

    rows = {"encoder": (encoder_row,), "decoder": decoder_rows}
    return {kind: stack(kind, rows[KINDS[kind].stack]) for kind in model.config.kinds}


def usual_mask(kind: str, queries: int, keys: int) -> BoolArray:
    """The mask of one text without padding or windows, (queries, keys): a triangle for a causal kind, else all True."""
    return np.tri(queries, keys, dtype=bool) if KINDS[kind].causal else np.ones((queries, keys), dtype=bool)


def attention_masks(trace: Trace, model: Reads, decoder_rows: Sequence[int]) -> Mapping[str, BoolArray]:
    """Take the masks that are not the usual ones, such as windows, out of a trace.

    Args:
        trace: Of a search over one text, with the hook points `mask` where the model has them.
        model: The model that ran.
        decoder_rows: For each pass of the decoder, the batch row of the hypothesis.

    Returns:
        Kind → (L, queries, keys), False where masked.
    """
    unusual = {}
    for kind in model.config.kinds:
        names = [hook_name(kind, layer, "mask") for layer in range(model.config.num_layers(kind))]
        if not set(names) <= set(trace.names):
            continue
        rows = decoder_rows if KINDS[kind].stack == "decoder" else (0,)
        masks = np.stack([trace.pop_joined(name, rows)[0].numpy() for name in names])
        if (masks != usual_mask(kind, *masks.shape[1:])).any():
            unusual[kind] = masks
    return unusual
