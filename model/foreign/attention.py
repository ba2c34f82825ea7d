"""One function that computes the attentions of Hugging Face's `transformers`, with our hook points.

The library lets a model be told by name which function computes its attention. Ours does what the library's own
("eager") does, shows each step where somebody looks, and takes the fused way where nobody does. Modules of the library
know neither their kind nor always their layer: `place_hooks` finds out which they are.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, finfo, nn
from transformers import AttentionInterface, AttentionMaskInterface, PreTrainedModel
from transformers.masking_utils import eager_mask
from transformers.pytorch_utils import Conv1D

from model.config.kinds import KINDS
from model.config.section import ConfigError
from model.network.attention import attention_weights
from model.safety.errors import first_line
from model.trace import HookPoint, active_trace, hook_name, tracing

__all__ = ["find_direct", "place_hooks"]

NAME = "headlight"
# Names of the matrix that mixes the heads.
PROJECTIONS = ("out_proj", "Wo", "o_proj", "o", "c_proj", "out_lin", "dense")
CROSS = (
    "encoder_attn",
    "encdecattention",
    "crossattention",
    "cross_attn",
    "cross_attention",
)  # in the names of modules

# Arguments that do not change what "eager" computes: settings of faster kernels, of training, and of what is returned.
# A window of attention is in the mask already.
NO_MATTER = frozenset(
    {
        "cache_position",
        "cu_seq_lens_k",
        "cu_seq_lens_q",
        "deterministic",
        "dropout",
        "is_causal",
        "max_length_k",
        "max_length_q",
        "output_attentions",
        "output_hidden_states",
        "output_router_logits",
        "position_ids",
        "return_dict",
        "sliding_window",
        "use_cache",
    }
)
_SEEN: ContextVar[list[tuple[nn.Module, float]] | None] = ContextVar("headlight_attention_modules", default=None)


class AttentionHooks(nn.Module):
    """The hook points of one attention, named as in our own models."""

    def __init__(self, kind: str, layer: int, scaling: float) -> None:
        super().__init__()
        self.kind, self.layer = kind, layer
        self.scaling = scaling  # what the products are multiplied with
        self.projection: list[nn.Module] = []  # mixes the heads; in a list, for it is a part of the library's module
        self.direct = False  # the projection reads what the heads found, and nothing changes that in between
        self.queries = HookPoint()  # (B, H, T, K)
        self.keys = HookPoint()  # (B, H, S, K)
        self.values = HookPoint()  # (B, H, S, K)
        self.bias = HookPoint()  # (B, H, T, S), of a model that adds one for each distance (T5)
        self.scores = HookPoint()  # (B, H, T, S)
        self.mask = HookPoint()  # (B, 1, T, S): True where a query may look
        self.masked_scores = HookPoint()  # (B, H, T, S)
        self.weights = HookPoint()  # (B, H, T, S)
        self.head_outputs = HookPoint()  # (B, H, T, K)
        self.output = HookPoint()  # (B, T, D)
        for stage, point in self.named_children():
            assert isinstance(point, HookPoint)
            point.name = hook_name(kind, layer, stage)

    def see(self, point: HookPoint, tensor: Tensor, new: int) -> Tensor:
        """Show keys or values (B, H, S, K) as our own models do: each once, when it is new."""
        if self.kind == "decoder":
            newest = point(tensor[:, :, -new:])
            return newest if new == tensor.size(2) else torch.cat([tensor[:, :, :-new], newest], dim=2)
        trace = active_trace()
        return tensor if trace is None or point.name in trace.names else point(tensor)


def attend(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    scaling: float | None = None,
    position_bias: Tensor | None = None,
    softcap: float | None = None,
    s_aux: Tensor | None = None,
    **others: Any,
) -> tuple[Tensor, Tensor | None]:
    """Attention as the library asks for it; its models are in evaluation mode, so nothing is dropped out.

    Args:
        module: Which attention this is.
        query: (B, H, T, K).
        key: (B, G, S, K), where G divides H: heads of a group share it.
        value: (B, G, S, K).
        attention_mask: Added to the scores, broadcast over (B, H, T, S); hugely negative = may not attend.
        scaling: What the products are multiplied with, 1/√K by default.
        position_bias: Of T5, added to the scores, (B or 1, H, T, S).
        softcap: Of Gemma 2.
        s_aux: The attention sinks of gpt-oss.
        others: What the library passes to every function of attention, see `NO_MATTER`.

    Returns:
        (B, T, H, K), and the weights (B, H, T, S) where they were computed.

    Raises:
        ConfigError: the scores are capped, there are sinks, or an argument is unknown: all may change the weights in
            ways that are not shown here.
    """
    if softcap is not None or s_aux is not None:
        raise ConfigError(f"{type(module).__name__} caps its scores or has attention sinks, which we cannot show.")
    if unknown := sorted(name for name, value in others.items() if value is not None and name not in NO_MATTER):
        raise ConfigError(
            f"{type(module).__name__} computes its attention with {', '.join(unknown)}, which we do not know, so its "
            "maps might be wrong."
        )
    seen = _SEEN.get()
    if seen is not None:
        seen.append((module, query.size(-1) ** -0.5 if scaling is None else scaling))
    groups = query.size(1) // key.size(1)
    if groups > 1:
        key, value = key.repeat_interleave(groups, dim=1), value.repeat_interleave(groups, dim=1)
    scaling = query.size(-1) ** -0.5 if scaling is None else scaling
    if seen is not None or active_trace() is None:
        bias = position_bias if attention_mask is None else attention_mask
        if position_bias is not None and attention_mask is not None:
            bias = position_bias + attention_mask
        heads = F.scaled_dot_product_attention(query, key, value, attn_mask=bias, scale=scaling)
        return heads.transpose(1, 2).contiguous(), None
    hooks: Any = module.hooks
    new = query.size(2)
    query, key, value = hooks.queries(query), hooks.see(hooks.keys, key, new), hooks.see(hooks.values, value, new)
    scores = query @ key.transpose(-2, -1) * scaling  # (B, H, T, S)
    if position_bias is not None and hooks.kind != "cross":  # of T5, which has none there and adds zeros
        scores = scores + hooks.bias(position_bias.expand_as(scores))
    scores = hooks.scores(scores)
    if attention_mask is None:
        masked, may_look = scores, scores.new_ones((), dtype=torch.bool).expand_as(scores)
    else:
        forbidden = attention_mask <= finfo(attention_mask.dtype).min / 2
        masked = (scores + attention_mask).masked_fill(forbidden, float("-inf"))
        may_look = (~forbidden).expand_as(scores)
    hooks.mask(may_look[:, :1])  # one for all heads
    weights = hooks.weights(attention_weights(hooks.masked_scores(masked).float()))
    heads = hooks.head_outputs(weights.to(value.dtype) @ value)  # (B, H, T, K)
    return heads.transpose(1, 2).contiguous(), weights


AttentionInterface.register(NAME, attend)
AttentionMaskInterface.register(NAME, eager_mask)


@contextmanager
def seen_modules() -> Iterator[list[tuple[nn.Module, float]]]:
    """The attention modules that compute something inside the block, in their order, and how they scale it."""
    seen: list[tuple[nn.Module, float]] = []
    token = _SEEN.set(seen)
    try:
        yield seen
    finally:
        _SEEN.reset(token)


def place_hooks(model: PreTrainedModel, run: Callable[[], object]) -> list[AttentionHooks]:
    """Give every attention of a model its hook points.

    Args:
        model: Of the library; from now on it computes its attention here.
        run: Runs all of the model on a few tokens.

    Returns:
        Those of every attention, layer by layer.

    Raises:
        ConfigError: the model needs more than token ids.
    """
    model.set_attn_implementation(NAME)
    with seen_modules() as seen:
        try:
            run()
        except ConfigError:
            raise
        except Exception as error:  # as many kinds of errors as there are models that take something else than ids
            raise ConfigError(
                f"models of the family {model.config.model_type} need more than two token ids, or this one has sizes "
                f"that do not fit each other. The library says: {first_line(error)}"
            ) from error
    names = {module: name for name, module in model.named_modules()}
    if len(dict(seen)) < len(seen):
        raise ConfigError(
            f"the layers of {model.config.model_type} share one attention, so their maps cannot be told apart."
        )
    layers = dict.fromkeys(KINDS, 0)
    placed = []
    for module, scaling in seen:
        kind = kind_of(names[module], module, two_stacks=model.config.is_encoder_decoder)
        module.hooks = hooks = AttentionHooks(kind, layers[kind], scaling)
        if (projection := projection_of(model, names[module])) is not None:
            hooks.projection = [projection]
            projection.register_forward_hook(partial(show_output, hooks))
        placed.append(hooks)
        layers[kind] += 1
    return placed


def find_direct(placed: Sequence[AttentionHooks], run: Callable[[], object]) -> None:
    """Mark the attentions that give to their projection just what their heads found.

    In some models a norm (BitNet) or a gate (Qwen3-Next) stands between the two.

    Args:
        placed: From `place_hooks`.
        run: Runs all of the model on a few tokens.
    """
    read: dict[AttentionHooks, Tensor] = {}

    def keep(hooks: AttentionHooks, _module: nn.Module, inputs: tuple[Tensor, ...]) -> None:
        read[hooks] = inputs[0].detach().float().cpu()

    handles = [
        projection.register_forward_pre_hook(partial(keep, hooks))
        for hooks in placed
        for projection in hooks.projection
    ]
    try:
        with tracing(record=("*.head_outputs",)) as trace:
            run()
    finally:
        for handle in handles:
            handle.remove()
    for hooks in placed:
        heads = trace.passes(hooks.head_outputs.name)[0].transpose(1, 2).flatten(2)  # (B, T, H·K)
        hooks.direct = hooks in read and torch.equal(read[hooks].reshape(-1), heads.reshape(-1))


def projection_of(model: PreTrainedModel, name: str) -> nn.Module | None:
    """The matrix that mixes the heads of an attention: its last part, or that of the module beside it (BERT)."""
    module = model.get_submodule(name)
    beside = model.get_submodule(name.rpartition(".")[0])
    found = (getattr(module, part, None) for part in PROJECTIONS)
    output = getattr(getattr(beside, "output", None), "dense", None)
    return next((part for part in (*found, output) if isinstance(part, nn.Linear | Conv1D)), None)


def show_output(hooks: AttentionHooks, _module: nn.Module, _inputs: object, output: Tensor) -> Tensor:
    return hooks.output(output)


def kind_of(name: str, module: nn.Module, *, two_stacks: bool) -> str:
    """The kind of an attention module, by its name in the model; of a single stack, by whether it looks ahead."""
    lower = name.lower()
    if any(part in lower for part in CROSS):
        return "cross"
    decoder = "decoder" in lower if two_stacks else getattr(module, "is_causal", False)
    return "decoder" if decoder else "encoder"
