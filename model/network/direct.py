"""A model of ours whose modules are called directly, for reading only: the same code, so the same numbers.

`nn.Module` looks for hooks in each call, and finds each weight after a failed search among the usual attributes. In a
pass over one token, this takes as long as the mathematics. Here the weights are usual attributes, and a call is
`forward`. Hook points work as before, because they belong to the calling context and not to the module.
"""

from functools import cache
from typing import Any, TypeVar

from torch import nn

from model.network.own_model import OwnModel

__all__ = ["direct"]

Model = TypeVar("Model")
Module = TypeVar("Module", bound=nn.Module)


def direct(model: Model) -> Model:
    """A copy of a model of ours that shares the weights, with its modules called directly.

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
