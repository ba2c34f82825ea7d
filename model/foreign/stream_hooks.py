"""Hook points on the residual stream of a model of Hugging Face's `transformers`.

The names are those of our own models: what the norms return, what each block adds, the feed-forward units, the stream
after each block, and the logits. PyTorch's hooks call `visit` of the active trace. Without one they return at once, and
they never store a tensor on a module.
"""

from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from typing import Any

from torch import Tensor, nn

from model.foreign.blocks import StackModules
from model.trace import Trace, active_trace

__all__ = ["place_stream_hooks", "when_traced"]

# The stream inside a layer: a model of the library keeps the sum of its first block in a local variable.
_STREAM: ContextVar[Tensor | None] = ContextVar("headlight_residual_stream", default=None)


def place_stream_hooks(model: nn.Module, stacks: Sequence[StackModules]) -> None:
    """Place the hook points of all stacks, and one on the logits. The model is not used by anybody else yet."""
    for stack in stacks:
        place_embedding_hooks(stack)
        for index in range(len(stack.layers)):
            place_layer_hooks(stack, index)
        if stack.final_norm is not None:
            stack.final_norm.register_forward_hook(when_traced(visit_output, (f"{stack.name}.states",), 1.0))
    model.register_forward_hook(when_traced(visit_logits))


def place_embedding_hooks(stack: StackModules) -> None:
    parts, name = stack.embedding, f"{stack.name}.embedding"
    parts.tokens.register_forward_hook(when_traced(visit_output, (f"{name}.token_vectors",), parts.multiplier))
    if parts.positions is not None:
        parts.positions.register_forward_hook(when_traced(visit_output, (f"{name}.positions",), 1.0))
    reads = parts.matrix if parts.norm is None else parts.norm
    if reads is not None:
        reads.register_forward_pre_hook(when_traced(visit_input, f"{name}.sum"))


def place_layer_hooks(stack: StackModules, index: int) -> None:
    blocks, parallel = stack.layers[index], stack.parallel[index]
    layer = blocks[0].layer
    layer.register_forward_pre_hook(when_traced(enter_layer, stack.first if index == 0 else ""), with_kwargs=True)
    seen: list[nn.Module] = []
    for block in blocks:
        last = block is blocks[-1]
        before, added, after = block.norms
        norm = before or after
        if norm is not None and norm not in seen:
            seen.append(norm)
            # The stream of the last block is the output of the layer, see `leave_layer`.
            stream = () if after is None or last else (f"{block.place}.stream",)
            norm.register_forward_hook(when_traced(visit_output, (f"{block.place}.normed", *stream), 1.0))
        adds = added or block.output
        sums = after is None and not last and not parallel
        visit = visit_added if sums else visit_copy if parallel else visit_output
        names = (f"{block.place}.added", *((f"{block.place}.stream",) if sums else ()))
        adds.register_forward_hook(when_traced(visit, names, block.multiplier))
        if block.contract is not None:
            block.contract.register_forward_pre_hook(when_traced(visit_input, f"{block.name}.units"))
    is_end = index == len(stack.layers) - 1 and stack.final_norm is None
    states = (f"{stack.name}.states",) if is_end else ()
    layer.register_forward_hook(when_traced(leave_layer, (f"{blocks[-1].place}.stream", *states)))


def when_traced(visit: Callable[..., Any], *given: Any) -> Callable[..., Any]:
    """A hook of PyTorch. While a trace is active, it calls `visit` with the trace, what is given, and its arguments."""

    def hook(*arguments: Any) -> Any:
        trace = active_trace()
        return None if trace is None else visit(trace, *given, *arguments)

    return hook


def visit_copy(
    trace: Trace, names: Sequence[str], multiplier: float, module: object, inputs: object, output: Any
) -> Any:
    """As `visit_output`, for a tensor that the library may change in place later (Falcon)."""
    return visit_output(trace, names, multiplier, module, inputs, with_first(output, first_of(output).clone()))


def visit_output(
    trace: Trace, names: Sequence[str], multiplier: float, _module: object, _inputs: object, output: Any
) -> Any:
    """The output of a module, times a factor that the library applies to it later, passes hook points."""
    tensor = first_of(output)
    scaled = tensor if multiplier == 1 else tensor * multiplier
    visited = visit_all(trace, names, scaled)
    return None if visited is scaled else with_first(output, visited / multiplier)


def visit_added(
    trace: Trace, names: Sequence[str], multiplier: float, _module: object, _inputs: object, output: Any
) -> Any:
    """What a block adds passes the first hook point, and its sum with the stream passes the second one."""
    stream = _STREAM.get()
    if stream is None:
        return None
    tensor = first_of(output)
    scaled = (tensor if multiplier == 1 else tensor * multiplier).reshape(stream.shape)
    added = trace.visit(names[0], scaled)
    total = stream + added
    edited = trace.visit(names[1], total)
    _STREAM.set(edited)
    if edited is not total:
        added = edited - stream  # the library adds the stream again
    return None if added is scaled else with_first(output, (added / multiplier).reshape(tensor.shape))


def visit_input(trace: Trace, name: str, _module: object, inputs: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """The first argument of a module passes a hook point."""
    visited = visit_all(trace, (name,), inputs[0])
    return None if visited is inputs[0] else (visited, *inputs[1:])


def enter_layer(trace: Trace, name: str, _module: object, inputs: tuple[Any, ...], named: Mapping[str, Any]) -> Any:
    """The stream enters a layer. Before the first layer it passes a hook point."""
    tensor = inputs[0] if inputs else named["hidden_states"]
    visited = trace.visit(name, tensor) if name else tensor
    _STREAM.set(visited)
    if visited is tensor:
        return None
    return ((visited, *inputs[1:]), named) if inputs else (inputs, {**named, "hidden_states": visited})


def leave_layer(trace: Trace, names: Sequence[str], _module: object, _inputs: object, output: Any) -> Any:
    """The stream leaves a layer."""
    _STREAM.set(None)
    tensor = first_of(output)
    visited = visit_all(trace, names, tensor)
    return None if visited is tensor else with_first(output, visited)


def visit_logits(trace: Trace, _model: object, _inputs: object, output: Any) -> None:
    """The logits pass a hook point. Models without a head have none."""
    logits = getattr(output, "logits", None)
    if isinstance(logits, Tensor):
        output.logits = trace.visit("logits", logits)


def visit_all(trace: Trace, names: Sequence[str], tensor: Tensor) -> Tensor:
    """Pass a tensor (B, T, D) through hook points. In some layers of the library it is (B·T, D) (OPT, Llama 4)."""
    stream = _STREAM.get()
    flat = tensor.dim() == 2 and stream is not None
    shaped = tensor.reshape(*stream.shape[:-1], -1) if flat and stream is not None else tensor
    visited = shaped
    for name in names:
        visited = trace.visit(name, visited)
    return tensor if visited is shaped else visited.reshape(tensor.shape)


def first_of(output: Any) -> Tensor:
    """Some modules return a tensor, others a tuple or a list that starts with one."""
    found = output[0] if isinstance(output, tuple | list) else output
    assert isinstance(found, Tensor)
    return found


def with_first(output: Any, tensor: Tensor) -> Any:
    return type(output)([tensor, *output[1:]]) if isinstance(output, tuple | list) else tensor
