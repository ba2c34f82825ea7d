"""How text becomes tokens."""

from dataclasses import dataclass
from typing import Literal

from model.config.section import Section, require

__all__ = ["TokenizerConfig"]


@dataclass(frozen=True, kw_only=True)
class TokenizerConfig(Section):
    """How text becomes tokens. `words` uses `min_freq` and `lowercase`; `bpe` uses `vocab_size`."""

    kind: Literal["bpe", "words"]
    source_language: str
    target_language: str = ""  # for a translation
    vocab_size: int = 8000  # of the learned byte pairs
    min_freq: int = 2  # rarer words become the unknown token
    lowercase: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        require(
            self.vocab_size >= 260,
            "vocab_size is {vocab_size}; it must be at least 260, for 256 bytes and 4 special tokens.",
            vocab_size=self.vocab_size,
        )
        require(self.min_freq >= 1, "min_freq is {min_freq}; it must be at least 1.", min_freq=self.min_freq)
        require(not (self.lowercase and self.kind == "bpe"), 'lowercase = true needs kind = "words".')
