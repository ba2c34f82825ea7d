"""The matrices that turn token ids into vectors. The configuration decides which matrices are shared."""

import torch
from torch import nn

from model.config.model import ModelConfig, RecurrentConfig

__all__ = ["initialize_embeddings", "token_embeddings"]


def token_embeddings(
    config: ModelConfig | RecurrentConfig, pad_id: int, target_pad_id: int
) -> tuple[nn.Embedding, nn.Embedding]:
    """The embeddings of the source and of the target: the same matrix if all embeddings are tied."""
    target = nn.Embedding(config.target_vocab_size, config.d_model, padding_idx=target_pad_id)
    if config.tie_embeddings == "all":
        return target, target
    return nn.Embedding(config.source_vocab_size, config.d_model, padding_idx=pad_id), target


@torch.no_grad()
def initialize_embeddings(model: nn.Module, *, d_model: int) -> None:
    """Give embeddings unit variance after the factor √d_model. As output projection, logits get unit variance."""
    for module in model.modules():
        if isinstance(module, nn.Embedding):
            nn.init.normal_(module.weight, std=d_model**-0.5)
            module.weight[module.padding_idx].zero_()
