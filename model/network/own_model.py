"""What the models have in common that are written in our code: translators, the classifier and decoders.

`direct` makes a copy of such a model for reading only.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Literal, TypeVar

import torch
from torch import Tensor, nn

from model.config.foreign import ForeignSizes
from model.config.model import AnyModelConfig, ModelConfig, RecurrentConfig
from model.config.section import ConfigError
from model.network.attention import MultiHeadAttention
from model.network.description import rotations_of
from model.network.positional import PositionalEncoding, RotaryPositions
from model.network.protocols import Cache, HeadMixing, Stage
from model.network.residual_stream import Matrix, Stack, StackName
from model.network.rotation import Rotation
from model.network.scores import Scoring
from model.trace import hook_name

__all__ = ["OwnModel", "Translator", "direct", "token_embeddings"]

PROJECTIONS: Mapping[Stage, str] = {
    "queries": "query_projection",
    "keys": "key_projection",
    "values": "value_projection",
}


class OwnModel(nn.Module):
    """A model whose attention layers are our own. With these methods it `Reads`; see `model/network/protocols.py`."""

    config: AnyModelConfig | ForeignSizes
    pad_id: int
    target_pad_id: int
    read_only_reason = ""

    @property
    def device(self) -> torch.device:
        return next(self.parameters()).device

    def scoring(self, kind: str, layer: int) -> Scoring:
        attention = self.get_submodule(hook_name(kind, layer, "scores").rpartition(".")[0])
        sinks = getattr(attention, "sinks", None)
        return Scoring(
            scaling=float((self.config.d_model / self.config.num_heads) ** -0.5),
            cap=getattr(self.config, "score_cap", 0.0) or None,
            sinks=None if sinks is None else sinks.detach(),
        )

    def mixing(self, kind: str, layer: int) -> HeadMixing:
        projection = self.get_submodule(hook_name(kind, layer, "output_projection"))
        assert isinstance(projection, nn.Linear)
        return HeadMixing(matrix=projection.weight.detach().T, bias=projection.bias.detach())

    def projection(self, kind: str, layer: int, stage: Stage) -> Matrix:
        attention = self.get_submodule(hook_name(kind, layer, stage).rpartition(".")[0])
        assert isinstance(attention, MultiHeadAttention)
        linear = getattr(attention, PROJECTIONS[stage])
        by_head = torch.arange(linear.out_features).view(1, -1, 1, attention.width)  # (1, G, 1, K)
        rows = attention.for_each_head(by_head).flatten()  # (H·K,)
        return Matrix(weight=linear.weight.detach()[rows], bias=linear.bias.detach()[rows])

    def position_table(self) -> Tensor | None:
        tables = (m for m in self.modules() if isinstance(m, PositionalEncoding | RotaryPositions))
        return next((positions.table.detach() for positions in tables), None)

    def rotations(self, name: StackName) -> Sequence[Rotation]:
        return rotations_of(self.get_submodule(name))

    def stack(self, name: str) -> Stack:
        raise ConfigError("This model has no residual stream that Headlight can follow. Choose a Transformer.")


class Translator(OwnModel):
    """A model of ours that `Writes`. Its logits are a matrix product, so training can use the states before it."""

    config: ModelConfig | RecurrentConfig
    output_projection: nn.Linear
    task: Literal["translation"] = "translation"
    reads_ahead = False

    def start_cache(self) -> Cache:
        raise NotImplementedError

    def encode(self, source: Tensor) -> tuple[Tensor, Tensor]:
        """See `Writes.encode`."""
        raise NotImplementedError

    def decode(
        self,
        target: Tensor,
        memory: Tensor,
        cross_mask: Tensor | None,
        *,
        cache: Cache | None = None,
        first: int = 0,
    ) -> Tensor:
        """See `Writes.decode`."""
        return self.project(self.target_states(target, memory, cross_mask, cache=cache)[:, first:])

    def target_states(
        self, target: Tensor, memory: Tensor, cross_mask: Tensor | None, *, cache: Cache | None = None
    ) -> Tensor:
        """Compute the decoder's states, the input of `project`. The arguments are those of `decode`.

        Returns:
            (B, T, D)
        """
        raise NotImplementedError

    def project(self, states: Tensor) -> Tensor:
        """From states (…, D) to logits over the target vocabulary (…, V)."""
        raise NotImplementedError

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        """Teacher forcing: from `source` (B, S) and `target` (B, T), logits (B, T, V) for the token after each one."""
        return self.decode(target, *self.encode(source))


def token_embeddings(
    config: ModelConfig | RecurrentConfig, pad_id: int, target_pad_id: int
) -> tuple[nn.Embedding, nn.Embedding]:
    """The embeddings of the source and of the target: the same matrix if all embeddings are tied."""
    target = nn.Embedding(config.target_vocab_size, config.d_model, padding_idx=target_pad_id)
    if config.tie_embeddings == "all":
        return target, target
    return nn.Embedding(config.source_vocab_size, config.d_model, padding_idx=pad_id), target


Model = TypeVar("Model")
Module = TypeVar("Module", bound=nn.Module)


def direct(model: Model) -> Model:
    """A copy of a model of ours that shares the weights, with its modules called directly: the same numbers, sooner.

    `nn.Module` looks for hooks in each call, and finds each weight after a failed search among the usual attributes.
    In a pass over one token, this takes as long as the mathematics. In the copy the weights are usual attributes, and a
    call is `forward`. Hook points work as before, because they belong to the calling context and not to the module.

    The copy is for a model that stays on its device and in its mode. Hooks that PyTorch would call, such as those of
    `register_forward_hook`, are not called. A model of a library is returned unchanged: it may need such calls.
    """
    return copied(model, {}) if isinstance(model, OwnModel) else model


def copied(module: Module, done: dict[nn.Module, nn.Module]) -> Module:
    """The copy of a module; `done` has the copies so far, because layers may share a module."""
    if module not in done:
        kind: Any = type(module)
        done[module] = copy = object.__new__(called_directly(kind))
        parts = {name: None if part is None else copied(part, done) for name, part in module._modules.items()}
        copy.__dict__ = {**vars(module), **module._parameters, **module._buffers, **parts, "_modules": parts}
    return done[module]  # type: ignore[return-value]


@cache
def called_directly(kind: type[nn.Module]) -> type[nn.Module]:
    """The same class, in which a call is `forward`; itself where it has a call of its own."""
    if kind.__call__ is not nn.Module.__call__:
        return kind
    return type(kind.__name__, (kind,), {"__call__": kind.forward, "__module__": kind.__module__})
