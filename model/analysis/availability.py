"""Why an analysis is not offered for a checkpoint, as a sentence that an error says and a page shows."""

from model.checkpoints.checkpoint import Checkpoint
from model.config.model import RecurrentConfig
from model.config.section import ConfigError

__all__ = ["require_cross_attention", "require_masks", "require_translation", "require_values"]

DOES = {"continuation": "continues a text", "reading": "reads a text"}


def require_translation(checkpoint: Checkpoint) -> None:
    """Raises ConfigError for a model without a source or without a target."""
    if checkpoint.config.task in DOES:
        raise ConfigError(f"{checkpoint.name} {DOES[checkpoint.config.task]} and does not translate.")


def require_cross_attention(checkpoint: Checkpoint) -> None:
    """Raises ConfigError for a model that does not look at a source."""
    require_translation(checkpoint)
    if "cross" not in checkpoint.model.config.kinds:
        raise ConfigError(f"{checkpoint.name} has no cross-attention.")


def require_values(checkpoint: Checkpoint) -> None:
    """Raises ConfigError for a model that has no value vectors and no output projection."""
    if isinstance(checkpoint.model.config, RecurrentConfig):
        raise ConfigError(f"{checkpoint.name} is a recurrent network. Its attention has no value vectors.")


def require_masks(checkpoint: Checkpoint) -> None:
    """Raises ConfigError for a model that does not mask padding and the future in every kind of attention."""
    require_translation(checkpoint)
    if isinstance(checkpoint.model.config, RecurrentConfig):
        raise ConfigError(f"{checkpoint.name} is a recurrent network. It has no self-attention, and so no causal mask.")
    if checkpoint.tokenizers.specials.fill:
        raise ConfigError(
            f"{checkpoint.name} was trained without a padding mask: it reads the padding of its sources, and so there "
            "is no mask to show."
        )
