"""The methods of every model that reads a source and writes a target, also of foreign models."""

from dataclasses import dataclass
from typing import Any, Literal, Protocol

from torch import Tensor, nn

from model.config.section import ConfigError
from model.network.residual_stream import Stack
from model.trace import hook_name

__all__ = ["HeadMixing", "Sizes", "Translator"]


class Sizes(Protocol):
    """The sizes of a model that the rest of the program needs."""

    @property
    def num_heads(self) -> int: ...

    @property
    def max_length(self) -> int:
        """The largest number of tokens in a text."""
        ...

    @property
    def target_vocab_size(self) -> int: ...

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of attention in the model, see `KINDS`."""
        ...

    def num_layers(self, kind: str) -> int:
        """How many layers have a kind of attention."""
        ...


@dataclass(frozen=True, kw_only=True)
class HeadMixing:
    """How an attention layer computes its output from the head outputs."""

    matrix: Tensor  # W_O as in the formula, (H·K, D)
    bias: Tensor  # (D,)


class Translator(nn.Module):
    """The encoder and the decoder as two steps for decoding, and as one step for training."""

    config: Any  # a `Sizes`; each architecture has its own
    pad_id: int  # id of padding
    task: Literal["translation", "continuation", "reading"] = "translation"
    reads_ahead = False  # whether `decode` with an empty cache accepts several tokens in one pass

    def start_cache(self) -> Any:
        """An empty cache, in which `decode` keeps what later steps need."""
        raise NotImplementedError

    def encode(self, source: Tensor) -> tuple[Tensor, Tensor]:
        """Read the source.

        Args:
            source: Token ids (B, S); short sentences are padded with `pad_id`.

        Returns:
            The memory (B, S, D) and the cross-attention mask (B, 1, 1, S).
        """
        raise NotImplementedError

    def decode(self, target: Tensor, memory: Tensor, cross_mask: Tensor | None, *, cache: Any = None) -> Tensor:
        """Compute the decoder's states.

        Args:
            target: Token ids (B, T). With a cache, only the newest token of each row, (B, 1); with an empty cache and
                `reads_ahead`, several tokens.
            memory: From `encode`, (B, S, D). With a cache, only the first step reads it.
            cross_mask: From `encode`, (B, 1, 1, S); None without padding.
            cache: From `start_cache`.

        Returns:
            (B, T, D), the input of `project`.
        """
        raise NotImplementedError

    def project(self, states: Tensor) -> Tensor:
        """From the output of `decode` (…, D) to logits over the target vocabulary (…, V)."""
        raise NotImplementedError

    def position_table(self) -> Tensor | None:
        """The vectors that are added to the source embeddings at each position, (N, D), or None."""
        return None

    def scaling(self, kind: str, layer: int) -> float:
        """The factor of the products q·k in an attention layer; `layer` counts from 0."""
        return float((self.config.d_model / self.config.num_heads) ** -0.5)

    def mixing(self, kind: str, layer: int) -> HeadMixing:
        """How an attention layer computes its output from the head outputs; `layer` counts from 0.

        Raises:
            ConfigError: it does more than multiply the head outputs with one matrix.
        """
        projection = self.get_submodule(hook_name(kind, layer, "output_projection"))
        assert isinstance(projection, nn.Linear)
        return HeadMixing(
            matrix=projection.weight.detach().T,
            bias=projection.bias.detach(),
        )

    def stack(self, name: str) -> Stack:
        """How the "encoder" or the "decoder" makes its residual stream.

        Raises:
            ConfigError: the model has no residual stream, or its blocks are not known.
        """
        raise ConfigError("This model has no residual stream that Headlight can follow. Choose a Transformer.")

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        """Teacher forcing: from `source` (B, S) and `target` (B, T), logits (B, T, V) for the token after each one."""
        memory, cross_mask = self.encode(source)
        return self.project(self.decode(target, memory, cross_mask))
