"""What the models have in common that are written in our code: translators, the classifier and decoders."""

import torch
from torch import Tensor, nn

from model.config.foreign import ForeignSizes
from model.config.model import AnyModelConfig
from model.config.section import ConfigError
from model.network.position_description import describe_positions
from model.network.position_kind import PositionKind
from model.network.protocols import HeadMixing
from model.network.residual_stream import Stack, StackName
from model.trace import hook_name

__all__ = ["OwnModel"]


class OwnModel(nn.Module):
    """A model whose attention layers are our own. With these methods it `Reads`; see `model/network/protocols.py`."""

    config: AnyModelConfig | ForeignSizes
    pad_id: int
    target_pad_id: int
    read_only_reason = ""

    @property
    def device(self) -> torch.device:
        return next(self.parameters()).device

    def scaling(self, kind: str, layer: int) -> float:
        return float((self.config.d_model / self.config.num_heads) ** -0.5)

    def score_cap(self, kind: str, layer: int) -> float | None:
        return getattr(self.config, "score_cap", 0.0) or None

    def sinks(self, kind: str, layer: int) -> Tensor | None:
        attention = self.get_submodule(hook_name(kind, layer, "scores").rpartition(".")[0])
        found = getattr(attention, "sinks", None)
        return None if found is None else found.detach()

    def mixing(self, kind: str, layer: int) -> HeadMixing:
        projection = self.get_submodule(hook_name(kind, layer, "output_projection"))
        assert isinstance(projection, nn.Linear)
        return HeadMixing(matrix=projection.weight.detach().T, bias=projection.bias.detach())

    def position_kind(self, name: StackName) -> PositionKind:
        return describe_positions(self.get_submodule(name))

    def stack(self, name: str) -> Stack:
        raise ConfigError("This model has no residual stream that Headlight can follow. Choose a Transformer.")
