"""Special tokens: the four ids that all our vocabularies share, and the description that fits any model.

Rules about the tokens that a model writes stand beside its own probabilities: no repeated phrase, a shortest text.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:  # this package needs no torch
    import torch
    from torch import Tensor

PAD_ID, UNK_ID, BOS_ID, EOS_ID = 0, 1, 2, 3
PAD, UNK, BOS, EOS = SPECIAL_TOKENS = ("<pad>", "<unk>", "<s>", "</s>")
NEW_TOKENS = 40

__all__ = [
    "BOS",
    "BOS_ID",
    "EOS",
    "EOS_ID",
    "NEW_TOKENS",
    "OURS",
    "PAD",
    "PAD_ID",
    "SPECIAL_TOKENS",
    "UNK",
    "UNK_ID",
    "Marks",
    "Specials",
    "TextRules",
    "WritingRules",
]


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


@dataclass(frozen=True, kw_only=True)
class Marks:
    """The ids of one vocabulary that are not text."""

    unknown: int | None  # for text that is not in the vocabulary
    special: frozenset[int]  # all special tokens


@dataclass(frozen=True, kw_only=True)
class Specials:
    """The ids that are not text, and how a model uses them."""

    bos: int  # the first token that the decoder reads
    eos: int  # ends a written text
    more_ends: tuple[int, ...] = ()  # other tokens that also end it
    banned: tuple[int, ...] = ()  # never written unless forced, whatever their probability
    first: int | None = None  # always written first, such as the language token of mBART
    before: tuple[int, ...] = ()  # added before a source
    separator: tuple[int, ...] = ()  # added between the two texts of a pair; empty where a model reads single texts
    after: tuple[int, ...] = ()  # added after a source
    fill: tuple[int, ...] = ()  # added up to a fixed length, for a model that was trained without a padding mask
    unknown: int | None = None  # for text that is not in the vocabulary of the source
    mask: int | None = None  # for the token that the model guesses
    marks: frozenset[int] = frozenset()  # all special tokens of the source
    written: Marks | None = None  # of the target, if it has a vocabulary of its own
    new_tokens: int = NEW_TOKENS  # the most that a language model writes after a prompt
    rules: WritingRules | None = None  # what else decides which token is written

    @property
    def target(self) -> Marks:
        """The special tokens of the target."""
        return self.written or Marks(unknown=self.unknown, special=self.marks)

    @property
    def fewest(self) -> int:
        """Tokens that each written text has at least."""
        return self.rules.fewest if self.rules else 0


OURS = Specials(
    bos=BOS_ID,
    eos=EOS_ID,
    banned=(PAD_ID, UNK_ID, BOS_ID),
    after=(EOS_ID,),
    unknown=UNK_ID,
    marks=frozenset({PAD_ID, BOS_ID, EOS_ID}),
)
