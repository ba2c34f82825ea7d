"""The architectures that translate: the Transformer and the recurrent network."""

from model.config.model import ModelConfig, RecurrentConfig
from model.network.recurrent import RecurrentTranslator
from model.network.transformer import Transformer

__all__ = ["OurTranslator", "make_translator"]

OurTranslator = Transformer | RecurrentTranslator


def make_translator(config: ModelConfig | RecurrentConfig, *, pad_id: int) -> OurTranslator:
    """An untrained translator with these sizes."""
    if isinstance(config, RecurrentConfig):
        return RecurrentTranslator(config, pad_id=pad_id)
    return Transformer(config, pad_id=pad_id)
