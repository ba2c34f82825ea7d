"""Why an analysis is not offered for a checkpoint, as a sentence that an error says and a page shows."""

from model.checkpoints.checkpoint import Checkpoint
from model.config.model import RecurrentConfig
from model.config.section import ConfigError

__all__ = ["require_cross_attention", "require_masks", "require_translation", "require_values"]


def require_translation(checkpoint: Checkpoint) -> None:
    """Raises ConfigError for a model without a source or without a target."""
    if checkpoint.config.task == "continuation":
        raise ConfigError(f"{checkpoint.name} continues a text and does not translate. Choose a translator.")
    if checkpoint.config.task == "reading":
        raise ConfigError(f"{checkpoint.name} reads a text and does not translate. Choose a translator.")


def require_cross_attention(checkpoint: Checkpoint) -> None:
    """Raises ConfigError for a model that does not look at a source."""
    require_translation(checkpoint)
    if "cross" not in checkpoint.model.config.kinds:
        raise ConfigError(f"{checkpoint.name} has no cross-attention. Choose a model that has it.")


def require_values(checkpoint: Checkpoint) -> None:
    """Raises ConfigError for a model that has no value vectors and no output projection."""
    if isinstance(checkpoint.model.config, RecurrentConfig):
        raise ConfigError(
            f"{checkpoint.name} is a recurrent network. Its attention has no value vectors. Choose a Transformer."
        )


def require_masks(checkpoint: Checkpoint) -> None:
    """Raises ConfigError for a model that does not mask padding and the future in every kind of attention."""
    require_translation(checkpoint)
    if isinstance(checkpoint.model.config, RecurrentConfig):
        raise ConfigError(
            f"{checkpoint.name} is a recurrent network. It has no self-attention, so it has no causal mask. Choose a "
            "Transformer."
        )
    if checkpoint.tokenizers.specials.fill:
        raise ConfigError(
            f"{checkpoint.name} was trained without a padding mask. It reads the padding of the source, so there is no "
            "mask to show. Choose another checkpoint."
        )
