"""What every model that reads a source and writes a target offers, whoever made it."""

from dataclasses import dataclass
from typing import Any, Literal, Protocol

from torch import Tensor, nn

from model.trace import hook_name

__all__ = ["HeadMixing", "Sizes", "Translator"]


class Sizes(Protocol):
    """What the rest of the program asks of a model's sizes."""

    @property
    def num_heads(self) -> int: ...

    @property
    def max_length(self) -> int:
        """How many tokens a text may have."""
        ...

    @property
    def target_vocab_size(self) -> int: ...

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of attention that the model has, of `KINDS`."""
        ...

    def num_layers(self, kind: str) -> int:
        """How many layers have a kind of attention."""
        ...


@dataclass(frozen=True, kw_only=True)
class HeadMixing:
    """How an attention makes its output of what its heads found."""

    matrix: Tensor  # W_O as it stands in the formula, (H·K, D)
    bias: Tensor  # (D,)


class Translator(nn.Module):
    """The two halves that decoding needs, and both at once for training."""

    config: Any  # a `Sizes`; each architecture has its own
    pad_id: int  # fills short sentences
    task: Literal["translation", "continuation", "reading"] = "translation"  # what it does with a text
    reads_ahead = False  # whether `decode` with an empty cache takes several tokens, each a query of the same pass

    def start_cache(self) -> Any:
        """What `decode` needs to go on from where it stopped."""
        raise NotImplementedError

    def encode(self, source: Tensor) -> tuple[Tensor, Tensor]:
        """Read the source.

        Args:
            source: Token ids (B, S), short sentences filled with `pad_id`.

        Returns:
            The memory (B, S, D) and the cross-attention mask (B, 1, 1, S).
        """
        raise NotImplementedError

    def decode(self, target: Tensor, memory: Tensor, cross_mask: Tensor | None, *, cache: Any = None) -> Tensor:
        """Compute the decoder's states.

        Args:
            target: Token ids (B, T); with a cache only the newest token of each row, (B, 1), or with `reads_ahead` and
                an empty cache, as many as there are.
            memory: From `encode`, (B, S, D); with a cache it is read in the first step alone.
            cross_mask: From `encode`, (B, 1, 1, S); None where no source is padded.
            cache: From `start_cache`: what is kept of the earlier steps.

        Returns:
            (B, T, D), to be given to `project`.
        """
        raise NotImplementedError

    def project(self, states: Tensor) -> Tensor:
        """What `decode` returned (…, D) to logits over the target vocabulary (…, V)."""
        raise NotImplementedError

    def position_table(self) -> Tensor | None:
        """What is added to the embeddings of the source for their places, (N, D); None where nothing is."""
        return None

    def scaling(self, kind: str, layer: int) -> float:
        """What an attention multiplies its products q·k with; `layer` is counted from 0."""
        return float((self.config.d_model / self.config.num_heads) ** -0.5)

    def mixing(self, kind: str, layer: int) -> HeadMixing:
        """How an attention goes on from its heads; `layer` is counted from 0.

        Raises:
            ConfigError: it does more than multiply them with one matrix.
        """
        projection = self.get_submodule(hook_name(kind, layer, "output_projection"))
        assert isinstance(projection, nn.Linear)
        return HeadMixing(
            matrix=projection.weight.detach().T,
            bias=projection.bias.detach(),
        )

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        """Teacher forcing: logits (B, T, V) for the token after each of `target` (B, T), given `source` (B, S)."""
        memory, cross_mask = self.encode(source)
        return self.project(self.decode(target, memory, cross_mask))
