"""The configuration of a model that we did not train, without its weights and without the library that made it."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from model.config.kinds import Sizes
from model.config.model import ModelConfig
from model.config.search import GenerationSettings
from model.safety.json_files import read_json

__all__ = ["ChatFrame", "ForeignConfig", "ForeignSizes", "ForeignTexts", "Task", "is_foreign", "longest_text"]

MAX_TOKENS, MAX_BYTES = 1024, 400 << 20  # of a text; of all its maps: 522 tokens with 24 × 16 heads
# An encoder-decoder, a decoder-only model, an encoder-only model, or an encoder with a classifier.
Task = Literal["translation", "continuation", "reading", "classification"]


@dataclass(frozen=True, kw_only=True)
class ForeignSizes(Sizes):
    """The sizes of the model, with the names that our own configurations use."""

    d_model: int
    num_heads: int
    layers: Mapping[str, int]  # kind → how many layers have it
    max_length: int
    source_vocab_size: int
    target_vocab_size: int
    labels: tuple[str, ...] = ()  # of a classifier
    several_labels: bool = False  # a text may have several labels, each with its own probability
    pooling: Literal["first", "mean"] = "first"  # a classifier reads the vector of the first token, or the mean of all
    positional: str = "its own"  # or "learned" for a table of vectors
    attention = "scaled_dot_product"

    @property
    def num_encoder_layers(self) -> int:
        return self.num_layers("encoder")

    @property
    def num_decoder_layers(self) -> int:
        return self.num_layers("decoder")

    def num_layers(self, kind: str) -> int:
        return self.layers.get(kind, 0)


@dataclass(frozen=True, kw_only=True)
class ChatFrame:
    """What a chat template adds to a text."""

    before: str
    after: str


@dataclass(frozen=True, kw_only=True)
class ForeignTexts:
    """The languages of the model and its special tokens. A language is "" if the files do not name it."""

    source_language: str = ""
    target_language: str = ""
    separator: str = ""  # the text of the tokens between two texts; "" where the model reads single texts
    mask: str = ""  # the text of the mask token, which a visitor types for a hidden word
    chat_template: str = ""  # the program that adds the marks of a conversation; "" without one
    chat: ChatFrame | None = None  # what the template adds, where it is used
    special_tokens: Mapping[str, str] = field(default_factory=dict)  # name, such as bos_token → text
    languages: Mapping[str, int] = field(default_factory=dict)  # language code → its token, for a multilingual model
    kind: Literal["subwords", "words", "characters"] = "subwords"


@dataclass(frozen=True, kw_only=True)
class ForeignConfig:
    """The counterpart of `CheckpointConfig` for a checkpoint that we did not train: no results and no recipe."""

    family: str  # `model_type`, such as marian
    task: Task
    model: ForeignSizes | ModelConfig
    tokenizer: ForeignTexts
    values: Mapping[str, object]  # the unchanged config.json
    predicts: bool = True  # False for an encoder without an output layer
    figures: Mapping[str, float] = field(default_factory=dict)
    generation: GenerationSettings = field(default_factory=GenerationSettings)  # known when the model is loaded
    notes: tuple[str, ...] = ()  # what a visitor should know about the files, each a `Message`
    bleu = None

    def figure(self, name: str) -> float | None:
        """Always None: no results are recorded."""
        return None

    def to_dict(self) -> dict[str, object]:
        """The values of `config.json`."""
        return dict(self.values)


def longest_text(layers: int, heads: int) -> int:
    """Tokens of the longest text whose maps fit into `MAX_BYTES`."""
    return min(MAX_TOKENS, math.isqrt(MAX_BYTES // (4 * layers * heads)))


def is_foreign(folder: Path) -> bool:
    """Whether `config.json` is not one of ours, which names its format; False where it cannot be read."""
    try:
        values = read_json(folder / "config.json")
    except (OSError, ValueError):
        return False
    return isinstance(values, dict) and "format" not in values
