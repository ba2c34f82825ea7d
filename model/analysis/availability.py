"""Which models an analysis needs. A page shows the message of the error where an analysis is not offered."""

from model.checkpoints.checkpoint import CheckpointConfig, Loaded
from model.config.foreign import ForeignConfig
from model.config.model import RecurrentConfig
from model.config.section import ConfigError
from model.messages import N_
from model.network.protocols import Reads, Writes

__all__ = [
    "NO_OUTPUT",
    "nothing_predicted",
    "require_attention_steps",
    "require_cross_attention",
    "require_masks",
    "require_translation",
    "require_values",
]

NO_OUTPUT = N_(
    "This is an encoder without an output layer. It computes a vector for each token, and predicts no words."
)


def nothing_predicted(config: CheckpointConfig | ForeignConfig) -> ConfigError:
    """The error for a text in which a model predicts no word: it cannot, or the text has no masked word."""
    if not getattr(config, "predicts", True):
        return ConfigError(NO_OUTPUT)
    if not (mask := getattr(config.tokenizer, "mask", "")):
        return ConfigError("The model predicts nothing in this text.")
    return ConfigError("The model predicts nothing in this text. Type {mask} in place of a word.", mask=mask)


def require_translation(checkpoint: Loaded) -> Writes:
    """The model of a checkpoint, if it translates.

    Raises:
        ConfigError: the model only reads, or continues a text.
    """
    model = checkpoint.model
    if not isinstance(model, Writes):
        raise ConfigError(
            "{checkpoint} reads a text and does not translate. Choose a translator.", checkpoint=checkpoint.name
        )
    if model.task == "continuation":
        raise ConfigError(
            "{checkpoint} continues a text and does not translate. Choose a translator.", checkpoint=checkpoint.name
        )
    return model


def require_attention_steps(model: Reads) -> None:
    """Require that every step of attention can be recorded and edited, and not only its weights recorded.

    Raises:
        ConfigError: the model is read-only.
    """
    if model.read_only_reason:
        raise ConfigError(model.read_only_reason)


def require_cross_attention(checkpoint: Loaded) -> Writes:
    """The model of a checkpoint, if it translates with cross-attention.

    Raises:
        ConfigError: the model has none.
    """
    model = require_translation(checkpoint)
    if "cross" not in model.config.kinds:
        raise ConfigError(
            "{checkpoint} has no cross-attention. Choose a model that has it.", checkpoint=checkpoint.name
        )
    return model


def require_values(checkpoint: Loaded) -> None:
    """Require value vectors and an output projection.

    Raises:
        ConfigError: the model is a recurrent network, or read-only.
    """
    require_attention_steps(checkpoint.model)
    if isinstance(checkpoint.model.config, RecurrentConfig):
        raise ConfigError(
            "{checkpoint} is a recurrent network. Its attention has no value vectors. Choose a Transformer.",
            checkpoint=checkpoint.name,
        )


def require_masks(checkpoint: Loaded) -> Reads:
    """The model of a checkpoint, if it has a padding mask in every layer with attention.

    Raises:
        ConfigError: the model has no such mask, or it is read-only.
    """
    model = checkpoint.model
    require_attention_steps(model)
    if isinstance(model.config, RecurrentConfig):
        raise ConfigError(
            "{checkpoint} is a recurrent network. It has no self-attention, so it has no causal mask. Choose "
            "a Transformer.",
            checkpoint=checkpoint.name,
        )
    if checkpoint.tokenizers.specials.fill:
        raise ConfigError(
            "{checkpoint} was trained without a padding mask. It reads the padding of the source, so there "
            "is no mask to show. Choose another checkpoint.",
            checkpoint=checkpoint.name,
        )
    return model
