"""One function that computes the attention of all models of Hugging Face's `transformers`, with our hook points.

A model of the library can be given the name of the function that computes its attention. Our function computes the
same as the library's own ("eager"). If a trace is active, it records every step; otherwise it uses the fused kernel.
The library's modules do not know their kind and do not always know their layer: `place_hooks` finds both.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
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
from model.messages import first_line
from model.network.attention import attention_weights
from model.network.scores import Scoring, attention_scores
from model.trace import HookPoint, IfPresent, active_trace, hook_name, tracing, untraced

__all__ = ["AttentionHooks", "OwnAttentionError", "find_direct", "only_earlier_tokens", "place_hooks"]

NAME = "headlight"
# Names of the output projection, which mixes the heads.
PROJECTIONS = ("out_proj", "Wo", "o_proj", "o", "c_proj", "out_lin", "dense")
# Parts of the names of modules with cross-attention.
CROSS = ("encoder_attn", "encdecattention", "crossattention", "cross_attn", "cross_attention")

# Arguments that do not change the result of "eager": settings of faster kernels, of training, and of what is returned.
# The window of an attention is already in the mask.
HARMLESS_ARGUMENTS = frozenset(
    (
        *("cache_position", "cu_seq_lens_k", "cu_seq_lens_q", "deterministic", "dropout", "is_causal"),
        *("max_length_k", "max_length_q", "output_attentions", "output_hidden_states", "output_router_logits"),
        *("position_ids", "return_dict", "sliding_window", "use_cache"),
    )
)


Found = list[tuple[nn.Module, Scoring]]
_FOUND: ContextVar[Found | None] = ContextVar("headlight_attention_modules", default=None)


class OwnAttentionError(ConfigError):
    """The library computes the attention of a model where `attend` cannot take its place."""


class AttentionHooks(nn.Module):
    """The hook points of one attention module, with the same names as in our own models."""

    def __init__(self, kind: str, layer: int, scoring: Scoring) -> None:
        super().__init__()
        self.kind, self.layer = kind, layer
        self.scoring = scoring
        self.projection: list[nn.Module] = []  # mixes the heads; in a list, because it belongs to the library's module
        self.direct = False  # the projection reads the head outputs unchanged
        self.queries = HookPoint()  # (B, H, T, K)
        self.keys = HookPoint()  # (B, H, S, K)
        self.values = HookPoint()  # (B, H, S, K)
        self.bias = HookPoint()  # (B, H, T, S), in models that add a number for each distance (T5)
        self.scores = HookPoint()  # (B, H, T, S)
        self.mask = HookPoint()  # (B, 1, T, S): True where a query may attend
        self.masked_scores = HookPoint()  # (B, H, T, S)
        self.weights = HookPoint()  # (B, H, T, S)
        self.head_outputs = HookPoint()  # (B, H, T, K)
        self.output = HookPoint()  # (B, T, D)
        for stage, point in self.named_children():
            assert isinstance(point, HookPoint)
            point.name = hook_name(kind, layer, stage)

    def show(self, point: HookPoint, tensor: Tensor, new: int) -> Tensor:
        """Pass keys or values (B, H, S, K) through a hook point as our own models do: each once, when it is new."""
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
    """Attention as the library calls it. Its models are in evaluation mode, so there is no dropout.

    Args:
        module: The attention module of the library.
        query: (B, H, T, K).
        key: (B, G, S, K), where G divides H: H / G heads share one key.
        value: (B, G, S, K).
        attention_mask: Added to the scores, broadcast over (B, H, T, S). A very large negative number means masked.
        scaling: The factor of the products q·k, 1/√K by default.
        position_bias: Added to the scores in T5, (B or 1, H, T, S).
        softcap: The limit of the scores in Gemma 2.
        s_aux: The scores of the attention sinks of gpt-oss, (H,).
        others: What else the library passes to every attention function, see `HARMLESS_ARGUMENTS`.

    Returns:
        The head outputs (B, T, H, K), and the weights (B, H, T, S) if they were computed.

    Raises:
        ConfigError: an argument is unknown. It may change the weights in a way that is not shown here.
    """
    require_known_arguments(module, others)
    scaling = query.size(-1) ** -0.5 if scaling is None else scaling
    scoring = Scoring(scaling=scaling, cap=softcap, sinks=None if s_aux is None else s_aux.detach())
    found = _FOUND.get()
    if found is not None:
        found.append((module, scoring))
    groups = query.size(1) // key.size(1)
    if groups > 1:
        key, value = key.repeat_interleave(groups, dim=1), value.repeat_interleave(groups, dim=1)
    plain = scoring.cap is None and scoring.sinks is None  # PyTorch's fused kernel computes the same
    if plain and (found is not None or active_trace() is None):
        heads = fused_attention(query, key, value, mask=attention_mask, bias=position_bias, scaling=scaling)
        return heads.transpose(1, 2).contiguous(), None
    # While the modules are found, nothing is recorded, and they have no hook points yet.
    hooks: Any = AttentionHooks("encoder", 0, scoring) if found is not None else module.hooks
    heads, weights = recorded_attention(
        hooks, query, key, value, mask=attention_mask, bias=position_bias, scoring=scoring
    )
    return heads.transpose(1, 2).contiguous(), weights


def require_known_arguments(module: nn.Module, others: Mapping[str, Any]) -> None:
    """Raises ConfigError if an argument may change the weights in a way that is not shown here."""
    family = type(module).__name__
    unknown = sorted(name for name, value in others.items() if value is not None and name not in HARMLESS_ARGUMENTS)
    if unknown:
        raise ConfigError(
            "{family} computes its attention with {unknown}. Headlight does not know this argument, so the "
            "maps could be wrong.",
            family=family,
            unknown=", ".join(unknown),
        )


def fused_attention(
    query: Tensor, key: Tensor, value: Tensor, *, mask: Tensor | None, bias: Tensor | None, scaling: float
) -> Tensor:
    """The head outputs (B, H, T, K) by PyTorch's fused kernel, which keeps no weights."""
    added = [tensor for tensor in (bias, mask) if tensor is not None]
    return F.scaled_dot_product_attention(
        query, key, value, attn_mask=sum(added[1:], added[0]) if added else None, scale=scaling
    )


