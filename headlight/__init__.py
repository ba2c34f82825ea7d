"""Headlight in a program or a notebook: checkpoints and translations that display themselves.

    import headlight
    headlight.open_checkpoint("everyday-en-de").translate("Where is the station?")

Everything in `model` is here too. The command `headlight` is in `command.py`.
"""

from headlight.notebook import OpenCheckpoint, ShownTranslation, open_checkpoint
from model import (
    Checkpoint,
    CheckpointError,
    Classification,
    Classifier,
    ClassifierCheckpoint,
    ConfigError,
    ModelConfig,
    Recipe,
    Result,
    SearchConfig,
    Trace,
    Transformer,
    __version__,
    ablate_heads,
    classify,
    find_checkpoints,
    hook_name,
    load_checkpoint,
    load_classifier,
    load_recipe,
    record_translation,
    tracing,
    translate,
    translate_lines,
)
from model import __getattr__ as __getattr__  # hands out names of earlier versions, with a warning

__all__ = [
    "Checkpoint",
    "CheckpointError",
    "Classification",
    "Classifier",
    "ClassifierCheckpoint",
    "ConfigError",
    "ModelConfig",
    "OpenCheckpoint",
    "Recipe",
    "Result",
    "SearchConfig",
    "ShownTranslation",
    "Trace",
    "Transformer",
    "__version__",
    "ablate_heads",
    "classify",
    "find_checkpoints",
    "hook_name",
    "load_checkpoint",
    "load_classifier",
    "load_recipe",
    "open_checkpoint",
    "record_translation",
    "tracing",
    "translate",
    "translate_lines",
]
