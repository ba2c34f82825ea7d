"""How a language model continues a text: how many tokens it writes, and whether it reads the text as a message."""

from dataclasses import replace

from model.checkpoints.checkpoint import Checkpoint
from model.config.foreign import ForeignConfig
from model.config.section import ConfigError, require
from model.foreign.chat_template import frame_of, with_chat
from model.text.vocab import NEW_TOKENS

__all__ = ["most_new_tokens", "with_continuation"]

MOST = 200


def most_new_tokens(max_length: int) -> int:
    """The most tokens that a language model may write after a text: half of its positions are for the text.

    Args:
        max_length: The positions of the model.
    """
    return max(1, min(MOST, max_length // 2))


def with_continuation(checkpoint: Checkpoint, *, new_tokens: int | None = None, chat: bool = False) -> Checkpoint:
    """The same language model with another length of its continuations, and with its chat template.

    Args:
        checkpoint: A language model; other models only without settings.
        new_tokens: The most tokens that it writes after a text; None for the usual number.
        chat: Whether it reads each text inside its chat template.

    Raises:
        ConfigError: the model continues no text, a number is too large, or the template cannot be used.
    """
    config = checkpoint.config
    if new_tokens is None and not chat:
        return checkpoint
    if not isinstance(config, ForeignConfig) or config.task != "continuation":
        raise ConfigError(
            "{checkpoint} does not continue texts. Only a language model has a number of new tokens and a "
            "chat template.",
            checkpoint=checkpoint.name,
        )
    if chat:
        checkpoint = with_chat(checkpoint, frame_of(config, checkpoint.name))
    most, wanted = most_new_tokens(config.model.max_length), NEW_TOKENS if new_tokens is None else new_tokens
    if new_tokens is not None:
        require(
            1 <= wanted <= most,
            "The number of new tokens is {wanted}. {checkpoint} may write from 1 to {most} after a text.",
            wanted=f"{wanted:,}",
            checkpoint=checkpoint.name,
            most=most,
        )
    pair = checkpoint.tokenizers
    return replace(checkpoint, tokenizers=replace(pair, specials=replace(pair.specials, new_tokens=wanted)))
