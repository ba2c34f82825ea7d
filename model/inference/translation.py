"""A translation with all that the model did for it, and how it comes out of a trace."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from model.config.kinds import KINDS
from model.inference.tokens import Token
from model.network.translator import Translator
from model.trace import Trace, hook_name

__all__ = ["AttentionMaps", "Recording", "Translation", "attention_maps", "attention_masks"]

FloatArray = NDArray[np.float32]
BoolArray = NDArray[np.bool_]
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
    prompt_length: int = 0  # how many of the written tokens are those of a prompt
    languages: tuple[str, str] = ("", "")  # of the source and of what is written, as `languages.tag` says them
    first_token_fixed: bool = False  # the model did not choose the first written token, such as a language
    # Of each kind with windows, (L, queries, keys): False where the mask forbids. Other kinds have the usual mask.
    masks: Mapping[str, BoolArray] = field(default_factory=dict)

    @property
    def log_prob(self) -> float:
        """Natural logarithm of the model's own probability of all that is written after a prompt."""
        return sum(math.log(max(token.probability, 1e-30)) for token in self.written[self.prompt_length :])

    @property
    def as_forced(self) -> dict[int, int]:
        """Position → id of all that is written. Forced upon the same model, it writes the same, in one pass."""
        return {place: token.id for place, token in enumerate(self.written) if place or not self.first_token_fixed}

    def language_of(self, tokens: str) -> str:
        """Of "source", "read" or "written" tokens, as `languages.tag` says it."""
        return self.languages[tokens != "source"]

    def tokens_of(self, kind: str) -> tuple[tuple[Token, ...], tuple[Token, ...]]:
        """The tokens that label the queries and the keys of a kind of attention, one of `KINDS`."""
        tokens = {"source": self.source, "read": self.read, "written": self.written}
        return tokens[KINDS[kind].queries], tokens[KINDS[kind].keys]

    def allowed(self, kind: str) -> BoolArray:
        """(L, queries, keys) of a kind of attention: False where its mask forbids a query to look at a key."""
        if kind in self.masks:
            return self.masks[kind]
        layers, _, queries, keys = self.maps[kind].shape
        return np.broadcast_to(usual_mask(kind, queries, keys), (layers, queries, keys))


@dataclass(frozen=True, kw_only=True)
class Recording:
    """What passed chosen hook points while one hypothesis was written."""

    trace: Trace
    rows: Sequence[int]  # for each pass of the decoder, the batch row of the text

    def array(self, name: str) -> FloatArray:
        """All passes of a hook point as one array without a batch axis, queries (or keys) on the last axis but one.

        Raises:
            KeyError: it was not recorded.
        """
        return np.asarray(self.trace.joined(name, self.rows).numpy(), dtype=np.float32)


def attention_maps(trace: Trace, model: Translator, decoder_rows: Sequence[int]) -> AttentionMaps:
    """Collect the recorded weights of one text, out of the trace.

    Args:
        trace: Of a search over one text.
        model: That was searched.
        decoder_rows: For each pass of the decoder, the batch row of the text.
    """

    def stack(kind: str, rows: Sequence[int]) -> FloatArray:
        layers = model.config.num_layers(kind)
        first = trace.take(hook_name(kind, 0, "weights"), rows)
        maps = np.empty((layers, *first.shape), dtype=np.float32)
        maps[0] = first
        for layer in range(1, layers):
            maps[layer] = trace.take(hook_name(kind, layer, "weights"), rows)
        return maps

    rows = {"encoder": (0,), "decoder": decoder_rows}
    return {kind: stack(kind, rows[KINDS[kind].stack]) for kind in model.config.kinds}


def usual_mask(kind: str, queries: int, keys: int) -> BoolArray:
    """Where one text may look without windows, (queries, keys): a causal kind back and at itself, others everywhere."""
    return np.tri(queries, keys, dtype=bool) if KINDS[kind].causal else np.ones((queries, keys), dtype=bool)


def attention_masks(trace: Trace, model: Translator, decoder_rows: Sequence[int]) -> Mapping[str, BoolArray]:
    """The masks of one text that are not the usual ones, such as windows: kind → (L, queries, keys).

    Args:
        trace: Of a search over one text, with the hook points `mask`, as far as the model has them.
        model: That was searched.
        decoder_rows: For each pass of the decoder, the batch row of the text.
    """
    found = {}
    for kind in model.config.kinds:
        names = [hook_name(kind, layer, "mask") for layer in range(model.config.num_layers(kind))]
        if not set(names) <= set(trace.names):
            continue
        rows = decoder_rows if KINDS[kind].stack == "decoder" else (0,)
        masks = np.stack([trace.take(name, rows)[0].numpy() for name in names])
        if (masks != usual_mask(kind, *masks.shape[1:])).any():
            found[kind] = masks
    return found
