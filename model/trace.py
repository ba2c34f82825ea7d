"""Record and edit the tensors inside a model, with one mechanism for both.

A `HookPoint` is a module at a place where an interesting tensor passes. The caller's context, never the module, decides
what happens there. So two visitors who share a model cannot see each other's recordings or edits.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from difflib import get_close_matches
from fnmatch import fnmatchcase

from torch import Tensor, nn

from model.config.kinds import KINDS
from model.config.section import ConfigError, require

__all__ = [
    "ATTENTION",
    "EVERY_ROW",
    "Edit",
    "HookPoint",
    "IfPresent",
    "Trace",
    "ablate_heads",
    "active_trace",
    "hook_name",
    "name_hook_points",
    "tracing",
    "untraced",
]

Edit = Callable[[Tensor], Tensor]

# The value of a joined map where a key came after its query. All other stages get 0.
NOT_COMPUTED = {"weights": 0.0, "masked_scores": float("-inf"), "scores": float("nan")}


class IfPresent(str):
    """A pattern for hook points that not every model has. Every other pattern must match one that a tensor passes."""


EVERYTHING = (IfPresent("*"),)
EVERY_ROW = slice(None)
ATTENTION = (IfPresent("*.weights"), IfPresent("*.mask"))  # what every run over a text records


class Trace:
    """The tensors that passed the hook points inside a `tracing(...)` block, in the order of the passes."""

    def __init__(
        self,
        *,
        record: Sequence[str] = EVERYTHING,
        edits: Mapping[str, Edit] | None = None,
        outer: "Trace | None" = None,
    ) -> None:
        """
        Args:
            record: See `tracing`.
            edits: See `tracing`.
            outer: The trace of the block around this one. A tensor passes it first.
        """
        self._record = tuple(record)
        self._edits = dict(edits or {})
        self._outer = outer
        self._plan: dict[str, tuple[tuple[Edit, ...], bool]] = {}
        self._passes: dict[str, list[Tensor]] = {}
        self._newest: int | None = None

    def visit(self, name: str, tensor: Tensor) -> Tensor:
        """Edit a tensor, then record it, so a recording always shows what the model used.

        Returns:
            The tensor that the model continues with.
        """
        if name not in self._plan:
            edits = tuple(edit for pattern, edit in self._edits.items() if fnmatchcase(name, pattern))
            self._plan[name] = edits, any(fnmatchcase(name, pattern) for pattern in self._record)
        edits, recorded = self._plan[name]
        if self._outer is not None:
            tensor = self._outer.visit(name, tensor)
        for edit in edits:
            tensor = edit(tensor)
        if recorded:
            shown = (tensor if self._newest is None else tensor[..., -self._newest :, :]).detach().cpu()
            # Single precision holds every half-precision value.
            self._passes.setdefault(name, []).append(shown.float() if shown.is_floating_point() else shown)
        return tensor

    @contextmanager
    def newest_rows(self, count: int) -> Iterator[None]:
        """Record only the last rows of what passes inside the block: a model reads earlier tokens again in each step.

        Args:
            count: How many rows of (…, T, X) are new.
        """
        self._newest = count
        try:
            with self._outer.newest_rows(count) if self._outer else nullcontext():
                yield
        finally:
            self._newest = None

    def edits_any(self, names: Iterable[str]) -> bool:
        """Whether an edit would change a tensor at one of these hook points."""
        names = tuple(names)
        own = any(fnmatchcase(name, pattern) for name in names for pattern in self._edits)
        return own or (self._outer is not None and self._outer.edits_any(names))

    def require_matches(self) -> None:
        """Raises ConfigError if nothing passed a hook point that a pattern names, unless it is `IfPresent`."""
        for pattern in (*self._record, *self._edits):
            if isinstance(pattern, IfPresent) or pattern in self._plan:
                continue
            if any(fnmatchcase(name, pattern) for name in self._plan):
                continue
            require(
                bool(self._plan),
                "No model ran, so nothing passed {pattern}. Run a model inside.",
                pattern=repr(pattern),
            )
            similar = get_close_matches(pattern, self._plan, n=3, cutoff=0)  # slow, so only for the error
            raise ConfigError(
                "No tensor passed a hook point that matches {pattern}. Names that are similar: {names}.",
                pattern=repr(pattern),
                names=", ".join(similar),
            )

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the hook points that recorded something."""
        return tuple(self._passes)

    def passes(self, name: str) -> tuple[Tensor, ...]:
        """Every tensor that passed the hook point `name`, first to last.

        Raises:
            KeyError: nothing was recorded there.
        """
        return tuple(self._passes[name])

    def joined(self, name: str, rows: Sequence[int | slice]) -> Tensor:
        """Join the passes of a step-by-step search into one tensor for one sentence, or for all sentences of a batch.

        Args:
            name: The name of a hook point.
            rows: For each pass, the batch row to take. Beam search moves a hypothesis from row to row. `EVERY_ROW`
                takes all.

        Returns:
            (…, T, X): the queries of all passes, one after the other. In decoder self-attention the keys X grow from
            pass to pass; the missing cells of earlier queries get the values of masked cells. Of all rows,
            (B, …, T, X).
        """
        passes = self._passes[name]
        # An encoder passes once, and the padding of its windows may have a pass of its own. A beam search may have more
        # passes than its best hypothesis has tokens.
        if len(passes) == 1 or name.startswith("encoder."):
            rows = rows[: len(passes)]
        parts = list(zip(passes[: len(rows)], rows, strict=True))
        (first, row), width = parts[0], max(tensor.size(-1) for tensor, _ in parts)
        length = sum(tensor.size(-2) for tensor, _ in parts)
        fill = NOT_COMPUTED.get(name.rpartition(".")[2], 0.0)
        # Filled in place, because a map may be as large as everything else in the process.
        whole = first.new_full((*first[row].shape[:-2], length, width), fill)
        start = 0
        for tensor, row in parts:
            end = start + tensor.size(-2)
            whole[..., start:end, : tensor.size(-1)] = tensor[row]
            start = end
        return whole

    def pop_joined(self, name: str, rows: Sequence[int | slice]) -> Tensor:
        """Join the passes as `joined` does, and remove them from the trace."""
        whole = self.joined(name, rows)
        del self._passes[name]
        return whole


