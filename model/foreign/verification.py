"""The check that a model of Hugging Face's `transformers` computes what the description of its blocks says.

A description that does not fit is never used: analyses of a wrong one would show numbers that the model did not use.
"""

from collections.abc import Iterator

import torch
from torch import Tensor
from transformers import PreTrainedModel

from model.config.section import ConfigError
from model.foreign.sizes import few_texts
from model.messages import Message
from model.network.residual_stream import Block, Norm, Stack, read_out
from model.trace import IfPresent, Trace, tracing, untraced

__all__ = ["verify"]

RECORDED = tuple(map(IfPresent, ("*_residual.*", "*.embedding.*", "*.units", "*.states", "logits")))
# Relative to the largest number of a vector. Half precision has three digits, and several roundings follow each other.
TOLERANCES = {torch.float64: 1e-6, torch.float32: 1e-4}
HALF = 5e-2


@torch.no_grad()
def verify(model: PreTrainedModel, stack: Stack) -> None:
    """Run a model on a few tokens and compare every recorded vector with the description.

    Raises:
        ConfigError: something differs. The message is a part of a sentence.
    """
    ids, two_stacks = few_texts(model), model.config.is_encoder_decoder
    trace = record(model, ids)
    tolerance = TOLERANCES.get(model.dtype, HALF)
    if "logits" in trace.names and not stack.readout and not (stack.name == "encoder" and two_stacks):
        raise ConfigError("the way from its last state to its logits is not known")
    for what, described, found in comparisons(stack, trace, ids):
        if not agrees(described, found, tolerance):
            raise ConfigError("{what} differs from what the library computes", what=what)


def agrees(described: Tensor, found: Tensor, tolerance: float) -> bool:
    """Whether two tensors (…, D) differ little, compared with the largest number of each vector."""
    if described.shape != found.shape:
        return False
    largest = found.abs().amax(dim=-1, keepdim=True)  # (…, 1); the vector of one token may be far larger than others
    limit = tolerance * largest.clamp_min(1e-3 * float(largest.max()))
    return bool(((described - found).abs() <= limit).all())


def record(model: PreTrainedModel, ids: Tensor) -> Trace:
    with untraced(), tracing(record=RECORDED) as trace:
        if model.config.is_encoder_decoder:
            model(input_ids=ids, decoder_input_ids=ids)
        else:
            model(input_ids=ids)
    return trace


def comparisons(stack: Stack, trace: Trace, ids: Tensor) -> Iterator[tuple[Message, Tensor, Tensor]]:
    """What is compared, the described vectors and the recorded ones."""

    def recorded(name: str) -> Tensor:
        if name not in trace.names:
            raise ConfigError("nothing passes {name}", name=name)
        return trace.passes(name)[0]

    total = recorded(stack.embedding)  # (2, T, D)
    if recorded(stack.streams[0]).shape[:2] != ids.shape:  # FSMT puts the tokens first, Longformer adds some
        raise ConfigError("the layers read other shapes than texts and tokens")
    # What is added to the token vectors depends on the position only, not on the token.
    tokens = recorded(stack.token_vectors)
    if stack.embed is not None:
        yield Message("the token vectors"), stack.embed(ids).float().cpu(), tokens
    yield Message("the embedding"), tokens + (total - tokens).flip(0), total
    yield Message("the norm of the embedding"), stack.enter(total), recorded(stack.streams[0])
    stream, ends = recorded(stack.streams[0]), iter(stack.streams[1:])
    for block, after in zip(stack.blocks, [*stack.blocks[1:], None], strict=True):
        if after is None or after.layer != block.layer:
            end = next(ends)
        else:
            end = "" if after.reads == block.reads else after.reads
        added = recorded(block.added)
        total = stream + added
        stream = total if block.norm_after is None else block.norm_after(total)
        if end:
            yield Message("the stream after {block}", block=block.name), stream, recorded(end)
        yield from feed_forward_comparisons(block, trace, recorded(block.reads), added)
    states = apply(stack.final_norm, stream)
    yield Message("the final norm"), states, recorded(f"{stack.name}.states")
    if stack.readout:
        pooled = {"first": states[:, 0], "mean": states.mean(dim=1)}.get(stack.pooling, states)
        logits = read_out(stack.readout, pooled)
        logits = logits.mean(dim=1) if stack.pooling == "late" else logits
        yield Message("the way from the last state to the logits"), logits, recorded("logits")


def feed_forward_comparisons(
    block: Block, trace: Trace, read: Tensor, added: Tensor
) -> Iterator[tuple[Message, Tensor, Tensor]]:
    normed = apply(block.norm_before, read)
    if block.norm_before is not None and (place := f"{block.name}_residual.normed") in trace.names:
        yield Message("the norm before {block}", block=block.name), normed, trace.passes(place)[0]
    if block.feed_forward is not None:
        output = block.feed_forward(normed)
        yield (
            Message("the output of {block}", block=block.name),
            apply(block.norm_added, output) * block.multiplier,
            added,
        )
        if block.contract is not None:
            units = trace.passes(block.units)[0].view(*output.shape[:-1], -1)
            yield Message("the units of {block}", block=block.name), block.contract(units), output


def apply(norm: Norm | None, x: Tensor) -> Tensor:
    return x if norm is None else norm(x)
