"""The attention weights that a model of Hugging Face's `transformers` returns: for families with their own attention.

Such a family has no place for the function of `attention.py`. The library's `eager` attention returns its weights with
`output_attentions=True`, and they pass the hook points `weights`. Nothing else of the attention is known, and nothing
can be changed: an edit of an attention module raises an error.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from model.config.foreign import ForeignSizes
from model.config.section import ConfigError
from model.foreign.attention import AttentionHooks, only_earlier_tokens
from model.foreign.sizes import few_texts, run_on, sizes_of
from model.foreign.stream_hooks import when_traced
from model.messages import N_, Message, first_line
from model.network.scores import Scoring
from model.trace import ATTENTION, Trace, hook_name, tracing, untraced

__all__ = ["from_windows", "place_returned_weights", "require_full_attention", "weights_returned_by"]

# Where the library's output has the weights of each kind. An encoder beside a decoder returns its own.
SINGLE, WITH_DECODER = "attentions", {"decoder": "decoder_attentions", "cross": "cross_attentions"}
# Families whose library code returns the masked scores of some kinds, before the softmax.
SCORES: Mapping[str, tuple[str, ...]] = {"squeezebert": ("encoder",), "prophetnet": ("encoder", "cross")}
# Families whose library code returns only the weights inside a window, and those of global tokens.
WINDOWED = ("led", "longformer")
PARTS = N_("the library does not return one weight for each pair of tokens")
TOLERANCE = 1e-2  # of the sum of a row; half precision has three digits
TARGET_TOKENS = 3  # of the texts on which the shapes are checked


def place_returned_weights(model: PreTrainedModel, needed: Sequence[str], reason: str) -> ForeignSizes:
    """Let the library compute the attention of a model, and pass the weights that it returns through hook points.

    Args:
        model: A model of the library, loaded with `attn_implementation="eager"`: some choose their modules then.
        needed: The kinds of attention of the model.
        reason: Why nothing can be changed; the message of the error after an edit.

    Returns:
        The sizes of the model.

    Raises:
        ConfigError: the library does not return the weights of all tokens in all layers.
    """
    model.set_attn_implementation("eager")
    require_full_attention(model)
    fixed: list[str] = []
    for owner, places in owners_of(model, needed):
        owner.register_forward_pre_hook(when_traced(ask_for_weights, reason, fixed), with_kwargs=True)
        owner.register_forward_hook(when_traced(show_weights, str(model.config.model_type), places))
    layers, heads = check(model, needed)
    stages = [name for name, _ in AttentionHooks("encoder", 0, Scoring(scaling=1.0)).named_children()]
    fixed += [hook_name(kind, layer, stage) for kind, n in layers.items() for layer in range(n) for stage in stages]
    return sizes_of(model, layers, heads=heads)


def require_full_attention(model: PreTrainedModel) -> None:
    """BigBird attends to all tokens of a text up to some length, and changes its own modules then. It does so now."""
    for module in [module for module in model.modules() if getattr(module, "attention_type", "") == "block_sparse"]:
        change: Any = getattr(module, "set_attention_type", None)
        if change is not None and isinstance(module, PreTrainedModel):
            change("original_full")
    model.eval()


def owners_of(model: PreTrainedModel, needed: Sequence[str]) -> list[tuple[nn.Module, Mapping[str, str]]]:
    """The modules that return weights, and for each kind the name of these weights in their output."""
    if not model.config.is_encoder_decoder:
        return [(model, {needed[0]: SINGLE})]
    return [(model.get_encoder(), {"encoder": SINGLE}), (model, WITH_DECODER)]


def ask_for_weights(
    trace: Trace, reason: str, fixed: Sequence[str], _module: object, inputs: tuple[Any, ...], named: Mapping[str, Any]
) -> Any:
    """Ask for the weights. Raises ConfigError if the trace would edit one of the `fixed` tensors."""
    if trace.edits_any(fixed):
        raise ConfigError(reason)
    return inputs, {**named, "output_attentions": True}


def show_weights(
    trace: Trace, family: str, places: Mapping[str, str], _module: object, _inputs: object, output: Any
) -> None:
    """The returned weights pass the hook points of their layers."""
    for kind, place in places.items():
        for layer, weights in enumerate(weights_returned_by(family, kind, place, output)):
            trace.visit(hook_name(kind, layer, "weights"), weights)


def weights_returned_by(family: str, kind: str, place: str, output: Any) -> list[Tensor]:
    """The weights of each layer, (B, H, T, S), from an output of the library.

    Args:
        family: The `model_type`.
        kind: One of `KINDS`.
        place: The name of the returned weights in the output.
        output: Of a model or an encoder of the library.

    Raises:
        ConfigError: something else was returned. The message is a part of a sentence.
    """
    returned = getattr(output, place, None) or ()
    if family in WINDOWED and kind == "encoder":
        others = getattr(output, "global_attentions", None) or [None] * len(returned)
        return [from_windows(layer, other) for layer, other in zip(returned, others, strict=True)]
    if any(not isinstance(layer, Tensor) or layer.dim() != 4 for layer in returned):
        raise ConfigError(PARTS)
    if kind not in SCORES.get(family, ()):
        return list(returned)
    # ProphetNet appends the queries of the tokens after the next one.
    queries = output.decoder_attentions[0].size(2) if kind == "cross" else None
    return [layer[:, :, :queries].softmax(dim=-1) for layer in returned]


def check(model: PreTrainedModel, needed: Sequence[str]) -> tuple[Mapping[str, int], int]:
    """Run a model on two short texts and check what it returns.

    Returns:
        Kind → how many layers return weights; and the heads of a layer that attend. Others may convolve (ConvBERT).

    Raises:
        ConfigError: these are not the weights of all tokens.
    """
    try:
        ids, trace = few_texts(model), record(model)
    except ConfigError as error:
        raise refusal(model, error.message) from error
    except Exception as error:  # models that need other input raise many kinds of errors
        reason = Message("the library fails to return its weights and reports: {error}", error=first_line(error))
        raise refusal(model, reason) from error
    rows, source = ids.shape
    lengths = {"encoder": (source, source), "decoder": (TARGET_TOKENS,) * 2, "cross": (TARGET_TOKENS, source)}
    lengths |= {} if model.config.is_encoder_decoder else {"decoder": (source, source)}
    layers, heads = dict.fromkeys(needed, 0), set()
    for kind in needed:
        while (name := hook_name(kind, layers[kind], "weights")) in trace.names:
            weights = trace.passes(name)[0]
            if (weights.size(0), *weights.shape[2:]) != (rows, *lengths[kind]):
                raise refusal(model, Message(PARTS))
            if weights.min() < 0 or (weights.sum(dim=-1) - 1).abs().max() > TOLERANCE:
                raise refusal(model, Message("the library returns other numbers than attention weights"))
            heads.add(weights.size(1))
            layers[kind] += 1
        if not layers[kind]:
            raise refusal(model, Message("the library returns no attention weights"))
    if len(heads) > 1:
        raise ConfigError(
            "its layers have different numbers of heads ({counts}). Headlight cannot show this.",
            counts=" and ".join(map(str, sorted(heads))),
        )
    if "encoder" in needed and is_causal(trace):
        raise only_earlier_tokens(model.config.model_type)
    return layers, heads.pop()


def is_causal(trace: Trace) -> bool:
    return not trace.passes(hook_name("encoder", 0, "weights"))[0].triu(diagonal=1).any()


def refusal(model: PreTrainedModel, reason: Message) -> ConfigError:
    return ConfigError(
        "models of the family {family} compute attention with their own code, and {reason}.",
        family=model.config.model_type,
        reason=reason,
    )


@torch.no_grad()
def record(model: PreTrainedModel) -> Trace:
    ids = few_texts(model)
    with untraced(), tracing(record=ATTENTION) as trace:
        run_on(model, ids, ids[:, :TARGET_TOKENS])
    return trace


def from_windows(weights: Tensor, global_weights: Tensor | None) -> Tensor:
    """Place each weight at its key. Keys outside the window of a query have the weight 0.

    Args:
        weights: (B, H, T, X + W + 1): of X global tokens, which are the first tokens of the text, and of the
            keys from W / 2 positions before the query to W / 2 positions after it. W is even.
        global_weights: Of the X global tokens as queries, (B, H, T or more, X), also of padding behind the text with
            the weight 0; None if X is 0.

    Returns:
        (B, H, T, T).
    """
    count = 0 if global_weights is None else global_weights.size(-1)
    tokens, near = weights.size(2), weights[..., count:]  # (B, H, T, W + 1)
    half = near.size(-1) // 2
    padded = near.new_zeros(*near.shape[:3], tokens + 2 * half)
    columns = torch.arange(tokens, device=near.device)[:, None] + torch.arange(near.size(-1), device=near.device)
    padded.scatter_(-1, columns.expand_as(near), near)
    maps = padded[..., half : half + tokens].clone()
    if global_weights is not None:
        maps[..., :count] += weights[..., :count]
        maps[:, :, :count] = global_weights[:, :, :tokens].transpose(2, 3)
    return maps
