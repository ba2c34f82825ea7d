"""What there is to know of a model that we did not train, without loading it and without the library that made it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from model.config.kinds import KINDS
from model.config.model import ModelConfig
from model.safety.json_files import read_small_json

__all__ = ["ForeignConfig", "ForeignSizes", "ForeignTexts", "Task", "is_foreign"]

# Encoder and decoder; a decoder alone; an encoder alone; an encoder that says of what class a text is.
Task = Literal["translation", "continuation", "reading", "classification"]


@dataclass(frozen=True, kw_only=True)
class ForeignSizes:
    """What the rest of the program asks of a model's sizes."""

    d_model: int
    num_heads: int
    layers: Mapping[str, int]  # kind → how many layers have it
    max_length: int
    source_vocab_size: int
    target_vocab_size: int
    labels: tuple[str, ...] = ()  # of a classifier
    several_labels: bool = False  # a text may have any number of them, each with a probability of its own
    pooling: Literal["first", "mean"] = "first"  # which vectors a classifier reads: that of the first token, or all
    positional: str = "its own"  # or learned, if it is a table of vectors
    attention = "scaled_dot_product"

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of attention that the model has."""
        return tuple(kind for kind in KINDS if self.layers.get(kind))

    @property
    def num_encoder_layers(self) -> int:
        return self.num_layers("encoder")

    @property
    def num_decoder_layers(self) -> int:
        return self.num_layers("decoder")

    def num_layers(self, kind: str) -> int:
        """How many layers have a kind of attention, one of `KINDS`."""
        return self.layers.get(kind, 0)


@dataclass(frozen=True, kw_only=True)
class ForeignTexts:
    """What is read and written; a language is "" where the files do not say."""

    source_language: str = ""
    target_language: str = ""
    mask: str = ""  # what a person types for a word that the model is to guess
    languages: Mapping[str, int] = field(default_factory=dict)  # code → its token, of a model of many
    kind = "pieces"


@dataclass(frozen=True, kw_only=True)
class ForeignConfig:
    """As `CheckpointConfig`, of a checkpoint that we did not train: nothing was measured, and no recipe is known."""

    family: str  # `model_type`, such as marian
    task: Task
    model: ForeignSizes | ModelConfig
    tokenizer: ForeignTexts
    values: Mapping[str, Any]  # config.json as it stands
    figures: Mapping[str, float] = field(default_factory=dict)
    bleu = None

    def figure(self, name: str) -> float | None:
        """Nothing is recorded."""
        return None

    def to_dict(self) -> dict[str, Any]:
        return dict(self.values)


def is_foreign(folder: Path) -> bool:
    """Whether `config.json` is one of the library's, which names its family; False where it cannot be read."""
    try:
        values = read_small_json(folder / "config.json")
    except (OSError, ValueError):
        return False
    return isinstance(values, dict) and "model_type" in values and "format" not in values
