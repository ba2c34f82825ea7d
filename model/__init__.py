"""An encoder-decoder Transformer, written so that people can read it and see inside.

Begin with `network/`: masks, positional, attention, layers, transformer. A program imports what it needs from here,
because the packages inside may change. Objects that display themselves in a notebook are in `headlight`.

Shapes, everywhere in this package:
    B  sentences in a batch        D  d_model, width of the residual stream
    S  source tokens (keys)        H  attention heads
    T  target tokens (queries)     K  width of a head, D / H
    L  layers                      V  vocabulary
A mask is True where a query may attend. Layers and heads count from 0.
"""

import warnings

from model.checkpoints.checkpoint import (
    Checkpoint,
    CheckpointError,
    ClassifierCheckpoint,
    find_checkpoints,
    load_checkpoint,
    load_classifier,
)
from model.config.model import ModelConfig
from model.config.recipe import Recipe, load_recipe
from model.config.search import SearchConfig
from model.config.section import ConfigError
from model.inference.classify import Classification, classify
from model.inference.run import Result
from model.inference.translate import record_translation, translate, translate_lines
from model.network.classifier import Classifier
from model.network.transformer import Transformer
from model.trace import Trace, ablate_heads, hook_name, tracing

__version__ = "0.1.0"
__all__ = [
    "Checkpoint",
    "CheckpointError",
    "Classification",
    "Classifier",
    "ClassifierCheckpoint",
    "ConfigError",
    "ModelConfig",
    "Recipe",
    "Result",
    "SearchConfig",
    "Trace",
    "Transformer",
    "ablate_heads",
    "classify",
    "find_checkpoints",
    "hook_name",
    "load_checkpoint",
    "load_classifier",
    "load_recipe",
    "record_translation",
    "tracing",
    "translate",
    "translate_lines",
]


def __getattr__(name: str) -> object:
    if name == "Translation":  # its name before all tasks had the same kind of result
        warnings.warn("Translation has the name Result now.", DeprecationWarning, stacklevel=2)
        return Result
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
