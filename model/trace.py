"""Recording and intervening: one mechanism for both.

A `HookPoint` stands in the model where a tensor worth seeing passes. Whether anything happens there is decided by the
caller's own context, never by the module: two visitors who share one model cannot see each other's recordings or edits.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from fnmatch import fnmatchcase

from torch import Tensor, nn

from model.config.kinds import KINDS

__all__ = [
    "Edit",
    "HookPoint",
    "Trace",
    "ablate_heads",
    "active_trace",
    "hook_name",
    "name_hook_points",
    "tracing",
]

Edit = Callable[[Tensor], Tensor]

# What stands in a joined map where an earlier query could not yet see a later key.
NOT_COMPUTED = {"weights": 0.0, "masked_scores": float("-inf"), "scores": float("nan")}


class Trace:
    """The tensors that passed the hook points while a `tracing(...)` block was open, in order of passing."""

    def __init__(self, *, record: Sequence[str] = ("*",), edits: Mapping[str, Edit] | None = None) -> None:
        self._record = tuple(record)
        self._edits = dict(edits or {})
        self._plan: dict[str, tuple[tuple[Edit, ...], bool]] = {}
        self._passes: dict[str, list[Tensor]] = {}

    def visit(self, name: str, tensor: Tensor) -> Tensor:
        """Edit, then record: what is recorded is what the model goes on with."""
        if name not in self._plan:
            edits = tuple(edit for pattern, edit in self._edits.items() if fnmatchcase(name, pattern))
            self._plan[name] = edits, any(fnmatchcase(name, pattern) for pattern in self._record)
        edits, recorded = self._plan[name]
        for edit in edits:
            tensor = edit(tensor)
        if recorded:
            self._passes.setdefault(name, []).append(to_recorded(tensor))
        return tensor

    @property
    def names(self) -> tuple[str, ...]:
        """The hook points that were passed and recorded."""
        return tuple(self._passes)

    def passes(self, name: str) -> tuple[Tensor, ...]:
        """Every tensor that passed the hook point `name`, first to last.

        Raises:
            KeyError: nothing was recorded there.
        """
        return tuple(self._passes[name])

    def joined(self, name: str, rows: Sequence[int]) -> Tensor:
        """Join the passes of a step-by-step decode into one tensor for one sentence.

        Args:
            name: A hook point.
            rows: For each pass, the batch row to take (a beam search moves a hypothesis from row to row).

        Returns:
            (…, T, X): each pass is one stretch of queries; where the last axis grew from pass to pass, as the keys
            of decoder self-attention do, earlier queries are filled up with what a mask would leave there.
        """
        parts = list(zip(self._passes[name], rows, strict=False))
        first, width = parts[0][0], max(tensor.size(-1) for tensor, _ in parts)
        length = sum(tensor.size(-2) for tensor, _ in parts)
        fill = NOT_COMPUTED.get(name.rpartition(".")[2], 0.0)
        # Filled in place: a map may be as large as all else that the process holds.
        whole = first.new_full((*first.shape[1:-2], length, width), fill)
        start = 0
        for tensor, row in parts:
            end = start + tensor.size(-2)
            whole[..., start:end, : tensor.size(-1)] = tensor[row]
            start = end
        return whole

    def take(self, name: str, rows: Sequence[int]) -> Tensor:
        """Join the passes as `joined` does, and forget them."""
        whole = self.joined(name, rows)
        del self._passes[name]
        return whole


def to_recorded(tensor: Tensor) -> Tensor:
    """What is kept of a tensor: on the CPU, and in single precision, which arrays need and halves lose nothing by."""
    kept = tensor.detach().cpu()
    return kept.float() if kept.is_floating_point() else kept


_ACTIVE: ContextVar[Trace | None] = ContextVar("headlight_trace", default=None)


def active_trace() -> Trace | None:
    """The trace of the current context, if a `tracing(...)` block is open in it."""
    return _ACTIVE.get()


@contextmanager
def tracing(*, record: Sequence[str] = ("*",), edits: Mapping[str, Edit] | None = None) -> Iterator[Trace]:
    """Record and edit what passes the hook points inside the block, for this thread of control alone.

    Args:
        record: Patterns (as in `fnmatch`) of hook point names to record.
        edits: Pattern → function that receives the tensor and returns the one to go on with.
    """
    trace = Trace(record=record, edits=edits)
    token = _ACTIVE.set(trace)
    try:
        yield trace
    finally:
        _ACTIVE.reset(token)


class HookPoint(nn.Module):
    """An identity that shows the passing tensor to the active trace. Holds no tensors and no trace of its own."""

    name: str = ""

    # Not `forward`: a module's own call costs a microsecond more, and a decoded token passes thirty hook points.
    def __call__(self, tensor: Tensor) -> Tensor:
        trace = _ACTIVE.get()
        return tensor if trace is None else trace.visit(self.name, tensor)


def hook_name(kind: str, layer: int | str, stage: str) -> str:
    """Where a stage of attention is seen, such as `decoder.layers.2.cross_attention.weights`.

    Args:
        kind: One of `KINDS`.
        layer: Counted from 0, or "*" for a pattern that means all.
        stage: As the hook points of `MultiHeadAttention` are called.
    """
    return f"{KINDS[kind].stack}.layers.{layer}.{KINDS[kind].module}.{stage}"


def name_hook_points(model: nn.Module) -> None:
    """Give every hook point its place in `model` as its name, such as `decoder.layers.2.cross_attention.weights`."""
    for name, module in model.named_modules():
        if isinstance(module, HookPoint):
            module.name = name


def ablate_heads(heads: Sequence[int]) -> Edit:
    """An edit for `*.weights` that silences heads (counted from 0): their weights become zero, so their output too."""
    index = list(heads)

    def edit(weights: Tensor) -> Tensor:  # (B, H, T, S)
        silenced = weights.clone()
        silenced[:, index] = 0.0
        return silenced

    return edit
