"""The base of our own translators: the encoder and the decoder as two steps for decoding, and as one for training."""

from typing import Literal

from torch import Tensor, nn

from model.config.model import ModelConfig, RecurrentConfig
from model.network.own_model import OwnModel
from model.network.protocols import Cache

__all__ = ["Translator"]


class Translator(OwnModel):
    """A model of ours that `Writes`. Its logits are a matrix product, so training can use the states before it."""

    config: ModelConfig | RecurrentConfig
    output_projection: nn.Linear
    task: Literal["translation"] = "translation"
    reads_ahead = False

    def start_cache(self) -> Cache:
        raise NotImplementedError

    def encode(self, source: Tensor) -> tuple[Tensor, Tensor]:
        """See `Writes.encode`."""
        raise NotImplementedError

    def decode(
        self,
        target: Tensor,
        memory: Tensor,
        cross_mask: Tensor | None,
        *,
        cache: Cache | None = None,
        first: int = 0,
    ) -> Tensor:
        """See `Writes.decode`."""
        return self.project(self.target_states(target, memory, cross_mask, cache=cache)[:, first:])

    def target_states(
        self, target: Tensor, memory: Tensor, cross_mask: Tensor | None, *, cache: Cache | None = None
    ) -> Tensor:
        """Compute the decoder's states, the input of `project`. The arguments are those of `decode`.

        Returns:
            (B, T, D)
        """
        raise NotImplementedError

    def project(self, states: Tensor) -> Tensor:
        """From states (…, D) to logits over the target vocabulary (…, V)."""
        raise NotImplementedError

    def position_table(self) -> Tensor | None:
        return None

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        """Teacher forcing: from `source` (B, S) and `target` (B, T), logits (B, T, V) for the token after each one."""
        return self.decode(target, *self.encode(source))
