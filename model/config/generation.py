"""The settings in a folder of Hugging Face's `transformers` that its `generate` obeys."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from model.config.search import EarlyStopping

__all__ = ["GenerationSettings"]


@dataclass(frozen=True, kw_only=True)
class GenerationSettings:
    """Settings that differ from their default, by name."""

    followed: Mapping[str, object] = field(default_factory=dict)  # by every search
    suggested: Mapping[str, object] = field(default_factory=dict)  # a search that the visitor may choose
    ignored: Mapping[str, object] = field(default_factory=dict)  # only `generate` obeys them
    num_beams: int = 1
    length_penalty: float = 1.0
    early_stopping: EarlyStopping = "unlikely"