def recorded_attention(
    hooks: AttentionHooks,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    *,
    mask: Tensor | None,
    bias: Tensor | None,
    scoring: Scoring,
) -> tuple[Tensor, Tensor]:
    """The head outputs (B, H, T, K) and the weights (B, H, T, S), step by step through the hook points."""
    new = query.size(2)
    query, key, value = hooks.queries(query), hooks.show(hooks.keys, key, new), hooks.show(hooks.values, value, new)
    if bias is not None:  # T5 passes zeros in cross-attention
        bias = None if hooks.kind == "cross" else hooks.bias(bias.expand(*query.shape[:3], key.size(2)))
    scores = attention_scores(query, key, scaling=scoring.scaling, cap=scoring.cap, bias=bias)  # (B, H, T, S)
    scores = hooks.scores(scores)
    if mask is None:
        masked, may_attend = scores, scores.new_ones((), dtype=torch.bool).expand_as(scores)
    else:
        closed = mask <= finfo(mask.dtype).min / 2
        masked = (scores + mask).masked_fill(closed, float("-inf"))
        may_attend = (~closed).expand_as(scores)
    hooks.mask(may_attend[:, :1])  # the same for all heads
    weights = hooks.weights(attention_weights(hooks.masked_scores(masked).float(), scoring.sinks))
    return hooks.head_outputs(weights.to(value.dtype) @ value), weights


AttentionInterface.register(NAME, attend)
AttentionMaskInterface.register(NAME, eager_mask)


@contextmanager
def find_modules() -> Iterator[Found]:
    """The attention modules that run inside the block, in order, each with its scoring."""
    found: Found = []
    token = _FOUND.set(found)
    try:
        yield found
    finally:
        _FOUND.reset(token)


