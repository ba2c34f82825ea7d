"""The residual streams of one model of Hugging Face's `transformers`: found when it opens, checked at the first use."""

import threading
from collections.abc import Collection
from typing import Literal

import torch
from transformers import PreTrainedModel

from model.config.section import ConfigError
from model.foreign.foreign_stack import describe_foreign_stack
from model.foreign.sizes import classes_of
from model.foreign.stack_modules import find_stack
from model.foreign.stream_hooks import StackModules, place_stream_hooks
from model.foreign.verification import verify
from model.messages import Message
from model.network.residual_stream import Pooling, Stack, StackName
from model.safety.errors import first_line

__all__ = ["ForeignStacks"]

# Two visitors may ask for the same description at once. It is made once.
CHECKING = threading.Lock()


class ForeignStacks:
    """The encoder and the decoder of a model, or the reason why their residual stream cannot be followed."""

    def __init__(self, model: PreTrainedModel, names: Collection[StackName]) -> None:
        """Find the modules and place the hook points.

        Args:
            model: A model of the library whose attention modules have their hook points.
            names: "encoder", "decoder" or both.
        """
        self.model = model
        self.modules: dict[str, StackModules] = {}
        self.reasons: dict[str, str] = {}
        self.checked: dict[str, Stack] = {}
        for name in names:
            try:
                self.modules[name] = find_stack(model, name)
            except Exception as error:  # a family that is built in another way still shows its maps
                self.reasons[name] = reason_of(error)
        place_stream_hooks(model, list(self.modules.values()))

    def stack(self, name: str) -> Stack:
        """The description of the encoder or the decoder. The first call compares it with the model.

        Raises:
            ConfigError: the model does not have this stack, its blocks are not known, or they compute something else.
        """
        if name not in self.checked and name not in self.reasons:
            with CHECKING:
                self.check(name)
        if name in self.checked:
            return self.checked[name]
        raise ConfigError(
            "The residual stream of models of the family {family} cannot be followed: {reason}.",
            family=self.model.config.model_type,
            reason=self.reasons[name],
        )

    def check(self, name: str) -> None:
        """Describe a stack and compare it, unless another visitor did so in the meantime."""
        if name in self.checked or name in self.reasons:
            return
        try:
            self.checked[name] = self.describe(name)
        except (MemoryError, torch.OutOfMemoryError):  # there may be enough memory later
            raise
        except Exception as error:
            self.reasons[name] = reason_of(error)

    def describe(self, name: str) -> Stack:
        if name not in self.modules:
            raise ConfigError("the model has no {stack}", stack=name)
        # The description is kept, so its tensors must not belong to the inference mode of the first caller.
        with torch.inference_mode(False):
            stack = describe_foreign_stack(self.model, self.modules[name], pooling=pooling_of(self.model))
            verify(self.model, stack)
        return stack


def reason_of(error: Exception) -> str:
    if isinstance(error, ConfigError):
        return error.message
    return Message("the library reports: {error}", error=first_line(error))


def pooling_of(model: PreTrainedModel) -> Pooling:
    """How a classifier combines the positions; "none" for another model."""
    if getattr(model, "classifier", None) is None:
        return "none"
    if getattr(model.config, "classifier_pooling", "") == "late":
        return "late"
    pooling: Literal["first", "mean"] = classes_of(model.config)["pooling"]
    return pooling
