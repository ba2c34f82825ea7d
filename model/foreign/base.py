"""What all models of Hugging Face's `transformers` share here: hook points, sizes, and the matrices of the heads."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from model.config.foreign import ForeignSizes
from model.config.kinds import KINDS
from model.config.section import ConfigError
from model.foreign.attention import find_direct, place_hooks
from model.foreign.positions import find_positions
from model.foreign.sizes import learned_positions, sizes_of
from model.foreign.stacks import ForeignStacks
from model.network.position_kind import PositionKind
from model.network.protocols import HeadMixing
from model.network.residual_stream import Stack, StackName

__all__ = ["ForeignModel"]


class ForeignModel(nn.Module):
    """A model of the library that `Reads`, as our own do. It never changes after it is built."""

    config: ForeignSizes
    pad_id: int

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
        with torch.inference_mode():
            hooks = place_hooks(model, lambda: run_once(model))
            find_direct(hooks, lambda: run_once(model))
        self.hooks = {(one.kind, one.layer): one for one in hooks}
        self.stacks = ForeignStacks(model, {KINDS[kind].stack for kind in needed})
        self.position_kinds: dict[str, PositionKind] = {}
        self.config = sizes_of(model, [one.kind for one in hooks], needed=needed)

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
        return self.hooks[kind, layer].scaling

    def score_cap(self, kind: str, layer: int) -> float | None:
        return None  # `attend` refuses limits and sinks

    def sinks(self, kind: str, layer: int) -> Tensor | None:
        return None

    def stack(self, name: str) -> Stack:
        return self.stacks.stack(name)

    def mixing(self, kind: str, layer: int) -> HeadMixing:
        hooks = self.hooks[kind, layer]
        if not hooks.direct:
            raise ConfigError(
                f"Models of the family {self.model.config.model_type} have a norm, a gate or several matrices after "
                "the head outputs. So the contribution of a single head cannot be computed."
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
