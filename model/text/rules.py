"""Rules about the tokens that a model writes, beside its own probabilities: no repeated phrase, a shortest text."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:  # this package needs no torch
    import torch
    from torch import Tensor

__all__ = ["TextRules", "WritingRules"]

# What has been written (R, T), with the token that the decoder reads first; scores (R, V) → scores (R, V).
TextRules = Callable[["Tensor", "Tensor"], "Tensor"]


class WritingRules(Protocol):
    """The rules of a model."""

    @property
    def fewest(self) -> int:
        """Tokens that each text has at least."""
        ...

    def for_text(self, source: Sequence[int], *, given: int, limit: int, device: "torch.device") -> TextRules:
        """The rules for the tokens that are written for one source.

        Args:
            source: The token ids that the encoder reads, or the prompt.
            given: How many tokens the decoder reads before it chooses one: the first one, and a prompt.
            limit: The most tokens that it writes, with a prompt.
            device: Of the scores.
        """
        ...