_ACTIVE: ContextVar[Trace | None] = ContextVar("headlight_trace", default=None)


def active_trace() -> Trace | None:
    """The trace of the current context; None outside a `tracing(...)` block."""
    return _ACTIVE.get()


@contextmanager
def tracing(*, record: Sequence[str] = EVERYTHING, edits: Mapping[str, Edit] | None = None) -> Iterator[Trace]:
    """Record and edit tensors inside the block, only for the current thread or task.

    In a block inside another one, the tensors pass the outer trace first.

    Args:
        record: Patterns for the names of hook points to record, as in `fnmatch`.
        edits: Pattern → a function from the model's tensor to the tensor that replaces it.

    Raises:
        ConfigError: at the end of the block, nothing has passed the hook points of a pattern.
    """
    trace = Trace(record=record, edits=edits, outer=_ACTIVE.get())
    token = _ACTIVE.set(trace)
    try:
        yield trace
    finally:
        _ACTIVE.reset(token)
    trace.require_matches()


@contextmanager
def untraced() -> Iterator[None]:
    """Hide the active trace inside the block: while a model is opened and checked, nobody watches or edits it."""
    token = _ACTIVE.set(None)
    try:
        yield
    finally:
        _ACTIVE.reset(token)


class HookPoint(nn.Module):
    """An identity that gives the passing tensor to the active trace. It stores neither tensors nor a trace."""

    name: str = ""

    # Not `forward`: the call of a module costs one more microsecond, and each written token passes thirty hook points.
    def __call__(self, tensor: Tensor) -> Tensor:
        trace = _ACTIVE.get()
        return tensor if trace is None else trace.visit(self.name, tensor)


def hook_name(kind: str, layer: int | str, stage: str) -> str:
    """The name of a hook point in an attention module, such as `decoder.layers.2.cross_attention.weights`.

    Args:
        kind: One of `KINDS`.
        layer: Counted from 0, or "*" for a pattern that matches all layers.
        stage: The attribute of `MultiHeadAttention`, such as "queries", "scores" or "weights".
    """
    return f"{KINDS[kind].stack}.layers.{layer}.{KINDS[kind].module}.{stage}"


def name_hook_points(model: nn.Module) -> None:
    """Name every hook point after its place in `model`, such as `decoder.layers.2.cross_attention.weights`."""
    for name, module in model.named_modules():
        if isinstance(module, HookPoint):
            module.name = name


def ablate_heads(heads: Sequence[int]) -> Edit:
    """An edit for `*.weights` that silences heads, counted from 0. Their weights become 0, so their outputs do too.

    The edit raises ConfigError if the model does not have one of the heads.
    """
    index = list(heads)

    def edit(weights: Tensor) -> Tensor:  # (B, H, T, S)
        count = weights.size(1)
        for head in index:
            require(
                -count <= head < count,
                "Head {head} does not exist. The layer has {count} heads; heads count from 0 in code.",
                head=head,
                count=count,
            )
        silenced = weights.clone()
        silenced[:, index] = 0.0
        return silenced

    return edit
