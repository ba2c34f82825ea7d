"""What a model can do, whoever made it: read, write, predict masked tokens, classify.

A function takes the narrowest of these protocols that it needs. So it works with our own models and with those of other
libraries. Where it must know what a model can do, it asks for a protocol and not for a class.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeGuard, get_args, runtime_checkable

import torch
from torch import Tensor, nn

from model.config.foreign import ForeignSizes
from model.config.kinds import Sizes
from model.config.model import ClassifierConfig, ModelConfig, RecurrentConfig
from model.network.residual_stream import Matrix, Stack, StackName
from model.network.rotation import Rotation
from model.network.scores import Scoring

__all__ = [
    "STAGES",
    "Cache",
    "ClassifierSizes",
    "Classifies",
    "HeadMixing",
    "Padding",
    "PredictsMasked",
    "Reads",
    "ReadsBatches",
    "Stage",
    "WriterSizes",
    "Writes",
    "classifies",
]


Stage = Literal["queries", "keys", "values"]
STAGES: tuple[Stage, ...] = get_args(Stage)
WriterSizes = ModelConfig | RecurrentConfig | ForeignSizes  # of a model that writes
ClassifierSizes = ClassifierConfig | ForeignSizes


@dataclass(frozen=True, kw_only=True)
class HeadMixing:
    """How an attention layer computes its output from the head outputs."""

    matrix: Tensor  # W_O as in the formula, (H·K, D)
    bias: Tensor  # (D,)


@dataclass(frozen=True, kw_only=True)
class Padding:
    """How the short texts of a batch are padded."""

    id: int  # of the token that fills
    side: Literal["left", "right"]


class Reads(Protocol):
    """A model that reads token ids, and whose attention can be recorded."""

    @property
    def config(self) -> Sizes: ...

    @property
    def pad_id(self) -> int:
        """The id of padding."""
        ...

    @property
    def target_pad_id(self) -> int:
        """The id of padding in what a decoder reads."""
        ...

    @property
    def device(self) -> torch.device:
        """Where the model runs. Token ids must be there too."""
        ...

    @property
    def read_only_reason(self) -> str:
        """Why nothing can be changed in the model, as a sentence; "" where its attention can be edited.

        With a reason, the weights are the only part of its attention that is recorded.
        """
        ...

    def named_parameters(self) -> Iterator[tuple[str, nn.Parameter]]: ...

    def parameters(self) -> Iterator[nn.Parameter]: ...

    def buffers(self) -> Iterator[Tensor]: ...

    def position_table(self) -> Tensor | None:
        """The vectors that are added to the source embeddings at each position, (N, D); or rotary angles, (N, K)."""
        ...

    def rotations(self, name: StackName) -> Sequence[Rotation]:
        """The rotary positions of the encoder or the decoder: one for each group of layers that rotate alike."""
        ...

    def scoring(self, kind: str, layer: int) -> Scoring:
        """How an attention layer computes its weights; `layer` counts from 0."""
        ...

    def mixing(self, kind: str, layer: int) -> HeadMixing:
        """How an attention layer computes its output from the head outputs; `layer` counts from 0.

        Raises:
            ConfigError: it does more than multiply the head outputs with one matrix.
        """
        ...

    def projection(self, kind: str, layer: int, stage: Stage) -> Matrix:
        """How an attention layer computes the queries, keys or values of all heads, D → H·K, before any rotation.

        Heads that share their keys and values have equal rows. `layer` counts from 0.

        Raises:
            ConfigError: it does more than multiply what it reads with one matrix, or the matrix is not known.
        """
        ...

    def stack(self, name: str) -> Stack:
        """How the "encoder" or the "decoder" makes its residual stream.

        Raises:
            ConfigError: the model has no residual stream, or its blocks are not known.
        """
        ...


class Cache(Protocol):
    """What a decoder keeps of earlier steps. Each architecture has its own."""

    @property
    def length(self) -> int:
        """How many target positions have been decoded."""
        ...

    @property
    def shares_memory(self) -> bool:
        """Whether N neighbouring rows of the target may read one row of the memory, the same N for all."""
        ...

    def select(self, rows: Tensor, *, sources: Tensor | None = None) -> None:
        """Keep and reorder the hypotheses of a beam search.

        Args:
            rows: For each new batch row, the old row that it continues, (B,).
            sources: The rows of the memory to keep. None if what was computed from the source does not change.
        """
        ...


@runtime_checkable
class Writes(Reads, Protocol):
    """A model that writes a text, one token after the other: a translator or a language model."""

    @property
    def config(self) -> WriterSizes: ...

    @property
    def task(self) -> Literal["translation", "continuation"]:
        """Whether it translates a source, or continues a prompt."""
        ...

    @property
    def reads_ahead(self) -> bool:
        """Whether `decode` with an empty cache accepts several tokens in one pass."""
        ...

    def start_cache(self) -> Cache:
        """An empty cache, in which `decode` keeps what later steps need."""
        ...

    def encode(self, source: Tensor) -> tuple[Tensor, Tensor]:
        """Read the source.

        Args:
            source: Token ids (B, S); short sentences are padded with `pad_id`.

        Returns:
            The memory (B, S, D) and the cross-attention mask (B, 1, 1, S).
        """
        ...

    def decode(
        self,
        target: Tensor,
        memory: Tensor,
        cross_mask: Tensor | None,
        *,
        cache: Cache | None = None,
        first: int = 0,
    ) -> Tensor:
        """Compute logits for the token after each token of the target.

        Args:
            target: Token ids (B, T). With a cache, only the newest token of each row, (B, 1); with an empty cache and
                `reads_ahead`, several tokens.
            memory: From `encode`, (B, S, D). With a cache, only the first step reads it.
            cross_mask: From `encode`, (B, 1, 1, S); None without padding.
            cache: From `start_cache` of the same model.
            first: The first position whose logits are needed; −1 is the last one.

        Returns:
            Logits (B, T − first, V).
        """
        ...

    def __call__(self, source: Tensor, target: Tensor) -> Tensor:
        """Teacher forcing: from `source` (B, S) and `target` (B, T), logits (B, T, V) for the token after each one."""
        ...


@runtime_checkable
class ReadsBatches(Reads, Protocol):
    """A language model that can read a padded batch of texts. Its searches read one text at a time."""

    @property
    def padding(self) -> Padding:
        """How the tokenizer pads."""
        ...

    def batch_logits(self, ids: Tensor, real: Tensor) -> Tensor:
        """Logits (B, T, V) for the token after each of the token ids (B, T).

        Args:
            ids: Padded on the left or on the right.
            real: False at padding, (B, T). Positions count only the other tokens.
        """
        ...


@runtime_checkable
class PredictsMasked(Reads, Protocol):
    """An encoder that reads a text, and predicts masked tokens if it was trained to."""

    def read(self, source: Tensor) -> Tensor | None:
        """Read token ids (B, S). A model that predicts masked tokens returns logits (B, S, V), another one None."""
        ...


class Classifies(Reads, Protocol):
    """A model that gives a text one of several labels, or several of them."""

    @property
    def config(self) -> ClassifierSizes: ...

    @property
    def task(self) -> Literal["classification"]: ...

    def __call__(self, ids: Tensor) -> Tensor:
        """Logits (B, C) for token ids (B, S); short texts are padded with `pad_id`."""
        ...


def classifies(model: Reads) -> TypeGuard[Classifies]:
    """Whether a model gives a text one of several labels."""
    return getattr(model, "task", "") == "classification"