def place_hooks(model: PreTrainedModel, run: Callable[[], object], needed: Sequence[str] = ()) -> list[AttentionHooks]:
    """Give every attention module of a model its hook points.

    Args:
        model: A model of the library. From now on `attend` computes its attention.
        run: Runs the whole model on a few tokens.
        needed: The kinds of attention that the model must have.

    Returns:
        The hook points of every attention module, in the order of the pass.

    Raises:
        OwnAttentionError: a needed kind is computed by the library's own code, or layers share one attention module.
        ConfigError: the model needs more than token ids, or has another kind of attention.
    """
    model.set_attn_implementation(NAME)
    with find_modules() as found:
        try:
            run()
        except ConfigError:
            raise
        except Exception as error:  # models that need other input raise many kinds of errors
            raise ConfigError(
                "models of the family {model_type} need more than token ids, or the sizes of this model do not "
                "fit together. The library reports: {problem}",
                model_type=model.config.model_type,
                problem=first_line(error),
            ) from error
    names = {module: name for name, module in model.named_modules()}
    kinds = [kind_of(names[module], module, two_stacks=model.config.is_encoder_decoder) for module, _ in found]
    require_kinds(model.config.model_type, kinds, needed)
    if len(dict(found)) < len(found):
        raise OwnAttentionError(
            "models of the family {family} use one attention module more than once", family=model.config.model_type
        )
    layers = dict.fromkeys(KINDS, 0)
    placed = []
    for (module, scoring), kind in zip(found, kinds, strict=True):
        module.hooks = hooks = AttentionHooks(kind, layers[kind], scoring)
        if (projection := projection_of(model, names[module])) is not None:
            hooks.projection = [projection]
            projection.register_forward_hook(partial(show_output, hooks))
        placed.append(hooks)
        layers[kind] += 1
    return placed


def require_kinds(family: str, kinds: Sequence[str], needed: Sequence[str]) -> None:
    """Raises ConfigError if a needed kind of attention is not among the kinds of the modules that were found."""
    if list(needed) == ["encoder"] and set(kinds) == {"decoder"}:
        raise only_earlier_tokens(family)
    if set(needed) - set(kinds):
        raise OwnAttentionError("models of the family {family} compute attention with their own code", family=family)


def only_earlier_tokens(family: str) -> ConfigError:
    """The error for a classifier or a reader with causal attention, which does not open."""
    return ConfigError(
        "in models of the family {family} a token attends only to earlier tokens. Headlight shows classifiers and "
        "readers in which every token attends to all others.",
        family=family,
    )


def find_direct(placed: Sequence[AttentionHooks], run: Callable[[], object]) -> None:
    """Mark the attention modules that pass their head outputs to the projection unchanged.

    Some models have a norm (BitNet) or a gate (Qwen3-Next) between the two.

    Args:
        placed: From `place_hooks`.
        run: Runs the whole model on a few tokens.
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
        with untraced(), tracing(record=(IfPresent("*.head_outputs"),)) as trace:
            run()
    finally:
        for handle in handles:
            handle.remove()
    for hooks in placed:
        heads = trace.passes(hooks.head_outputs.name)[0].transpose(1, 2).flatten(2)  # (B, T, H·K)
        hooks.direct = hooks in read and torch.equal(read[hooks].reshape(-1), heads.reshape(-1))


def projection_of(model: PreTrainedModel, name: str) -> nn.Module | None:
    """The matrix that mixes the heads: in the attention module, or in the module that contains it (BERT)."""
    module = model.get_submodule(name)
    parent = model.get_submodule(name.rpartition(".")[0])
    found = (getattr(module, part, None) for part in PROJECTIONS)
    output = getattr(getattr(parent, "output", None), "dense", None)
    return next((part for part in (*found, output) if isinstance(part, nn.Linear | Conv1D)), None)


def show_output(hooks: AttentionHooks, _module: nn.Module, _inputs: object, output: Tensor) -> Tensor:
    return hooks.output(output)


def kind_of(name: str, module: nn.Module, *, two_stacks: bool) -> str:
    """The kind of an attention module: from its name, or in a single stack from whether it is causal."""
    lower = name.lower()
    if any(part in lower for part in CROSS):
        return "cross"
    decoder = "decoder" in lower if two_stacks else getattr(module, "is_causal", False)
    return "decoder" if decoder else "encoder"
