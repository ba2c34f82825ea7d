"""Our Transformer with the differences that tutorials have."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn

from model.checkpoints.layouts import NormForm
from model.checkpoints.saved_positions import Positions
from model.config.model import ModelConfig
from model.network.masks import padding_mask
from model.network.norms import SampleNorm
from model.network.positional import FixedPositions, LearnedPositions, PositionalEncoding, SinusoidalPositions
from model.network.transformer import Embedding, Transformer

__all__ = ["Differences", "TutorialTransformer"]


@dataclass(frozen=True, kw_only=True)
class Differences:
    """What the model of a tutorial has or lacks, compared with ours."""

    pads: tuple[int, int]  # the ids of padding in the source and in the target
    norm: NormForm = field(default_factory=NormForm)
    final_norm: bool = False
    output_bias: bool = False
    scale_embeddings: bool = True
    reads_padding: bool = False  # there is no padding mask for the source


class TutorialTransformer(Transformer):
    """Its weights come from a file."""

    def __init__(self, config: ModelConfig, differences: Differences) -> None:
        pad_id, target_pad_id = differences.pads
        super().__init__(config, pad_id=pad_id, target_pad_id=target_pad_id)
        if differences.final_norm:
            self.encoder.norm, self.decoder.norm = nn.LayerNorm(config.d_model), nn.LayerNorm(config.d_model)
        kind = SampleNorm if differences.norm.deviation == "sample" else nn.LayerNorm
        for name, module in list(self.named_modules()):
            if isinstance(module, nn.LayerNorm):
                self.set_submodule(name, kind(config.d_model, eps=differences.norm.epsilon))
        if differences.output_bias:
            self.output_projection = nn.Linear(config.d_model, config.target_vocab_size)
        if not differences.scale_embeddings:
            self.encoder.embedding.scale = self.decoder.embedding.scale = 1.0
        self.reads_padding = differences.reads_padding

    def encode(self, source: Tensor) -> tuple[Tensor, Tensor]:
        mask = padding_mask(source, self.pad_id) | self.reads_padding
        return self.encoder(source, mask=mask), mask

    def take(self, weights: Mapping[str, Tensor], absent: Collection[str], positions: Mapping[str, Positions]) -> None:
        """Take the weights of a file.

        Args:
            weights: Name of a parameter → its values, which may need to be broadcast.
            absent: Biases that the file does not have. They are 0 and no parameters.
            positions: "encoder" or "decoder" → its positions.
        """
        for stack, found in positions.items():
            embedding = self.get_submodule(f"{stack}.embedding")
            assert isinstance(embedding, Embedding)
            embedding.positions = module_of(found)
        with torch.no_grad():
            for name, parameter in list(self.named_parameters(remove_duplicate=False)):
                if name in weights:
                    parameter.copy_(weights[name])
        for name in absent:
            module = self.get_submodule(name.rpartition(".")[0])
            zeros = torch.zeros_like(module.get_parameter("bias"))
            del module.bias
            module.register_buffer("bias", zeros, persistent=False)


def module_of(positions: Positions) -> PositionalEncoding:
    table, (length, d_model) = positions.table, positions.table.shape
    if positions.kind == "learned":
        learned = LearnedPositions(max_length=length, d_model=d_model)
        learned.embedding.data.copy_(table)
        return learned
    if positions.kind == "table":
        return FixedPositions(table)
    waves = SinusoidalPositions(max_length=length, d_model=d_model)
    waves.get_buffer("vectors").copy_(table)
    return waves
