"""What all models of Hugging Face's `transformers` share here: hook points, sizes, and the matrices of the heads."""

from collections import Counter
from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from model.config.foreign import ForeignSizes
from model.config.kinds import KINDS
from model.config.section import ConfigError
from model.foreign.attention import AttentionHooks, OwnAttentionError, find_direct, place_hooks
from model.foreign.positions import find_positions
from model.foreign.returned_attention import place_returned_weights
from model.foreign.sizes import learned_positions, sizes_of
from model.foreign.stacks import ForeignStacks
from model.messages import N_, Message
from model.network.position_kind import PositionKind
from model.network.protocols import HeadMixing
from model.network.residual_stream import Stack, StackName

__all__ = ["ForeignModel"]

READ_ONLY = N_("Nothing can be changed in this model, and only its attention weights are known: {error}.")


class ForeignModel(nn.Module):
    """A model of the library that `Reads`, as our own do. It never changes after it is built."""

    config: ForeignSizes
    pad_id: int
    read_only_reason: str

    def __init__(
        self, model: PreTrainedModel, run_once: Callable[[PreTrainedModel], object], needed: Sequence[str]
    ) -> None:
        """Place the hook points and find the sizes.

        Args:
            model: A model of the library.
            run_once: Runs the whole model on a few tokens.
            needed: The kinds of attention that it must have.

        Raises:
            ConfigError: the model needs more than token ids, or its attention cannot be recorded.
        """
        super().__init__()
        model.config.return_dict = True
        self.model = model.eval()
        self.hooks: dict[tuple[str, int], AttentionHooks] = {}
        self.read_only_reason = ""
        sizes = self.place_attention(lambda: run_once(model), needed)
        self.stacks = ForeignStacks(model, {KINDS[kind].stack for kind in needed})
        self.position_kinds: dict[str, PositionKind] = {}
        self.config = sizes

    @property
    def target_pad_id(self) -> int:
        return self.pad_id

    @torch.inference_mode()
    def place_attention(self, run: Callable[[], object], needed: Sequence[str]) -> ForeignSizes:
        """Place the hook points of the attention, and count its layers."""
        try:
            hooks = place_hooks(self.model, run, needed)
        except OwnAttentionError as error:
            self.read_only_reason = Message(READ_ONLY, error=error)
            returned = place_returned_weights(self.model, needed, self.read_only_reason)
            return sizes_of(self.model, returned.layers, heads=returned.heads)
        find_direct(hooks, run)
        self.hooks = {(one.kind, one.layer): one for one in hooks}
        return sizes_of(self.model, Counter(one.kind for one in hooks))

    @property
    def device(self) -> torch.device:
        return next(self.parameters()).device

    def position_table(self) -> Tensor | None:
        table = learned_positions(self.model)
        return None if table is None else table.float()

    def position_kind(self, name: StackName) -> PositionKind:
        """See `Reads.position_kind`. The first call runs the model on a few tokens."""
        if name not in self.position_kinds:
            self.position_kinds[name] = find_positions(self.model, name, self.config.num_layers(name))
        return self.position_kinds[name]

    def scaling(self, kind: str, layer: int) -> float:
        self.require_hooks()
        return self.hooks[kind, layer].scoring.scaling

    def score_cap(self, kind: str, layer: int) -> float | None:
        self.require_hooks()
        return self.hooks[kind, layer].scoring.cap

    def sinks(self, kind: str, layer: int) -> Tensor | None:
        self.require_hooks()
        return self.hooks[kind, layer].scoring.sinks

    def require_hooks(self) -> None:
        """Raises ConfigError if only the weights of the attention are known."""
        if self.read_only_reason:
            raise ConfigError(self.read_only_reason)

    def stack(self, name: str) -> Stack:
        return self.stacks.stack(name)

    def mixing(self, kind: str, layer: int) -> HeadMixing:
        self.require_hooks()
        hooks = self.hooks[kind, layer]
        if not hooks.direct:
            raise ConfigError(
                "Models of the family {model_type} have a norm, a gate or several matrices after the head "
                "outputs. So the contribution of a single head cannot be computed.",
                model_type=self.model.config.model_type,
            )
        (projection,) = hooks.projection
        weight, bias = projection.weight, projection.bias
        assert isinstance(weight, Tensor)
        matrix = weight.T if isinstance(projection, nn.Linear) else weight  # GPT-2 stores the transpose
        zeros = torch.zeros(matrix.size(1))
        return HeadMixing(
            matrix=matrix.detach().float(),
            bias=bias.detach().float() if isinstance(bias, Tensor) else zeros,
        )
